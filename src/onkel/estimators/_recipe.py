"""What systems share that follow a recipe: its nouns, a learner, passes over rows."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, Shape
from onkel.engine.plan import Plan
from onkel.engine.recipe import Recipe
from onkel.estimators._learning import LearningEstimator
from onkel.estimators._monitor import Monitor
from onkel.estimators._progress import Progress
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.model.averages import Window
from onkel.problem import steps
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss, smoothed
from onkel.problem.rates import Rate
from onkel.problem.steps import Step
from onkel.refit import devices
from onkel.refit.machine import MANY_ROWS
from onkel.refit.passes import Device
from onkel.refit.solver import Solver


class RecipeEstimator(LearningEstimator):
    """A system that follows a recipe, with one learner."""

    _learner: Learner

    # ---- the nouns of the recipe; groups of parameters have most of them

    @abstractmethod
    def _loss(self) -> Loss:
        """Loss of the parameters."""

    @abstractmethod
    def _rate(self) -> Rate:
        """Rate of the parameters."""

    def _step(self) -> Step:
        """Which way, and how far, a row moves the model."""
        return steps.gradient()

    def _ball(self, loss: Loss) -> float:
        """Radius of the ball to project on, over the smallest known; 0 for none."""
        return 0.0

    @abstractmethod
    def _budget(self, n_rows: int | None) -> Any:
        """Strategy of the parameters; `n_rows` is None in a stream."""

    def _window(self, n_rows: int | None) -> Window | None:
        """Which iterates the answer is the mean of; None for the last one."""
        return None

    def _plan(self, kernel: Kernel) -> Any:
        """Say what phase 2 needs to know."""
        loss = self._loss()
        return Plan(kernel, loss, self._rate(), self._step(), self._ball(loss))

    def _recipe(self, kernel: Kernel, n_rows: int | None) -> Recipe:
        """Combine the nouns."""
        plan, budget = self._plan(kernel), self._budget(n_rows)
        return Recipe(plan, budget, self._window(n_rows))

    # ---- what was learnt

    @property
    def _dtype(self) -> Any:
        return self._learner.dtype

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def _fitted(self) -> Learner:
        # AttributeError, so that hasattr is False before fit
        if not hasattr(self, "_learner"):
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet: call fit or partial_fit"
            )
        return self._learner

    @property
    def _counters(self) -> Any:
        return self._fitted().counters

    @property
    def _outputs(self) -> int:
        return len(self._learner.model.coef)

    def _answer(self) -> FittedExpansion:
        return self._fitted().answer()

    def _learners(self) -> list[Learner]:
        return [self._learner] if hasattr(self, "_learner") else []

    def _fork(self) -> None:
        """Go on with learners of its own, which nobody else reads."""
        self._learner = self._learner.fork()

    # ---- the learner

    def _new_learner(
        self, X: Any, outputs: int, n_rows: int | None
    ) -> tuple[Learner, np.random.Generator]:
        """Make an empty learner, and the generator of the order of rows."""
        self._look_at(X)
        kernel = self._kernel(X)
        recipe = self._recipe(kernel, n_rows)
        # Last, because it may draw from the user's generator.
        order, draws, features = self._seeds()
        mapping, frequencies = self._mapping(X, kernel, features)
        shape = Shape(outputs, X.shape[1], X.dtype)
        recipe = recipe._replace(mapping=mapping)
        return Learner(recipe, shape, draws, frequencies), order

    def _mapping(
        self, X: Any, kernel: Kernel, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None]:
        """Explicit features, and the frequencies of Fourier features."""
        return Absent(), None

    def _blank(self, outputs: int, features: int, dtype: Any, like: Any) -> Learner:
        """Make an empty learner, as before learning, for a model file to fill.

        What only rows can tell is taken from `like`, the learner of a file, which may
        be wrong in every way.
        """
        self._take_statistics(like)
        self._check_parameters()
        mapping = self._blank_mapping(features)
        if width(mapping) > len(like.model.norms):
            raise ValueError(f"it has too few slots for {width(mapping)} features")
        X, self.n_features_in_ = np.zeros((1, features), dtype), features
        self._look_at(X)
        recipe = self._recipe(self._kernel(X), 1)._replace(mapping=mapping)
        shape = Shape(outputs, features, dtype)
        return Learner(recipe, shape, np.random.default_rng(0))

    def _blank_mapping(self, features: int) -> Any:
        """Explicit features before anything was drawn."""
        return Absent()

    def _take_statistics(self, like: Any) -> None:
        """Set parameters that rows decide to what they have decided."""
        self._settle_gamma(like.plan.kernel)

    def _look_at(self, X: Any) -> None:
        """Choose what depends on the rows, besides gamma, before learning begins."""

    def _depends_on_rows(self) -> bool:
        """Whether anything is chosen by statistics of the rows."""
        return self.kernel != "linear" and isinstance(self.gamma, str)

    # ---- learning from a stream

    def _begin(self, X: Any, outputs: int) -> None:
        self._learner, _ = self._new_learner(X, outputs, None)

    def _refuse_endless(self) -> None:
        self._recipe(self._learner.plan.kernel, None)

    def _learn(self, X: Any, y: Any, weight: Any, first: int) -> Iterator[np.ndarray]:
        yield from self._learn_with(self._learner, X, y, weight, None, first)

    def _pass_over(self, X: Any, weight: np.ndarray | None) -> None:
        self._learner.skip(X.shape[0])

    # ---- learning from all rows

    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        """Begin anew and make max_iter passes."""
        learner, order_rng = self._new_learner(X, outputs, len(y))
        progress = Progress(self, learner, passes=self.max_iter, rows=len(y))
        monitor = self._monitor(learner, X, y, weight)
        with progress:
            for _ in range(self.max_iter):
                order = order_rng.permutation(len(y)) if self.shuffle else None
                progress.begin_pass(len(y))
                done = 0
                for scores in self._learn_with(learner, X, y, weight, order):
                    progress.advance(len(scores))
                    if monitor is not None:
                        rows = np.arange(done, done + len(scores))
                        monitor.watch(scores, rows if order is None else order[rows])
                    done += len(scores)
                if monitor is not None:
                    monitor.record()
                if progress.end_pass():
                    break
        if getattr(self, "refit", False):
            self._refit(learner, X, y, weight, 1.0 / (self.alpha * len(y)))
        self._keep(learner, progress.done, monitor)

    def _refit(
        self, learner: Learner, X: Any, y: np.ndarray, weight: Any, C: float
    ) -> None:
        """Give the centres the coefficients that suit all rows best."""
        if learner.size == 0:
            return
        weight = np.ones(len(y)) if weight is None else weight
        loss, outputs = smoothed(learner.plan.loss), len(learner.model.coef)

        def work(device: Device) -> np.ndarray:
            rng = np.random.default_rng(0)
            passes = device.passes(learner.plan.kernel, X, learner.points)
            solver = Solver(passes, loss, y, weight, outputs, rng)
            return solver.solve(C, learner.coef.astype(np.float64)).coef

        is_much = len(y) >= MANY_ROWS
        learner.replace(
            devices.carry_out(
                *(self.device, is_much, self._n_jobs(), work, self._warn_of_device)
            )
        )

    def _keep(self, learner: Learner, n_iter: int, monitor: Monitor | None) -> None:
        """Make the learner the model."""
        self._refuse_infinity(learner)
        self._learner = learner
        self._started_with = self._learning_parameters()
        self.n_iter_ = n_iter
        if monitor is not None:
            self.history_ = monitor.history
        elif hasattr(self, "history_"):
            del self.history_

    def _monitor(
        self, learner: Learner, X: Any, y: np.ndarray, weight: np.ndarray | None
    ) -> Monitor | None:
        """Watch over a gradient system that is to be watched."""
        if not getattr(self, "monitor", False):
            return None
        weight = np.ones(len(y)) if weight is None else weight
        return Monitor(self, learner, X, y, weight, 1.0 / (self.alpha * len(y)))
