"""Monitoring: the objective after every epoch, for those who ask for it.

The problem is written as in a support vector machine, so that systems of both kinds can
be compared, with C_i the row's weight over (alpha n) for gradient systems:

    primal   1/2 |w|^2 + sum_i C_i l(f(x_i), y_i)
    dual     sum_i of what `onkel.problem.dual_steps` lists, with the present scores

Without a budget the dual of a dual system is exact; on a budget it is the surrogate of
the BSCA paper. A gradient system's dual variables are what its steps add up to, which
is known for one output and a loss that `problem.dual_steps` knows, else NaN. Both are
of the last iterate, also where the answer is an average.
"""

import math
import time
from typing import Any

import numpy as np

from onkel.engine.learner import Learner
from onkel.engine.objective import collect_slopes, totals
from onkel.problem import dual_steps

# What is kept of every epoch.
NAMES = ("epoch", "seconds", "primal", "dual", "updates", "maintenance", "size")


class Monitor:
    """Keeps `history_`, for a prediction of all rows and of the centres an epoch."""

    def __init__(
        self,
        estimator: Any,
        learner: Learner,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        C: float,
    ) -> None:
        self.learner, self.X, self.y, self.weight = learner, X, y, weight
        self.C = C * weight
        self.n_jobs = estimator._n_jobs()
        self.history: dict[str, list[float]] = {name: [] for name in NAMES}
        known = estimator.loss in dual_steps.MARGIN + dual_steps.RESIDUAL
        self.slopes = (
            np.zeros(len(y)) if known and len(learner.model.coef) == 1 else None
        )
        self.seconds, self.started = 0.0, time.perf_counter()
        self.seen = np.zeros(3)

    def watch(self, scores: np.ndarray, rows: np.ndarray) -> None:
        """Take note of a gradient system's steps, from the scores before them."""
        if self.slopes is not None:
            loss = self.learner.plan.loss
            collect_slopes(loss, scores, self.y, self.weight, rows, self.slopes)

    def record(self, dual: np.ndarray | None = None) -> None:
        """Note the state after an epoch; `dual` has the variables of a dual system."""
        self.seconds += time.perf_counter() - self.started
        counters, loss = self.learner.counters, self.learner.plan.loss
        if dual is None:
            dual = self._implied()
        one_loss = np.zeros((0, 0)) if dual is None else dual
        coef = self.learner.last_coef
        scores = self.learner.score(self.X, self.n_jobs, coef)
        lost, surrogate = totals(loss, scores, self.y, self.C, one_loss)
        points = self.learner.model.points[: counters.count]
        at_centers = self.learner.score(points, self.n_jobs, coef)
        norm2 = float((coef * at_centers.T).sum(dtype=np.float64))
        now = np.array([counters.t, counters.updates, counters.maintenance], np.float64)
        rows, updates, maintained = now - self.seen
        self.seen = now
        entry = {
            "epoch": len(self.history["epoch"]) + 1,
            "seconds": self.seconds,
            "primal": 0.5 * norm2 + lost,
            "dual": math.nan if dual is None else surrogate,
            "updates": float(updates / rows),
            "maintenance": float(maintained / rows),
            "size": int(counters.count),
        }
        for name, number in entry.items():
            self.history[name].append(number)
        self.started = time.perf_counter()

    def _implied(self) -> np.ndarray | None:
        return None if self.slopes is None else self.slopes[None] * self.learner.scale
