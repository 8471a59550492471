"""What KernelClassifier and KernelRegressor share: all but what they predict."""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from onkel import kernels, losses, rates, steps
from onkel.budget.bernoulli import Bernoulli
from onkel.budget.merge import Merge
from onkel.engine.learner import Learner
from onkel.engine.plan import UNLIMITED
from onkel.estimators._base import KernelEstimator, Recipe
from onkel.estimators._distances import squared_distances
from onkel.kernels import Kernel
from onkel.refit import machine
from onkel.refit.held_out import Task
from onkel.refit.machine import Machine, Wish
from onkel.refit.reservoir import Reservoir

# Rows of a stream before the first re-fit, and the growth from one to the next.
FIRST_REFIT, GROWTH = 256, 1.5
# Most centres before the first re-fit, if nobody says how many.
AUTO_IN_A_STREAM = 500


class KernelMachine(KernelEstimator):
    """A kernel machine that finds its parameters itself."""

    is_regression = False

    # ---- what was learnt

    @property
    def held_out_score_(self) -> float:
        """Accuracy, or R^2, on rows that were held out; the model's own estimate."""
        return self._score_of(self.held_out_error_)

    def _score_of(self, error: float) -> float:
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        scores = self._learner.score(
            self._scaled(self._checked_rows(X)), self._n_jobs()
        )
        return self._answers(scores)

    def _answers(self, scores: np.ndarray) -> np.ndarray:
        """What scores stand for: in regression, targets were scaled."""
        return scores

    # ---- scale

    def _learn_scale(self, X: Any) -> None:
        self.scaler_ = None
        if self.scale:
            is_sparse = scipy.sparse.issparse(X)
            self.scaler_ = (MaxAbsScaler() if is_sparse else StandardScaler()).fit(X)

    def _scaled(self, X: Any) -> Any:
        return X if self.scaler_ is None else self.scaler_.transform(X)

    # ---- learning from all rows

    def _fit(self, X: Any, y: np.ndarray, weight: Any, outputs: int) -> None:
        weight = np.ones(len(y)) if weight is None else weight
        order, draws, _ = self._seeds()
        self._learn_scale(X)
        self._guess(X, y)
        found = self._found(X, y, weight, outputs, order)
        self._learner = self._learner_of(found, X, outputs, draws)
        self._learner.head.t = len(y)
        self._recent = Reservoir(self.memory_size)
        self._next_refit = math.ceil(GROWTH * len(y))
        self._started_with = self._learning_parameters()
        self.n_iter_ = 1

    def _guess(self, X: Any, y: np.ndarray) -> None:
        """Make a first guess at everything, from some rows."""
        distances = squared_distances(self._scaled(X[:1000]))
        median = float(np.median(distances)) if len(distances) else 0.0
        self._start = 1.0 / median if median > 0.0 else 1.0
        self.gamma_ = self._start if self.gamma == "auto" else float(self.gamma)
        self.C_ = 1.0 if self.C == "auto" else float(self.C)
        self.held_out_error_ = math.nan

    def _task(self, y: np.ndarray, weight: np.ndarray, outputs: int) -> Task:
        return Task(y, weight, outputs, self._smooth_loss(), self.is_regression)

    def _found(
        self, X: Any, y: np.ndarray, weight: np.ndarray, outputs: int, rng: Any
    ) -> Machine:
        """Fit a machine to the rows, and take note of what it says of itself."""
        task = self._task(y, weight / max(float(weight.mean()), 1e-300), outputs)
        wish = Wish(
            None if self.budget == "auto" else int(self.budget),
            None if self.gamma == "auto" else float(self.gamma),
            None if self.C == "auto" else float(self.C),
            self.time_limit,
            self._n_jobs(),
        )
        rows = self._scaled(X)
        if self.scaler_ is not None:
            rows = rows.astype(np.float32)  # scaled, they need no more
        found = machine.fit(
            self._find, rows, task, wish, self._start, rng, self._announce()
        )
        self.gamma_, self.C_, self.held_out_error_ = found.gamma, found.C, found.error
        self._take_slopes(found.slopes)
        return found

    def _take_slopes(self, slopes: np.ndarray | None) -> None:
        """Keep what makes probabilities of scores."""

    def _announce(self) -> Any:
        begun = time.perf_counter()

        def tell(text: str) -> None:
            if self.verbose:
                seconds = time.perf_counter() - begun
                print(f"{type(self).__name__}: {text}, {seconds:.1f} s")

        return tell

    # ---- learning from a stream

    def _kernel(self, X: Any) -> Kernel:
        return kernels.make("rbf", self.gamma_, 1, 0.0)

    def _recipe(self, n_rows: int | None) -> Recipe:
        return self._online(AUTO_IN_A_STREAM if self.budget == "auto" else self.budget)

    def _online(self, size: int) -> Recipe:
        """How a row of a stream is learnt, with a model of that size."""
        return Recipe(
            self._online_loss(),
            rates.constant(),
            steps.passive_aggressive(self.C_),
            Bernoulli(size, math.inf, UNLIMITED, Merge()),
        )

    def _learner_of(
        self, found: Machine, X: Any, outputs: int, draws: np.random.Generator
    ) -> Learner:
        """Make a learner that goes on from a machine."""
        given = 0 if self.budget == "auto" else self.budget
        recipe = self._online(max(len(found.points), given))
        learner = Learner(
            self._plan(self._kernel(X), recipe),
            recipe.budget,
            outputs,
            X.shape[1],
            X.dtype,
            draws,
            recipe.window,
        )
        learner.adopt(found.points, found.coef)
        return learner

    def _look_at(self, X: Any) -> None:
        self._learn_scale(X)
        self._guess(X, np.zeros(1))
        self._recent = Reservoir(self.memory_size)
        self._next_refit = FIRST_REFIT

    def _learn(
        self,
        learner: Learner,
        X: Any,
        y: Any,
        weight: Any,
        order: Any = None,
        first: int = 0,
    ) -> Iterator[np.ndarray]:
        weight = np.ones(len(y)) if weight is None else weight
        if self.is_regression and self._learner.head.t == 0:
            self._guess(X, y[:1000])
        start = 0
        while start < len(y):
            head = self._learner.head
            stop = min(len(y), start + max(self._next_refit - int(head.t), 1))
            part = slice(start, stop)
            task = self._task(y[part], weight[part], len(self._learner.model.coef))
            for scores in super()._learn(
                self._learner, self._scaled(X[part]), task.y, weight[part], None, first
            ):
                start += len(scores)
                yield self._answers(scores)
            self._recent = self._recent.copy()
            self._recent.add(X[part], self._index(y[part]), weight[part])
            if self._learner.head.t >= self._next_refit:
                self._refit_recent()
                self._next_refit = math.ceil(GROWTH * self._learner.head.t)
            first += stop - part.start

    def _refit_recent(self) -> None:
        """Replace the model by one that is fitted to the recent rows."""
        X, y, weight = self._recent.rows()
        learner = self._learner
        outputs = len(learner.model.coef)
        if not self._is_enough(y):
            return
        rng = np.random.default_rng(learner.rng.integers(2**32))
        self._learn_scale(X)
        start = self._start
        self._guess(X, y)
        self._start = self.gamma_ if math.isnan(self.held_out_error_) else start
        targets = y if self.is_regression or outputs > 1 else 2.0 * y - 1.0
        found = self._found(X, targets, weight, outputs, rng)
        self._learner = self._learner_of(found, X, outputs, learner.rng)
        for name in ("t", "updates", "maintenance", "mistakes"):
            setattr(self._learner.head, name, getattr(learner.head, name))
