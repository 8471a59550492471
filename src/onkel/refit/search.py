"""Search for gamma and C, on rows held out.

A trial of one gamma finds centres and solves for a path of Cs, each beginning where the
last one ended: kernel values are computed once for all of them. Gammas are tried by
climbing: in steps of four, up or down, as long as that helps, and then once by two.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse

from onkel.problem import kernels
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.solver import Point, Solver
from onkel.refit.tools import Sample, Tools
from onkel.refit.values import weighed

# Where a search looks for C; it stops when so many in a row are worse than the best.
# Once a gamma is known, others begin one step below the best C so far, and end sooner.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
PATIENCE, PATIENCE_LATER = 2, 1
# How much less bad a C must be than one a tenth of it. Along a ridge a wide kernel with
# a large C and a narrow one with a small C do alike on the rows held out, and only the
# latter does as well on rows that are a little different.
CAUTION = 0.03
FARTHEST = 4.0**6
# How exactly a trial is solved.
ROUGH = 3e-3
# What there is no time for.
LATE = "some values of gamma"


class Choice(NamedTuple):
    """What a search has found."""

    gamma: float
    C: float
    validation_loss: float


class Trial:
    """One gamma, with part of the rows held out; finds centres, if none are given."""

    def __init__(
        self,
        tools: Tools,
        sample: Sample,
        held: np.ndarray,
        gamma: float,
        budget: int,
        rng: np.random.Generator,
        relevance: np.ndarray | None = None,
        points: np.ndarray | None = None,
    ) -> None:
        X, targets = sample
        self.targets, self.held = targets, held
        learnt = targets.without(held)
        if points is None:
            rows = weighed(X[learnt], relevance)
            points = tools.merged(rows, targets.part(learnt), gamma, budget)
        if not len(points):
            first = weighed(X[:1], relevance)
            points = first.toarray() if scipy.sparse.issparse(first) else first
        self.points = points
        kernel = kernels.make("rbf", gamma, 1, 0.0)
        passes = tools.device.passes(kernel, X, points, relevance)
        # Rows without weight change nothing, and get their scores on the way.
        weight = np.where(learnt, targets.weight, 0.0)
        self.solver = Solver(
            passes, targets.loss, targets.y, weight, targets.outputs, rng
        )
        self.coef: np.ndarray | None = None

    def solve(
        self, C: float, tol: float = ROUGH, deadline: Deadline = ENDLESS
    ) -> np.ndarray:
        """Go on to another C; returns the scores of the rows held out."""
        return self.reach(C, tol, deadline).scores[self.held]

    def reach(
        self, C: float, tol: float = ROUGH, deadline: Deadline = ENDLESS
    ) -> Point:
        """Go on to another C; returns all that is known there."""
        found = self.solver.solve(C, self.coef, tol, deadline=deadline)
        self.coef = found.coef
        return found

    def validation_loss(self, C: float) -> float:
        """Go on to another C, and judge it."""
        return self.targets.validation_loss(self.solve(C), self.held)


def along_the_path(
    trials: list[Trial], Cs: tuple[float, ...], patience: int = PATIENCE
) -> tuple[float, float]:
    """Least mean validation loss along the path, and the C."""
    best, chosen, worse = math.inf, Cs[0], 0
    for C in Cs:
        validation_loss = float(np.mean([trial.validation_loss(C) for trial in trials]))
        validation_loss *= 1.0 + CAUTION * math.log10(C / CS[0])
        if validation_loss < best:
            best, chosen, worse = validation_loss, C, 0
        else:
            worse += 1
            if worse == patience:
                break
    return best, chosen


def climb(judge: Callable[[float], float], start: float) -> float:
    """Return the best gamma found by climbing from a start.

    It is the lowest point of the parabola through the best that was judged and its
    neighbours: noise moves that less than from one neighbour to the other.
    """
    known: dict[float, float] = {}

    def judged(gamma: float) -> float:
        if gamma not in known:
            known[gamma] = judge(gamma)
        return known[gamma]

    best = start
    for factor in (4.0, 0.25):
        while start / FARTHEST < best * factor < start * FARTHEST:
            if judged(best * factor) >= judged(best):
                break
            best *= factor
        if best != start:
            break
    best = min((best, best * 2.0, best / 2.0), key=judged)
    low, middle, high = (judged(gamma) for gamma in (best / 2.0, best, best * 2.0))
    bend = low - 2.0 * middle + high
    if not 0.0 < bend < math.inf:
        return best
    return best * 2.0 ** min(max(0.5 * (low - high) / bend, -1.0), 1.0)


@dataclass
class Search:
    """A search for gamma and C on a sample of the rows."""

    tools: Tools
    sample: Sample
    held_out: list[np.ndarray]  # rows to hold out, part by part
    budget: int  # centres of a trial
    Cs: tuple[float, ...]  # rising
    seed: int  # of everything random
    tried: dict[float, Choice] = field(default_factory=dict)
    longest: float = 0.0  # seconds of a trial so far

    @property
    def work(self) -> int:
        """Kernel values of a trial."""
        return len(self.held_out) * self.sample.rows * self.budget

    def judge(self, gamma: float) -> float:
        """Badness of a gamma, with its best C; of one too late, infinite."""
        if gamma not in self.tried:
            if not self.tools.deadline.allows(self.longest, LATE):
                return math.inf
            begun = self.tools.deadline.clock()
            trials = [
                Trial(
                    *(self.tools, self.sample, held, gamma, self.budget),
                    np.random.default_rng(self.seed),
                )
                for held in self.held_out
            ]
            validation_loss, C = along_the_path(trials, *self._likely())
            self.tried[gamma] = Choice(gamma, C, validation_loss)
            self.tools.announce(f"gamma {gamma:.3g} tried, best with C {C:.3g}")
            self.longest = max(self.longest, self.tools.deadline.clock() - begun)
        return self.tried[gamma].validation_loss

    def _likely(self) -> tuple[tuple[float, ...], int]:
        """Values of C to try with another gamma, and how patiently."""
        if not self.tried:
            return self.Cs, PATIENCE
        best = min(self.tried.values(), key=lambda tried: tried.validation_loss)
        return self.Cs[max(self.Cs.index(best.C) - 1, 0) :], PATIENCE_LATER

    def run(self, start: Choice) -> Choice:
        """Climb from a start; returns the best, with the C of the best trial."""
        gamma = climb(self.judge, start.gamma)
        if not self.tried:
            return start
        best = min(self.tried.values(), key=lambda tried: tried.validation_loss)
        return best._replace(gamma=gamma)
