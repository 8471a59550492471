"""The convex problem of the re-fit, and how it is solved.

    min_b  1/2 b' (G + nugget I) b + sum_i C_i l(f_i, y_i),    f = K b

G has the kernel values of the centres with each other, K those of the rows with the
centres. The nugget keeps coefficients of centres that are nearly alike from running
away from each other, which single precision could not follow.

L-BFGS with a preconditioner. Every step takes one pass over the kernel values, which
gives the objective and its exact gradient. The preconditioner is the matrix of Newton's
method, K' D K + G, D the curvatures of the loss at some point: for the squared error
on all rows it is exact and one step does it; where rows become active or inactive, or
where it was made of a part of the rows, L-BFGS makes up for the difference. It is made
again while the active rows still change, of at most `SAMPLE` rows for each centre, and
is shared by all classes.

The diagonal of the preconditioner is lifted by what single precision loses; the
gradient needs nothing of the kind, so the solution does not depend on it.
"""

import copy
from collections import deque
from typing import NamedTuple

import numpy as np

from onkel.engine.threads import blas_in_one_thread
from onkel.problem.losses import Loss
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.passes import Factor, Passes

# Rows for each centre of which the preconditioner is made, and the fewest.
SAMPLE = 3
FEWEST_SAMPLED = 7000
# Times as many rows, from which on a solution for a sample is found first.
MANY = 3
# Share of the time left, if there is an end to it, in which that has to be done.
SHARE = 0.3
# Pairs of steps and gradients that L-BFGS remembers.
MEMORY = 10
# Share of a step below which it is given up.
SHORTEST = 1e-3
# A new preconditioner, if this share of all curvature has changed place; or that, if it
# takes fewer than so many products for each row, which is less than a few passes take.
CHANGED, CHANGED_A_LITTLE, CHEAP = 0.2, 0.02, 50
# What there is no time for.
LATE = "the last steps to the best coefficients"


class Point(NamedTuple):
    """Coefficients, and what one pass over the rows tells of them."""

    coef: np.ndarray  # shape (outputs, centres)
    scores: np.ndarray  # shape (rows, outputs)
    curvatures: np.ndarray  # shape (rows,)
    objective: float
    gradient: np.ndarray  # shape (outputs, centres)


class Solver:
    """Finds the coefficients of given centres.

    Weights of the rows are factors on C, and `rng` draws the rows of the
    preconditioner.
    """

    def __init__(
        self,
        passes: Passes,
        loss: Loss,
        y: np.ndarray,
        weight: np.ndarray,
        outputs: int,
        rng: np.random.Generator,
    ) -> None:
        self.passes, self.loss, self.outputs, self.rng = passes, loss, outputs, rng
        self.y, self.weight = y, weight
        self.centres = len(passes.points)
        self.visits = 0
        self.last: Factor | None = None  # of all rows with curvature

    def solve(
        self,
        C: float,
        coef: np.ndarray | None = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        deadline: Deadline = ENDLESS,
    ) -> Point:
        """Minimise; `coef` is where to begin.

        It stops when a step lowers the objective by less than the share `tol`, or when
        there is no time for another; the first, which is one of Newton's, it takes.
        """
        if coef is None:
            coef = self._begin(C, tol, deadline.share(SHARE).aside())
        # Far from the origin kernel values are noise, and steps anything: not taken.
        quiet = np.errstate(over="ignore", invalid="ignore")
        with blas_in_one_thread, quiet:
            return self._descend(C, coef, tol, max_iter, deadline)

    def _begin(self, C: float, tol: float, deadline: Deadline) -> np.ndarray:
        """Coefficients to begin with: of many rows, those that suit some of them."""
        rows = np.flatnonzero(self.weight)
        some = self._sampled()
        if len(rows) < MANY * some:
            return np.zeros((self.outputs, self.centres))
        share = len(rows) / some
        rows = np.sort(self.rng.choice(rows, some, replace=False))
        smaller = copy.copy(self)
        smaller.passes = self.passes.of(rows)
        smaller.y, smaller.weight = self.y[rows], share * self.weight[rows]
        smaller.last = None
        return smaller.solve(C, None, tol, deadline=deadline).coef

    def _descend(
        self, C: float, coef: np.ndarray, tol: float, max_iter: int, deadline: Deadline
    ) -> Point:
        here = self._visit(coef, C)
        factor, made_at = self.preconditioner(here.curvatures), here.curvatures
        steps: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
        for _ in deadline.each(range(max_iter), LATE, least=1):
            moved = np.abs(here.curvatures - made_at).sum()
            if moved > self._patience(here.curvatures) * here.curvatures.sum():
                factor, made_at = self.preconditioner(here.curvatures), here.curvatures
                steps.clear()
            direction = -_times_inverse(here.gradient, factor, steps)
            there = self._search(here, direction, C)
            if there is None or not np.isfinite(there.gradient).all():
                break
            gained = here.objective - there.objective
            change = there.coef - here.coef
            difference = there.gradient - here.gradient
            if float((change * difference).sum()) > 0.0:
                steps.append((change, difference))
            here = there
            if gained <= tol * abs(here.objective):
                break
        return here

    def _patience(self, curvatures: np.ndarray) -> float:
        """Share of the curvature that may change place before it matters."""
        if self.outputs > 1:
            return CHANGED  # never Newton's matrix of each: better to remember steps
        centres = self.centres
        used = min(int(np.count_nonzero(curvatures)), self._sampled())
        is_cheap = centres * (used + centres) < CHEAP * len(curvatures)
        return CHANGED_A_LITTLE if is_cheap else CHANGED

    def _sampled(self) -> int:
        """Most rows of which a preconditioner is made."""
        return max(SAMPLE * self.centres, FEWEST_SAMPLED)

    def _search(self, here: Point, direction: np.ndarray, C: float) -> Point | None:
        """Go in a direction while that lowers the objective; None if not at all."""
        slope = float((here.gradient * direction).sum())
        length = 1.0
        while length > SHORTEST:
            there = self._visit(here.coef + length * direction, C)
            if there.objective <= here.objective + 1e-4 * length * slope:
                return there
            # Where the parabola through both points and the slope is lowest.
            rise = there.objective - here.objective - length * slope
            length *= min(max(-0.5 * slope * length / rise, 0.1), 0.5)
        return None

    def _visit(self, coef: np.ndarray, C: float) -> Point:
        """One pass over the rows."""
        visit = self.passes.visit(self.loss, coef, self.y, C * self.weight)
        self.visits += 1
        smooth = self.passes.smooth(coef)
        objective = 0.5 * float((coef * smooth).sum()) + visit.lost
        gradient = smooth + visit.gradient
        return Point(coef, visit.scores, visit.curvatures, objective, gradient)

    def preconditioner(self, curvatures: np.ndarray) -> Factor:
        """Factor of K' D K + G, of some of the rows that have curvature."""
        rows, size = np.flatnonzero(curvatures), self._sampled()
        if len(rows) > size:
            some = np.sort(self.rng.choice(rows, size, replace=False))
            sampled = np.zeros_like(curvatures)
            share = curvatures[some].sum() / curvatures.sum()
            sampled[some] = curvatures[some] / share
            return self.passes.factor(sampled)
        self.last = self.passes.factor(curvatures, self.last)
        return self.last


def _times_inverse(
    gradient: np.ndarray, factor: Factor, steps: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """L-BFGS: the inverse of the Hessian, as far as it is known, times the gradient."""
    left, shares = gradient.copy(), []
    for change, difference in reversed(steps):
        share = float((change * left).sum() / (change * difference).sum())
        left -= share * difference
        shares.append(share)
    found = factor.solve(left)
    for (change, difference), share in zip(steps, reversed(shares), strict=True):
        back = float((difference * found).sum() / (change * difference).sum())
        found += (share - back) * change
    return found
