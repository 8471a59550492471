"""Extent: how far the features of a stream reach, so far."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from onkel.refit.soft_scaler import SoftScaler


class Extent(NamedTuple):
    """Sums over all rows seen, for a scaler.

    Rows are added one after another, so that the sums do not depend on how a stream was
    cut. They are sums of what differs from the first row: squares of large numbers
    would lose the variance.
    """

    rows: int
    first: np.ndarray  # shape (features,)
    total: np.ndarray
    squares: np.ndarray
    largest: np.ndarray  # absolute values

    @classmethod
    def empty(cls, X: Any) -> "Extent":
        """Return that of no rows, of as many features as X has."""
        return cls(0, *(np.zeros(X.shape[1]) for _ in range(4)))

    def grown(self, X: Any) -> "Extent":
        """Return that of these rows as well.

        Examples
        --------
        >>> extent = Extent.empty(np.zeros((0, 1)))
        >>> extent.grown(np.array([[1.0], [3.0]])).total.tolist()
        [2.0]
        """
        if scipy.sparse.issparse(X):
            # Sparse rows are scaled by their largest entries only.
            largest = np.maximum(self.largest, abs(X).max(axis=0).toarray().ravel())
            return self._replace(rows=self.rows + X.shape[0], largest=largest)
        X = X.astype(np.float64)
        first = X[0] if self.rows == 0 else self.first
        apart = X - first
        return Extent(
            self.rows + len(X),
            first,
            _added(self.total, apart),
            _added(self.squares, apart**2),
            np.maximum(self.largest, np.abs(X).max(axis=0)),
        )

    def scaler(self, like: Any, recent: Any) -> Any:
        """Return a scaler of the same kind, for all rows seen.

        How far features spread around the mean only recent rows can tell.
        """
        made: Any = clone(like).set_output(transform="default")
        made.n_features_in_ = len(self.first)
        if isinstance(made, SoftScaler):
            dense = recent.toarray() if scipy.sparse.issparse(recent) else recent
            return made.take(dense, self.first + self.total / self.rows, self.rows)
        if not isinstance(made, StandardScaler):
            made.max_abs_ = self.largest.copy()
            made.scale_ = np.where(self.largest > 0.0, self.largest, 1.0)
            made.n_samples_seen_ = self.rows
            return made
        mean = self.total / self.rows
        made.mean_ = self.first + mean
        made.var_ = np.maximum(self.squares / self.rows - mean**2, 0.0)
        # What rounding leaves of a constant is no variance.
        negligible = made.var_ <= 1e-14 * (made.mean_**2 + mean**2)
        made.scale_ = np.where(negligible, 1.0, np.sqrt(made.var_))
        made.n_samples_seen_ = np.int64(self.rows)
        return made


def _added(total: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.add.accumulate(np.vstack([total, rows]))[-1]
