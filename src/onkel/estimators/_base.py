"""What all systems share: checks, gamma, seeds, and the loop over passes."""

import contextlib
import copy
import functools
import inspect
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from onkel import kernels
from onkel._version import __version__
from onkel.averages import Window
from onkel.engine.learner import CHUNK, Learner, ScoreOverflowError
from onkel.engine.online import Plan
from onkel.estimators._distances import squared_distances, variance
from onkel.estimators._monitor import Monitor
from onkel.estimators._progress import CallbackSupportMixin, Progress
from onkel.losses import Loss
from onkel.rates import Rate
from onkel.steps import Step

# Parameters that say how to run, not what to learn.
PRESENTATION = {"verbose", "n_jobs", "block_size", "monitor"}


def checked_weights(sample_weight: Any, X: Any, streaming: bool) -> np.ndarray:
    """Weights of the rows as numbers of their own, 1 where none are given.

    A chunk of a stream may well have weight zero; a data set may not.
    """
    options: dict[str, Any] = {"dtype": np.float64, "ensure_non_negative": True}
    parameters = inspect.signature(_check_sample_weight).parameters
    if "allow_all_zero_weights" in parameters:  # since scikit-learn 1.9
        options["allow_all_zero_weights"] = streaming
    return _check_sample_weight(sample_weight, X, copy=True, **options)


def levels_to_the_caller() -> int:
    """Stack level, for warnings.warn, of the first frame that is not a library's."""
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("onkel", "sklearn", "contextlib"):
            return level
        frame, level = frame.f_back, level + 1
    return level


def located(message: str, X: Any, y: Any) -> str:
    """Add to scikit-learn's message where in X or y the culprit is."""
    if message.startswith("Input y contains"):
        row = int(np.flatnonzero(~np.isfinite(np.asarray(y, np.float64)))[0])
        return f"{message} It is in row {row}."
    if message.startswith("could not convert string to float"):
        for (row, column), value in np.ndenumerate(np.asarray(X, object)):
            try:
                float(value)
            except (TypeError, ValueError):
                return (
                    f"Input X contains text, {value!r}, in row {row}, column {column}."
                )
    return message


class Recipe(NamedTuple):
    """A system, as a point in the space of its nouns."""

    loss: Loss
    rate: Rate
    step: Step
    budget: Any
    ball: bool = False
    window: Window | None = None  # of the iterates whose mean is the answer
    every_row: bool = False  # whether the budget sees rows without an update, too


@functools.cache
def _names_of_parameters(cls: type) -> list[str]:
    """Names of a system's parameters: scikit-learn reads the signature each time."""
    return BaseEstimator._get_param_names.__func__(cls)


class KernelEstimator(CallbackSupportMixin, BaseEstimator, ABC):
    """Base of all systems: a recipe, and the learner that follows it."""

    @abstractmethod
    def _recipe(self, n_rows: int | None) -> Recipe:
        """Combine the nouns; `n_rows` is None in a stream."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return _names_of_parameters(cls)

    def _check_parameters(self) -> None:
        """Refuse bad values; a stream of single rows would feel it each time."""
        values = self.get_params(deep=False)
        checked = self.__dict__.get("_checked_parameters")
        if checked is None or any(
            value is not checked[name] for name, value in values.items()
        ):
            self._validate_params()
            self._checked_parameters = values

    # ---- what was learnt

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
    def support_vectors_(self) -> np.ndarray:
        """Centres, shape (model_size_, n_features_in_)."""
        return self._fitted().points

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients, shape (outputs, model_size_)."""
        return self._fitted().coef

    @property
    def model_size_(self) -> int:
        """Number of centres."""
        return self._fitted().size

    @property
    def t_(self) -> int:
        """Rows seen, over all passes."""
        return int(self._fitted().head.t)

    @property
    def n_updates_(self) -> int:
        """Rows that proposed a change of the model."""
        return int(self._fitted().head.updates)

    @property
    def n_maintenance_(self) -> int:
        """Times that the budget made a centre leave."""
        return int(self._fitted().head.maintenance)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._checked_rows(X)
        return self._learner.score(X, self._n_jobs())

    # ---- checks

    @contextlib.contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Undo everything if a check fails, or learning does."""
        before = dict(self.__dict__)
        learner: Learner | None = before.get("_learner")
        state = () if learner is None else learner.snapshot()
        seed = self.random_state
        drawn = seed.get_state() if isinstance(seed, np.random.RandomState) else None
        try:
            yield
        except BaseException:
            if learner is not None:
                learner.restore(state)
            if drawn is not None:
                seed.set_state(drawn)
            # scikit-learn still has to find the callbacks that it must tear down
            kept = {k: v for k, v in self.__dict__.items() if "callback" in k}
            self.__dict__.clear()
            self.__dict__.update(before | kept)
            raise

    def _checked_rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Check X, or X and y, against each other and against what was fitted."""
        reset = options.pop("reset", False)
        dtype = [np.float64, np.float32] if reset else self._learner.dtype
        try:
            # A cast to single precision may give infinity, which is refused below.
            with np.errstate(over="ignore"):
                checked = validate_data(
                    self,
                    X,
                    y,
                    reset=reset,
                    accept_sparse="csr",
                    dtype=dtype,
                    ensure_all_finite=False,
                    **options,
                )
        except ValueError as error:
            raise ValueError(located(str(error), X, y)) from error
        X = checked[0] if isinstance(checked, tuple) else checked
        if scipy.sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._refuse_extremes(X)
        return (X, checked[1]) if isinstance(checked, tuple) else X

    def _refuse_extremes(self, X: Any) -> None:
        """Refuse numbers that are not finite, or whose squares would not be."""
        values = X.data if scipy.sparse.issparse(X) else X
        if values.size == 0:
            return
        extreme = max(-float(values.min()), float(values.max()))
        limit = math.sqrt(float(np.finfo(values.dtype).max) / X.shape[1]) / 4
        if extreme <= limit:
            return
        if scipy.sparse.issparse(X):
            X = X.tocoo()
            entry = int(np.flatnonzero(~(np.abs(X.data) <= limit))[0])
            row, column, value = X.row[entry], X.col[entry], X.data[entry]
        else:
            row, column = np.argwhere(~(np.abs(X) <= limit))[0]
            value = X[row, column]
        names = getattr(self, "feature_names_in_", None)
        named = "" if names is None else f" ({names[column]})"
        where = f"row {row}, column {column}{named}"
        if np.isnan(value):
            problem, advice = "NaN", "Impute or drop missing values first."
        elif np.isinf(value):
            problem, advice = "infinity", "Replace it by a finite number."
        else:
            problem = f"{value:g}, whose square overflows {values.dtype}"
            advice = "Scale the features, for example with StandardScaler."
        raise ValueError(f"Input X contains {problem} in {where}. {advice}")

    def _learning_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        return {
            name: copy.copy(value) if isinstance(value, dict) else value
            for name, value in parameters.items()
            if name not in PRESENTATION
        }

    def _refuse_changed_parameters(self) -> None:
        for name, value in self._learning_parameters().items():
            started = self._started_with[name]
            if value is not started and value != started:
                raise ValueError(
                    f"{name} was {started!r} when this {type(self).__name__} began to "
                    f"learn and is {value!r} now. A model cannot go on learning with "
                    f"other parameters: set {name} back, or call fit to begin anew."
                )

    # ---- learning

    def _n_jobs(self) -> int:
        return joblib.effective_n_jobs(self.n_jobs)

    def _gamma(self, X: Any) -> float:
        """Kernel coefficient, from all the rows given."""
        if self.kernel == "linear":
            return 1.0
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "scale":
            inverse = X.shape[1] * variance(X)
        else:
            distances = squared_distances(X)
            inverse = float(np.median(distances)) if len(distances) else 0.0
        if inverse > 0.0:
            return 1.0 / inverse
        warnings.warn(
            f'gamma="{self.gamma}" needs features that vary, and these do not: '
            "using gamma=1.0. Give gamma a number if that is not what you want.",
            stacklevel=levels_to_the_caller(),
        )
        return 1.0

    def _seeds(self) -> list[np.random.Generator]:
        """Generators for order, draws and features."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**32, size=4, dtype=np.uint32)
        elif seed is np.random:
            seed = None
        children = np.random.SeedSequence(seed).spawn(3)
        return [np.random.default_rng(child) for child in children]

    def _new_learner(
        self, X: Any, outputs: int, n_rows: int | None
    ) -> tuple[Learner, np.random.Generator]:
        """Make an empty learner, and the generator of the order of rows."""
        self._look_at(X)
        loss, rate, step, budget, ball, window, every_row = self._recipe(n_rows)
        kernel = kernels.make(self.kernel, self._gamma(X), self.degree, self.coef0)
        plan = Plan(kernel, loss, rate, step, ball, every_row)
        # Last, because it may draw from the user's generator.
        order, draws, _ = self._seeds()
        learner = Learner(plan, budget, outputs, X.shape[1], X.dtype, draws, window)
        return learner, order

    def _look_at(self, X: Any) -> None:
        """Choose what depends on the rows, besides gamma, before learning begins."""

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
            raise ValueError(
                f"The scores of {type(self).__name__} overflowed at row "
                f"{first + overflow.row} of this call; nothing was learnt from it. "
                "Smaller steps help: a larger alpha or t0, a smaller eta0, ball=True, "
                "or features and targets scaled to unit variance."
            ) from None

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
        self._keep(learner, progress.done, monitor)

    def _keep(self, learner: Learner, n_iter: int, monitor: Monitor | None) -> None:
        """Make the learner the model."""
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

    # ---- scikit-learn's interface

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_onkel_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_onkel_version", None)
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was pickled by onkel {version} and is "
                f"read by {__version__}: it may not behave as it did.",
                stacklevel=2,
            )
        super().__setstate__(state)
