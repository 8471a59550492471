"""What all estimators share: checks of parameters and rows, gamma, seeds."""

import contextlib
import functools
import inspect
import math
import os
import sys
import threading
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from onkel._version import __version__
from onkel.estimators._beginning import FEW
from onkel.estimators._distances import (
    lost_in_single,
    squared_distances,
    variance,
)
from onkel.estimators._entries import (
    located,
    plain_targets,
    refuse_broken,
    refuse_culprit,
    refuse_large_targets,
    refuse_odd_columns,
)
from onkel.estimators._groups import MOST_JOBS
from onkel.problem import kernels
from onkel.problem.kernels import Kernel

# Share of rows whose kernel values may be lost without a word.
MANY_LOST = 0.05


def checked_weights(sample_weight: Any, X: Any, streaming: bool) -> np.ndarray:
    """Weights of the rows as numbers of their own, 1 where none are given.

    A chunk of a stream may well have weight zero; a data set may not.
    """
    options: dict[str, Any] = {"dtype": np.float64, "ensure_non_negative": True}
    parameters = inspect.signature(_check_sample_weight).parameters
    if "allow_all_zero_weights" in parameters:  # since scikit-learn 1.9
        options["allow_all_zero_weights"] = streaming
    try:
        return _check_sample_weight(sample_weight, X, copy=True, **options)
    except TypeError as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from error


def levels_to_the_caller() -> int:
    """Stack level, for warnings.warn, of the first frame that is not a library's."""
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("onkel", "river", "sklearn", "contextlib"):
            return level
        frame, level = frame.f_back, level + 1
    return level


def largest_entry(dtype: Any, features: int) -> float:
    """Largest entry of a row whose squared distance from another is surely finite."""
    return math.sqrt(float(np.finfo(dtype).max) / features) / 4


@functools.cache
def _names_of_parameters(cls: type) -> list[str]:
    """Names of a system's parameters: scikit-learn reads the signature each time."""
    return BaseEstimator._get_param_names.__func__(cls)


# Locks of the estimators that have learnt; none is part of an estimator, which can be
# copied and pickled.
_turns: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_door = threading.Lock()


def _forget_turns() -> None:
    """Begin a forked process, in which no thread is there to give a lock back."""
    global _turns, _door
    _turns, _door = weakref.WeakKeyDictionary(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_turns)


def _turn(estimator: Any) -> Any:
    """Return the lock that a thread holds while it learns."""
    with _door:
        return _turns.setdefault(estimator, threading.RLock())


class CheckedEstimator(BaseEstimator, ABC):
    """An estimator that looks at what it is given before it begins."""

    gamma: Any

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return _names_of_parameters(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as they were given, whatever they are read as.

        Parameters
        ----------
        deep : bool
            For pipelines: no parameter is an estimator.

        Returns
        -------
        parameters
            Their values by their names.
        """
        given = vars(self)
        return {
            name: given[name] if name in given else getattr(self, name)
            for name in self._get_param_names()
        }

    def _check_parameters(self) -> None:
        """Refuse bad values; a stream of single rows would feel it each time."""
        values = self.get_params(deep=False)
        checked = self.__dict__.get("_checked_parameters")
        if checked is None or any(
            value is not checked[name] for name, value in values.items()
        ):
            self._validate_params()
            for name, value in values.items():
                if isinstance(value, int) and abs(value) > sys.float_info.max:
                    raise ValueError(
                        f"{name} of {type(self).__name__} is too large for a "
                        "floating-point number"
                    )
            self._checked_parameters = values

    # ---- one that learns, many that predict

    def _still(self) -> Self:
        """Return this estimator as it is now, whatever a learning thread does next."""
        still = object.__new__(type(self))
        still.__dict__.update(self.__dict__)
        return still

    @contextlib.contextmanager
    def _draft(self) -> Iterator[Self]:
        """Learn on a draft, which takes this estimator's place at once, or never.

        What the draft changes in place it must have copied before. Threads that predict
        meanwhile see the estimator as it was; those that learn wait for each other.
        """
        with _turn(self):
            draft, seed = self._still(), self.random_state
            is_drawn_from = isinstance(seed, np.random.RandomState)
            drawn = seed.get_state() if is_drawn_from else None
            try:
                yield draft
            except BaseException:
                if is_drawn_from:
                    seed.set_state(drawn)
                # scikit-learn still has to find the callbacks that it must tear down
                for name, value in vars(draft).items():
                    if "callback" in name:
                        setattr(self, name, value)
                raise
            self.__dict__ = draft.__dict__

    @property
    @abstractmethod
    def _dtype(self) -> Any:
        """Precision in which a fitted estimator works."""

    def _checked_rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Check X, or X and y, against each other and against what was fitted."""
        reset = options.pop("reset", False)
        dtype = [np.float64, np.float32] if reset else self._dtype
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        refuse_odd_columns(X)
        if scipy.sparse.issparse(X):
            refuse_broken(X)
        if not isinstance(y, str):
            y = plain_targets(y)
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
        except (ValueError, TypeError, OverflowError) as error:
            if str(error).startswith("Input y contains"):
                raise ValueError(located(str(error), y)) from error
            refuse_culprit(error, X)
        if options.get("y_numeric") and checked[1].dtype.kind in "iuf":
            refuse_large_targets(checked[1])
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
        limit = largest_entry(values.dtype, X.shape[1])
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

    def _n_jobs(self) -> int:
        # Also where parameters were set after fit.
        given = self.n_jobs
        if given is not None and (not isinstance(given, int) or given > MOST_JOBS):
            raise ValueError(
                f"n_jobs must be None or a number of threads up to {MOST_JOBS}, got "
                f"{given!r}"
            )
        return joblib.effective_n_jobs(given)

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
        if self._says_enough(X):
            warnings.warn(
                f'gamma="{self.gamma}" needs features that vary, and these do not: '
                "using gamma=1.0. Give gamma a number if that is not what you want.",
                stacklevel=levels_to_the_caller(),
            )
        return 1.0

    def _says_enough(self, X: Any) -> bool:
        """Whether rows are no mere beginning of a stream, of which more will come."""
        return X.shape[0] >= FEW or getattr(self, "_beginning", None) is None

    def _settle_gamma(self, kernel: Any) -> None:
        """Set gamma, where rows decide it, to what they have decided."""
        if isinstance(self.gamma, str):
            self.gamma = kernel.gamma

    def _drawn_seed(self) -> int | list[int]:
        """Return the seed of all that is random; it may be drawn."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            return seed.randint(2**32, size=4, dtype=np.uint32).tolist()
        if seed is None or seed is np.random:
            return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
        return int(seed)

    def _seeds(self) -> list[np.random.Generator]:
        """Generators for order, draws and features."""
        seed = self._drawn_seed()
        children = np.random.SeedSequence(seed).spawn(3)
        return [np.random.default_rng(child) for child in children]

    def _kernel(self, X: Any) -> Kernel:
        """Kernel of the parameters, for these rows."""
        degree, coef0 = getattr(self, "degree", 1), getattr(self, "coef0", 0.0)
        kernel = kernels.make(self.kernel, self._gamma(X), degree, coef0)
        if X.dtype == np.float32 and lost_in_single(X, kernel) > MANY_LOST:
            warnings.warn(
                f"With gamma={kernel.gamma:.3g} and these features, many rows are like "
                "no other in single precision: their kernel values are 0, though not "
                "in double. X holds float32: give it as float64, scale the features, "
                "for example with StandardScaler, or choose a smaller gamma.",
                stacklevel=levels_to_the_caller(),
            )
        return kernel

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
