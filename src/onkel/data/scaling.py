"""Scaling of streams by scikit-learn's own scalers, fitted batch by batch."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from onkel.data.state_checks import require

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


class Scaling(NamedTuple):
    """A scaling by its name, and scikit-learn's scaler that does it.

    Examples
    --------
    >>> scaling = Scaling.begun("maxabs")
    >>> scaling.fit(np.array([[2.0]]))
    >>> scaling.fit(np.array([[1.0, 4.0]]))
    >>> scaling.scaler.max_abs_.tolist()
    [2.0, 4.0]
    """

    name: str  # one of SCALINGS
    scaler: Any = None  # None for "none"

    @classmethod
    def begun(cls, name: str, centre: bool = True) -> Self:
        """Return a scaling that saw no row; `centre` is whether zeros may move."""
        scalers = {
            "standard": StandardScaler(with_mean=centre, copy=False),
            "minmax": MinMaxScaler(copy=False),
            "symmetric": MinMaxScaler((-1, 1), copy=False),
            "maxabs": MaxAbsScaler(copy=False),
        }
        return cls(name, scalers.get(name))

    def fit(self, X: Any) -> None:
        """Take more rows into account; columns that are new were zero so far."""
        width = X.shape[1]
        if self.scaler is not None and width:
            if getattr(self.scaler, "n_features_in_", width) < width:
                self._widen(width)
            self.scaler.partial_fit(X)

    def _widen(self, width: int) -> None:
        more = width - self.scaler.n_features_in_
        for name, value in vars(self.scaler).items():
            if isinstance(value, np.ndarray) and value.ndim == 1:
                # A count of rows, where there is one a column, is the same for all.
                filler = value[0] if name == "n_samples_seen_" else 0
                padded = np.concatenate([value, np.full(more, filler, value.dtype)])
                setattr(self.scaler, name, padded)
        self.scaler.n_features_in_ = width

    def transform(self, X: Any) -> Any:
        """Scale rows, perhaps in their place."""
        if self.scaler is None or not X.shape[1]:
            return X
        return self.scaler.transform(X)

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learnt, as arrays of float64."""
        # A scaler that does not centre may have a mean all the same.
        return {
            fitted.rstrip("_"): np.asarray(getattr(self.scaler, fitted), np.float64)
            for fitted in _FITTED[self.name]
        }

    @classmethod
    def from_state(
        cls, name: Any, arrays: Mapping[str, np.ndarray], width: int, centre: bool
    ) -> Self:
        """Return the scaling that `state` described, checked."""
        known = isinstance(name, str) and name in SCALINGS
        require(known, f"a preparation with unknown scaling {name!r}")
        restored = cls.begun(name, centre)
        for fitted in _FITTED[name]:
            value = arrays.get(fitted.rstrip("_"))
            if value is None or value.dtype != np.float64 or value.shape != (width,):
                raise ValueError(f"{name} scaling needs {width} numbers {fitted!r}")
            useful = np.isfinite(value).all() and (fitted != "scale_" or value.all())
            require(bool(useful), f"{name} scaling has a useless number in {fitted!r}")
            setattr(restored.scaler, fitted, value.copy())
        if restored.scaler is not None:
            restored.scaler.n_features_in_ = width
        return restored
