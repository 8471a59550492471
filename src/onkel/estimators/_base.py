"""What all systems share: a recipe, a learner, and the loop over passes."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, ScoreOverflowError, Shape
from onkel.engine.plan import Plan
from onkel.engine.threads import CHUNK, Team
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._monitor import Monitor
from onkel.estimators._progress import Progress
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.model.averages import Window
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss, smoothed
from onkel.problem.rates import Rate
from onkel.problem.steps import Step
from onkel.refit.reservoir import Reservoir
from onkel.refit.solver import Solver
from onkel.refit.values import Values


class Recipe(NamedTuple):
    """A system, as a point in the space of its nouns."""

    loss: Loss
    rate: Rate
    step: Step
    budget: Any
    ball: bool = False
    window: Window | None = None  # of the iterates whose mean is the answer
    every_row: bool = False  # whether the budget sees rows without an update, too


def is_finite(state: Any, outputs: int) -> bool:
    """Whether counters, and what is shaped like coefficients, hold finite numbers."""
    for array in state:
        if not isinstance(array, np.ndarray):
            continue
        parts = [array[name] for name in array.dtype.names or ()]
        if array.ndim == 2 and len(array) == outputs:
            parts = [array]
        for part in parts:
            # Their sum is quick to tell; it may overflow where none of them does.
            if part.dtype.kind == "f" and not np.isfinite(part.sum()):
                if not np.isfinite(part).all():
                    return False
    return True


class KernelEstimator(ExpansionEstimator):
    """A system that learns row by row: a recipe, and the learner that follows it."""

    _learner: Learner
    # The first rows of a stream, while they are few; see `_beginning`.
    _beginning: Reservoir | None = None

    @abstractmethod
    def _recipe(self, n_rows: int | None) -> Recipe:
        """Combine the nouns; `n_rows` is None in a stream."""

    @classmethod
    def _suited(cls, rows: int, is_regression: bool) -> dict[str, Any]:
        """Parameters for a stream of so many rows, which no default could know."""
        return {}

    def _loss(self) -> Loss:
        """Loss of the parameters; a group has it, which comes before this class."""
        raise NotImplementedError(f"{type(self).__name__} has no group with a loss")

    def _rate(self) -> Rate:
        """Rate of the parameters, likewise."""
        raise NotImplementedError(f"{type(self).__name__} has no group with a rate")

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
    def t_(self) -> int:
        """Rows seen, over all passes."""
        return int(self._fitted().counters.t)

    @property
    def n_updates_(self) -> int:
        """Rows that proposed a change of the model."""
        return int(self._fitted().counters.updates)

    @property
    def n_maintenance_(self) -> int:
        """Times that the budget made a centre leave."""
        return int(self._fitted().counters.maintenance)

    # ---- checks

    def _answer(self) -> FittedExpansion:
        return self._fitted().answer()

    def _learners(self) -> list[Learner]:
        return [self._learner] if hasattr(self, "_learner") else []

    def _fork(self) -> None:
        """Go on with learners of its own, which nobody else reads."""
        self._learner = self._learner.fork()

    def _refuse_changed_parameters(self) -> None:
        for name, value in self._learning_parameters().items():
            # A model of the version before has begun with the parameters it had.
            started = self._started_with.get(name, value)
            if value is not started and value != started:
                raise ValueError(
                    f"{name} was {started!r} when this {type(self).__name__} began to "
                    f"learn and is {value!r} now. A model cannot go on learning with "
                    f"other parameters: set {name} back, or call fit to begin anew."
                )

    # ---- learning

    def _new_learner(
        self, X: Any, outputs: int, n_rows: int | None
    ) -> tuple[Learner, np.random.Generator]:
        """Make an empty learner, and the generator of the order of rows."""
        self._look_at(X)
        recipe = self._recipe(n_rows)
        kernel = self._kernel(X)
        # Last, because it may draw from the user's generator.
        order, draws, features = self._seeds()
        mapping, frequencies = self._mapping(X, kernel, features)
        learner = Learner(
            self._plan(kernel, recipe),
            recipe.budget,
            Shape(outputs, X.shape[1], X.dtype),
            draws,
            recipe.window,
            mapping,
            frequencies,
        )
        return learner, order

    def _plan(self, kernel: Kernel, recipe: Recipe) -> Any:
        """Say what phase 2 needs to know."""
        loss, rate, step, _, ball, _, every_row = recipe
        return Plan(kernel, loss, rate, step, ball, every_row)

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
        recipe = self._recipe(1)
        plan, rng = self._plan(self._kernel(X), recipe), np.random.default_rng(0)
        shape = Shape(outputs, features, dtype)
        return Learner(plan, recipe.budget, shape, rng, recipe.window, mapping)

    def _blank_mapping(self, features: int) -> Any:
        """Explicit features before anything was drawn."""
        return Absent()

    def _take_statistics(self, like: Any) -> None:
        """Set parameters that rows decide to what they have decided."""
        self._settle_gamma(like.plan.kernel)

    def _forget_beginning(self) -> None:
        """Leave nothing of a stream that had just begun."""
        self._beginning = None
        self.__dict__.pop("_seed", None)

    def _look_at(self, X: Any) -> None:
        """Choose what depends on the rows, besides gamma, before learning begins."""

    def _depends_on_rows(self) -> bool:
        """Whether anything is chosen by statistics of the rows."""
        return self.kernel != "linear" and isinstance(self.gamma, str)

    def _learn(
        self,
        learner: Learner,
        X: Any,
        y: Any,
        weight: Any,
        order: Any = None,
        first: int = 0,
    ) -> Iterator[np.ndarray]:
        """Learn the rows; yields their scores before each update.

        `first` is the number of the first row in the call, for error messages.
        """
        block_size = None if self.block_size == "auto" else int(self.block_size)
        if weight is None:
            weight = np.ones(len(y))
        try:
            yield from learner.learn(X, y, weight, order, block_size, self._n_jobs())
        except ScoreOverflowError as overflow:
            row = first + overflow.row
            where = f"row {row} of this call" if row >= 0 else "a row of calls before"
            raise ValueError(
                f"The scores of {type(self).__name__} overflowed at {where}; "
                "nothing was learnt from this call. "
                "Smaller steps help: a larger alpha or t0, a smaller eta0, ball=True, "
                "or features and targets scaled to unit variance."
            ) from None
        self._refuse_infinity(learner)

    def _refuse_infinity(self, learner: Learner) -> None:
        """Refuse what was learnt if it is not finite: it would never be again."""
        model, counters = learner.model, learner.counters
        states = (model.coef,), model.average, learner.budget
        # The norm is kept for the ball only; without one it may well overflow.
        norm2 = counters.norm2 if learner.plan.ball else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(
                [counters.factor, counters.largest, norm2]
            ).all() and all(is_finite(state, len(model.coef)) for state in states)
            finite = finite and learner.is_bounded
        if not finite:
            raise ValueError(
                f"The coefficients of {type(self).__name__} overflowed in this call; "
                "nothing was learnt from it. Smaller numbers help: features and "
                "targets scaled to unit variance, a larger alpha or t0, or a smaller "
                "eta0, C, degree or sample_weight."
            )

    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        """Begin anew and make max_iter passes."""
        learner, order_rng = self._new_learner(X, outputs, len(y))
        progress = Progress(self, learner, passes=self.max_iter, rows=len(y))
        monitor = self._monitor(learner, X, y, weight)
        with progress:
            for _ in range(self.max_iter):
                order = order_rng.permutation(len(y)) if self.shuffle else None
                progress.begin_pass(chunks=math.ceil(len(y) / CHUNK))
                done = 0
                for scores in self._learn(learner, X, y, weight, order):
                    progress.advance()
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
        rng = np.random.default_rng(0)
        with Team(self._n_jobs()) as team:
            values = Values(learner.plan.kernel, X, learner.points, team)
            solver = Solver(values, loss, y, weight, outputs, rng)
            learner.replace(solver.solve(C, learner.coef.astype(np.float64)).coef)

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
