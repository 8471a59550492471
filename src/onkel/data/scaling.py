"""Scaling of streams by scikit-learn's own scalers, fitted batch by batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

# Names, and what they do to a column that is not constant.
SCALINGS = {
    "none": "nothing",
    "standard": "mean 0 and deviation 1; sparse columns keep their zeros",
    "minmax": "to 0..1",
    "symmetric": "to -1..1",
    "maxabs": "largest absolute value 1; keeps zeros",
}
# Of an absolute value: the squares of larger ones, and sums of these, may overflow.
LARGEST = 1e150
# Those that move zeros whatever the layout.
DENSE_ONLY = ("minmax", "symmetric")

# What transform reads of a fitted scaler.
_FITTED = {
    "none": (),
    "standard": ("mean_", "scale_"),
    "minmax": ("min_", "scale_"),
    "symmetric": ("min_", "scale_"),
    "maxabs": ("scale_",),
}


def make(name: str, centre: bool = True) -> Any:
    """Return a new scaler, None for "none"; `centre` is whether zeros may move."""
    if name == "standard":
        return StandardScaler(with_mean=centre, copy=False)
    if name == "minmax":
        return MinMaxScaler(copy=False)
    if name == "symmetric":
        return MinMaxScaler((-1, 1), copy=False)
    return MaxAbsScaler(copy=False) if name == "maxabs" else None


def widen(scaler: Any, width: int) -> None:
    """Tell a fitted scaler of columns that were zero in all rows so far.

    Examples
    --------
    >>> scaler = make("maxabs").partial_fit([[2.0]])
    >>> widen(scaler, 2)
    >>> scaler.partial_fit([[1.0, 4.0]]).max_abs_.tolist()
    [2.0, 4.0]
    """
    more = width - scaler.n_features_in_
    for name, value in vars(scaler).items():
        if isinstance(value, np.ndarray) and value.ndim == 1:
            # A count of rows, where there is one a column, is the same for all.
            filler = value[0] if name == "n_samples_seen_" else 0
            padded = np.concatenate([value, np.full(more, filler, value.dtype)])
            setattr(scaler, name, padded)
    scaler.n_features_in_ = width


def state(name: str, scaler: Any) -> dict[str, np.ndarray]:
    """Return what a fitted scaler knows, as arrays of float64."""
    found = {fitted: getattr(scaler, fitted) for fitted in _FITTED[name]}
    # A scaler that does not centre may have a mean all the same.
    return {
        fitted.rstrip("_"): np.asarray(value, np.float64)
        for fitted, value in found.items()
    }


def restore(
    name: str, arrays: Mapping[str, np.ndarray], width: int, centre: bool
) -> Any:
    """Return the fitted scaler that `state` described.

    Raises
    ------
    ValueError
        If an array is missing, has another length, or is not finite.
    """
    scaler = make(name, centre)
    for fitted in _FITTED[name]:
        value = arrays.get(fitted.rstrip("_"))
        if value is None or value.dtype != np.float64 or value.shape != (width,):
            raise ValueError(f"{name} scaling needs {width} numbers {fitted!r}")
        if not np.isfinite(value).all() or (fitted == "scale_" and not value.all()):
            raise ValueError(f"{name} scaling has a useless number in {fitted!r}")
        setattr(scaler, fitted, value.copy())
    if scaler is not None:
        scaler.n_features_in_ = width
    return scaler
