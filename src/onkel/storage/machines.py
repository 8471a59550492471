"""Machines: whether what a kernel machine keeps besides its learner fits the learner.

Rows that it was shown last, and the scale of features, come back to compiled code with
the next re-fit. As in `shapes`, a file may only say what a machine could have come to.
"""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from onkel.engine.learner import Learner
from onkel.refit.calibration import BENDS, FEW_BENDS
from onkel.refit.extent import Extent
from onkel.refit.reservoir import Reservoir
from onkel.storage.shapes import check_learner

# What there is of each feature in a scaler.
OF_FEATURES: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_"),
    MaxAbsScaler: ("max_abs_", "scale_"),
}
# Numbers beside them, and whether they must be positive.
NUMBERS = {
    "_start": True,
    "_quick_gamma": True,
    "gamma_": True,
    "C_": True,
    "target_scale_": True,
    "target_mean_": False,
}


def check_machine(fitted: dict[str, Any], learner: Learner) -> None:
    """Refuse what was learnt besides a learner, if it does not fit it.

    Raises
    ------
    ValueError
        Names the part.
    """
    features = learner.model.points.shape[1]
    for name, positive in NUMBERS.items():
        value = fitted.get(name, 1.0)
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} is no number")
        if positive and value <= 0:
            raise ValueError(f"{name} is not positive")
    if not isinstance(fitted["_next_refit"], Integral):
        raise ValueError("nobody knows when its next re-fit is due")
    slopes = fitted.get("calibration_")
    shapes = (len(FEW_BENDS) + 1,), (len(BENDS) + 1,)
    if slopes is not None and not any(
        _is_array(slopes, np.float64, shape) for shape in shapes
    ):
        raise ValueError("its calibration has no slopes")
    if not _is_array(fitted["mixture_"], np.float64, (2,)):
        raise ValueError("its learners have no weights")
    _check_scaler(fitted["scaler_"], features)
    relevance = fitted["relevance_"]
    if not _is_array(relevance, np.float64, (features,)) or (relevance <= 0).any():
        raise ValueError("its features have no weights")
    extent = fitted["_extent"]
    if (
        not isinstance(extent, Extent)
        or not isinstance(extent.rows, Integral)
        or not all(_is_array(part, np.float64, (features,)) for part in extent[1:])
    ):
        raise ValueError("its features have no extent")
    if fitted["_quick"] is not None:
        _check_quick(fitted["_quick"], learner)
    classes = fitted.get("classes_")
    labels = None if classes is None else max(len(classes), 2)
    _check_recent(fitted["_recent"], features, learner.dtype, labels)


def _is_array(value: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value is such an array, of finite numbers."""
    return (
        isinstance(value, np.ndarray)
        and np.issubdtype(value.dtype, dtype)
        and value.shape == shape
        and bool(np.isfinite(value).all())
    )


def _check_quick(quick: Any, learner: Learner) -> None:
    """Refuse a second learner that does not go with the first."""
    if not isinstance(quick, Learner):
        raise ValueError("its quick learner is none")
    quick._work = None
    check_learner(quick)
    mine, theirs = quick.model, learner.model
    fits = (
        len(mine.coef) == len(theirs.coef)
        and mine.points.shape[1] == theirs.points.shape[1]
        and quick.dtype == learner.dtype
    )
    if not fits:
        raise ValueError("its learners do not have the same outputs and features")


def _check_scaler(scaler: Any, features: int) -> None:
    if scaler is None:
        return
    if type(scaler) not in OF_FEATURES:
        raise ValueError("its scaler is none")
    if not hasattr(scaler, "n_samples_seen_"):
        return  # it has seen nothing yet
    for name in OF_FEATURES[type(scaler)]:
        if not _is_array(getattr(scaler, name), np.floating, (features,)):
            raise ValueError(f"{name} is not of so many features")
    if not (scaler.scale_ > 0).all():
        raise ValueError("the scale of a feature is not positive")
    if scaler.n_features_in_ != features:
        raise ValueError("its scaler has seen other features")
    if not isinstance(scaler.n_samples_seen_, Real):
        raise ValueError("its scaler has seen no number of rows")


def _check_recent(
    recent: Any, features: int, dtype: np.dtype, labels: int | None
) -> None:
    """Refuse rows that are none; `labels` is the number of them, or None."""
    if not isinstance(recent, Reservoir) or not isinstance(recent.kept, list):
        raise ValueError("its recent rows are none")
    if not isinstance(recent.size, Integral) or recent.size < 1:
        raise ValueError("its recent rows have no number")
    for X, y, weight in recent.kept:
        if isinstance(X, tuple):
            _check_sparse(X, features, dtype)
            count = len(X[2]) - 1
        else:
            count = len(X)
            if not _is_array(X, dtype, (count, features)):
                raise ValueError("recent rows do not have its features")
        if not _is_array(y, np.float64, (count,)):
            raise ValueError("recent rows do not have a target each")
        if not _is_array(weight, np.float64, (count,)) or (weight < 0).any():
            raise ValueError("recent rows do not have a weight each")
        if labels is not None and not np.isin(y, np.arange(labels)).all():
            raise ValueError("a recent row has a class that is none")


def _check_sparse(X: tuple, features: int, dtype: np.dtype) -> None:
    values, columns, starts, width = X
    fits = (
        width == features
        and _is_array(values, dtype, (len(values),))
        and all(part.dtype in (np.int32, np.int64) for part in (columns, starts))
        and columns.shape == values.shape
        and starts.ndim == 1
        and (starts[0], starts[-1]) == (0, len(values))
        and (np.diff(starts) >= 0).all()
        and ((columns >= 0) & (columns < features)).all()
    )
    if not fits:
        raise ValueError("recent rows are no sparse matrix")
