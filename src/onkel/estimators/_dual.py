"""What dual systems share: epochs over dual variables, and when to stop."""

import math
from typing import Any

import numpy as np

from onkel.engine import dual
from onkel.engine.learner import Learner, Shape
from onkel.estimators._monitor import Monitor
from onkel.estimators._parameters import (
    FROM_ONE,
    NOT_NEGATIVE,
    group,
    one_of,
    parameter,
)
from onkel.estimators._progress import Progress
from onkel.estimators._recipe import RecipeEstimator
from onkel.model.averages import Window
from onkel.problem import rates
from onkel.problem.kernels import Kernel
from onkel.problem.rates import Rate

# Numbers of no rows.
NONE = np.zeros(0)


class Order:
    """Which rows an epoch visits, and in which order."""

    def __init__(
        self, selection: str, preference: np.ndarray, rng: np.random.Generator
    ) -> None:
        self.selection, self.preference, self.rng = selection, preference, rng
        # Visits that a row has earned and not had.
        self.credit = np.zeros(len(preference))

    def epoch(self) -> np.ndarray:
        """Rows to visit, in order."""
        n = len(self.preference)
        if self.selection == "uniform":
            return self.rng.integers(n, size=n)
        if self.selection == "permutation":
            return self.rng.permutation(n)
        self.credit += self.preference / self.preference.mean()
        visits = np.floor(self.credit)
        self.credit -= visits
        return self.rng.permutation(np.repeat(np.arange(n), visits.astype(np.int64)))


def _forgetful(plan: dual.DualPlan) -> dual.DualPlan:
    """Return a plan without what only learning needs: it is as large as the data."""
    return plan._replace(y=NONE, C=NONE, dual=NONE, slot=NONE, preference=NONE)


@group
class DualEstimator(RecipeEstimator):
    """A system that climbs the dual, one row's variable at a time."""

    selection: str = parameter(
        one_of({"permutation", "uniform", "acf"}),
        default="permutation",
        text='Order of the visits. "permutation": every row once an epoch. "uniform": '
        'at random. "acf": rows whose steps gain much come more often.',
    )
    average: str | None = parameter(
        one_of({"suffix"}),
        None,
        default="suffix",
        text='Which model is the answer. "suffix": the mean of the iterates of the '
        "last visits, as many as the budget. None: the last iterate.",
    )
    max_iter: int = parameter(FROM_ONE, default=20, text="Passes over the data in fit.")
    tol: float = parameter(
        NOT_NEGATIVE,
        default=1e-3,
        text="Stop when the dual, as seen on the way through an epoch, differs by less "
        "than this share from the epoch before; 0 for all epochs.",
    )

    def _rate(self) -> Rate:
        return rates.constant()

    def _window(self, n_rows: int | None) -> Window | None:
        return None if self.average is None else Window()

    def _plan(self, kernel: Kernel) -> dual.DualPlan:
        return _forgetful(dual.make(kernel, self._loss(), NONE, NONE, outputs=1))

    def _blank(self, outputs: int, features: int, dtype: Any, like: Any) -> Learner:
        learner = super()._blank(outputs, features, dtype, like)
        learner.plan = learner.plan._replace(step=np.zeros(outputs))
        return learner

    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        """Begin anew and make at most max_iter epochs."""
        n = len(y)
        weight = np.ones(n) if weight is None else weight
        kernel = self._kernel(X)
        plan = dual.make(kernel, self._loss(), y, self.C * weight, outputs)
        recipe = self._recipe(kernel, n)._replace(plan=plan)
        if self.budget is None and recipe.window is not None:
            # A centre whose variable comes to 0 leaves, and has been in the mean.
            recipe = recipe._replace(window=Window(whole=True))
        # Last, because it may draw from the user's generator.
        order_rng, draws, _ = self._seeds()
        learner = Learner(recipe, Shape(outputs, X.shape[1], X.dtype), draws)
        order = Order(self.selection, plan.preference, order_rng)
        monitor = Monitor(self, learner, X, y, weight, self.C) if self.monitor else None
        progress = Progress(self, learner, passes=self.max_iter, rows=n)
        totals, before = plan.totals[0], math.nan
        with progress:
            for epoch in range(self.max_iter):
                visits = order.epoch()
                totals.surrogate = totals.gain = 0.0
                # A longer mean would be merged too often: see the note in bsca.py.
                averaged = len(visits) if self.budget is None else self.budget
                late = max(len(visits) - averaged, 0)
                progress.begin_pass(len(visits))
                for part in (visits[:late], visits[late:]):
                    if recipe.window is not None:
                        learner.model.average.restart()
                    rows = np.arange(n)
                    for scores in self._learn_with(learner, X, rows, weight, part):
                        progress.advance(len(scores))
                if monitor is not None:
                    monitor.record(plan.dual)
                stopped = progress.end_pass()
                if epoch == 0:
                    totals.mean_gain = totals.gain / n
                    totals.adapting = self.selection == "acf"
                now = totals.surrogate / max(len(visits), 1)
                if stopped or abs(now - before) < self.tol * abs(now):
                    break
                before = now
        learner.take_back()
        if self.refit:
            self._refit(learner, X, y, weight, self.C)
        self.dual_variables_ = plan.dual
        learner.plan = _forgetful(plan)
        self._keep(learner, progress.done, monitor)
