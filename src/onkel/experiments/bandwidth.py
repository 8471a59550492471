"""Bandwidth: a gamma for all systems of a race, tried on its first rows.

BSGD tries it, because it keeps what it learnt: of systems that remove centres a kernel
gets too narrow, since the narrower it is, the less a removal does.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

import onkel
from onkel.experiments.contestants import Problem, System, variants

ROWS = 5000  # on which a gamma is tried
STEP, AROUND, FARTHEST = 4.0, 2, 4  # factor from one gamma to the next; steps away
PAIRED = 500  # rows whose distances give the median
CHOOSER = "BSGD"


class Trial(NamedTuple):
    """A gamma, and the error that it led to."""

    gamma: float
    error: float  # mistakes per row, or mean squared error of standardised targets


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


def tried(X: Any, y: np.ndarray, problem: Problem, budget: int) -> list[Trial]:
    """Try values around the median heuristic on rows in the order of the race.

    If the smallest or the largest one is best, two more beyond it, while that helps.

    Parameters
    ----------
    X, y
        The first rows; labels as numbers of classes, targets standardised.
    problem
        What is raced on.
    budget
        As in the race.

    Returns
    -------
    trials
        From the smallest gamma to the largest. One that overflowed has an infinite
        error.
    """
    own = variants(CHOOSER, problem._replace(rows=len(y)))[CHOOSER]
    make = onkel.BSGDRegressor if problem.is_regression else onkel.BSGDClassifier
    middle = median_gamma(X)

    def trial(step: int) -> Trial:
        gamma = middle * STEP**step
        model = make(budget=budget, gamma=gamma, random_state=0, **own)
        try:
            said = System(model, problem.classes).predict_then_learn(X, y)
        except ValueError as fault:
            if "overflow" not in str(fault):
                raise
            return Trial(gamma, float("inf"))
        return Trial(gamma, float(np.mean(errors(said, y, problem))))

    trials = {step: trial(step) for step in range(-AROUND, AROUND + 1)}
    for direction in (-1, 1):
        # the best of all may lie beyond the last
        for step in range(AROUND, FARTHEST):
            if min(trials.values(), key=error_of) is not trials[direction * step]:
                break
            trials[direction * (step + 1)] = trial(direction * (step + 1))
    return [trials[step] for step in sorted(trials)]


def error_of(trial: Trial) -> float:
    """Error, by which trials are compared."""
    return trial.error


def errors(said: np.ndarray, y: np.ndarray, problem: Problem) -> np.ndarray:
    """Per row: whether it was wrong, or how much, squared."""
    return (said - y) ** 2 if problem.is_regression else (said != y).astype(float)
