"""Centres that move, and features that count more than others.

    min_{c, r}  F(c, r),    F(c, r) = min_b  1/2 b' G b + sum_i C_i l(f_i, y_i)

    f_i = sum_j b_j exp(-gamma |r * (x_i - c_j)|^2)

Merging leaves centres c where rows are, which is not where they describe the target
best; and a feature that says nothing should not count as much as one that does. Descent
on F cures both. At the best coefficients b its gradient is that of the objective with b
held fixed. With W_ij = s_i b_j k_ij, s_i the slope of the loss of row i,

    dF/dc_j   =  2 gamma r^2 * sum_i W_ij (x_i - c_j)
    dF/dlog r = -2 gamma r^2 * sum_ij W_ij (x_i - c_j)^2

and likewise for the pairs of centres in G. So a step costs what some passes of the
solver cost. What it gains on its own rows it may lose on others: the rows held out say
after how many steps to stop.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from onkel.engine.objective import differentiate
from onkel.engine.threads import blas_in_one_thread
from onkel.problem import kernels
from onkel.problem.losses import Kind
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets
from onkel.refit.passes import Device, Passes
from onkel.refit.solver import Solver

# How exactly the coefficients are found: what they lack, the gradient has in error.
EXACT, ITERATIONS = 1e-5, 10
# The log loss is less like a parabola: after so few steps the objective of a place far
# from the last would seem so high that no way leads there.
ITERATIONS_OF_LOG_LOSS = 40
# Steps after which it ends, unless the rows held out have gained this share by them,
# and as much as one of these rows.
PATIENCE, GAIN = 4, 0.001
# Share of the mean diagonal of C K'K that is added to the nugget. Without it centres
# that lie close get large coefficients of opposite signs, and steps have to be tiny.
RIDGE = 1e-5
# How much more, or less, a feature may count.
FARTHEST = 1e3


class Place(NamedTuple):
    """Where centres are, and how much features count."""

    points: np.ndarray  # shape (centres, features), of features that all count 1
    relevance: np.ndarray  # shape (features,)
    coef: np.ndarray  # shape (outputs, centres)


class CenterDescent:
    """Moves centres, and weighs features; `held` are rows held out, at least one."""

    def __init__(
        self,
        X: Any,
        targets: Targets,
        held: np.ndarray,
        gamma: float,
        C: float,
        device: Device,
        rng: np.random.Generator,
        deadline: Deadline = ENDLESS,
    ) -> None:
        self.X, self.targets, self.held = X, targets, held
        self.kernel, self.C = kernels.make("rbf", gamma, 1, 0.0), C
        self.device, self.rng = device, rng
        self.deadline, self.hurry = deadline, deadline.aside()
        self.weight = np.where(targets.without(held), targets.weight, 0.0)
        # Of the objective: that of a row, whatever their number.
        self.unit = max(C * float(self.weight.sum()), 1e-300)
        self.ridge = 0.0

    def run(
        self,
        place: Place,
        steps: int,
        tell: Callable[[int, float], None] = lambda step, validation_loss: None,
    ) -> tuple[Place, list[float]]:
        """Take steps while the rows held out gain by them.

        Returns the best place, and the loss of those rows at the start and after
        every step; `tell` gets each.
        """
        with blas_in_one_thread:
            return self._run(place, steps, tell)

    def _run(
        self, place: Place, steps: int, tell: Callable[[int, float], None]
    ) -> tuple[Place, list[float]]:
        begun = self.deadline.clock()
        self.ridge = self._ridge(place)
        value, *_ = self._visit(place)
        best, path = self._here, [self._badness]
        tell(0, self._badness)
        if not math.isfinite(value + self._badness):
            return best, path
        shape, features = place.points.shape, len(place.relevance)
        # Points in units of the kernel's width: then that of the features is nothing
        # to L-BFGS, which begins as if the objective were as steep in every direction.
        narrow = math.sqrt(self.kernel.gamma)  # one over the width
        visit = self.deadline.clock() - begun

        def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal visit
            done = f"centres moved {len(path) - 1} times only, of {steps} at most"
            if not self.deadline.allows(visit, done):
                raise StopIteration  # ends the descent, as it does from `look`
            begun = self.deadline.clock()
            relevance, points = np.exp(at[:features]), at[features:] / narrow
            here = Place(points.reshape(shape), relevance, self._here.coef)
            value, by_relevance, by_points = self._visit(here)
            visit = max(visit, self.deadline.clock() - begun)
            return value, np.concatenate([by_relevance, by_points.ravel() / narrow])

        def look(at: np.ndarray) -> None:
            nonlocal best
            if self._badness < min(path):
                best = self._here
            path.append(self._badness)
            tell(len(path) - 1, self._badness)
            before, now = min(path[:-PATIENCE], default=math.inf), min(path)
            if not before - now >= max(GAIN * now, 1.0 / len(self.held)):
                raise StopIteration

        start = np.concatenate([np.log(place.relevance), narrow * place.points.ravel()])
        most = np.full(len(start), np.inf)
        most[:features] = math.log(FARTHEST)
        with contextlib.suppress(StopIteration):
            scipy.optimize.minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=scipy.optimize.Bounds(-most, most),
                callback=look,
                options={"maxiter": steps, "maxfun": 2 * steps},
            )
        return best, path

    def _passes(self, place: Place) -> Passes:
        points, relevance = place.points * place.relevance, place.relevance
        return self.device.passes(
            self.kernel, self.X, points, relevance, ridge=self.ridge
        )

    def _ridge(self, place: Place) -> float:
        squares = self._passes(place).squares(self.weight)
        return RIDGE * self.C * squares / len(place.points)

    def _visit(self, place: Place) -> tuple[float, np.ndarray, np.ndarray]:
        """Objective for each row, and its gradient by log relevance and points."""
        targets, passes = self.targets, self._passes(place)
        solver = Solver(
            passes, targets.loss, targets.y, self.weight, targets.outputs, self.rng
        )
        is_log = targets.loss.kind == Kind.LOG_LOSS
        most = ITERATIONS_OF_LOG_LOSS if is_log else ITERATIONS
        found = solver.solve(self.C, place.coef, EXACT, most, self.hurry)
        self._here = place._replace(coef=found.coef)
        self._badness = targets.validation_loss(found.scores[self.held], self.held)
        slopes, curvatures = np.empty_like(found.scores), np.empty(len(targets.y))
        C = self.C * self.weight
        differentiate(targets.loss, found.scores, targets.y, C, slopes, curvatures)
        sums = passes.pulls(slopes, found.coef)
        points, relevance = place.points, place.relevance
        # Half of the regulariser's pairs, and each centre is on both sides of its own.
        of_pairs, products = passes.pairs(found.coef, points)
        by_points = sums.products + products
        by_points -= (sums.weights + of_pairs)[:, np.newaxis] * points
        spread = sums.squares - 2.0 * (sums.products * points).sum(axis=0)
        spread += sums.weights @ points**2
        spread += of_pairs @ points**2 - (products * points).sum(axis=0)
        factor = 2.0 * self.kernel.gamma * relevance**2 / self.unit
        return found.objective / self.unit, -factor * spread, factor * by_points
