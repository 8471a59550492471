"""Bandwidth: a gamma for all systems of a race, tried on its first rows.

One gamma cannot suit all. Two try it that are far apart: one that merges centres,
which likes a narrow kernel the better the more it may keep, and one with random
features, which then fails. Systems that remove centres are not asked: the narrower
their kernel, the less a removal does, whatever it has learnt.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from onkel.race.contestants import library
from onkel.race.problem import Problem

ROWS = 5000  # on which a gamma is tried
STEP, AROUND, FARTHEST = 4.0, 2, 4  # factor from one gamma to the next; steps away
PAIRED = 500  # rows whose distances give the median
CHOOSERS = ("BSGD", "FOGD")


class TriedGamma(NamedTuple):
    """A gamma, and the errors that it led to."""

    gamma: float
    errors: dict[str, float]  # mistakes per row, or mean squares; infinite on overflow

    @property
    def error(self) -> float:
        """Mean error, by which trials are compared."""
        return float(np.mean(list(self.errors.values())))


def median_gamma(X: Any) -> float:
    """Return 1 over the median squared distance of two rows.

    Examples
    --------
    >>> median_gamma(np.array([[0.0], [2.0], [4.0]]))
    0.25
    """
    some = X[:PAIRED]
    squared = euclidean_distances(some, squared=True)
    between = squared[np.triu_indices(some.shape[0], 1)].astype(float)
    between = between[between > 0]
    return float(1 / np.median(between)) if len(between) else 1.0


def tried(X: Any, y: np.ndarray, problem: Problem, budget: int) -> list[TriedGamma]:
    """Try values around the median heuristic on rows in the order of the race.

    If the smallest or the largest one is best, two more beyond it, while that helps.
    """
    short, middle = problem._replace(rows=len(y)), median_gamma(X)

    def trial(step: int) -> TriedGamma:
        gamma, found = middle * STEP**step, {}
        for entrant in library(short, budget, gamma).entrants:
            if entrant.name in CHOOSERS:
                try:
                    said = entrant.make(0).predict_then_learn(X, y)
                    found[entrant.name] = float(np.mean(problem.errors(said, y)))
                except ValueError:  # an overflow, or a budget that it cannot have
                    found[entrant.name] = float("inf")
        return TriedGamma(gamma, found)

    trials = {step: trial(step) for step in range(-AROUND, AROUND + 1)}
    for direction in (-1, 1):
        # the best of all may lie beyond the last
        for step in range(AROUND, FARTHEST):
            if best(trials.values()) is not trials[direction * step]:
                break
            trials[direction * (step + 1)] = trial(direction * (step + 1))
    return [trials[step] for step in sorted(trials)]


def best(trials: Iterable[TriedGamma]) -> TriedGamma:
    """Return the trial with the smallest mean error."""
    return min(trials, key=lambda trial: trial.error)
