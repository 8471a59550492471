"""Scale of the data: variance and distances, from which defaults are chosen."""

import math
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist, squareform

from onkel.problem.kernels import Kernel, Kind

# Rows whose distances are computed, and from which a stream takes its scale.
SOME_ROWS = 1000
# Rows that say whether kernel values are lost.
FEW_ROWS = 100
# exp(-x) of more is 0.
LARGEST_IN_SINGLE, LARGEST_IN_DOUBLE = 87.0, 708.0


def variance(X: Any) -> float:
    """Variance of all entries, 0 if it is nothing but rounding."""
    if scipy.sparse.issparse(X):
        entries = math.prod(X.shape)
        mean = float(X.sum(dtype=np.float64)) / entries
        deviations = np.square(X.data - mean, dtype=np.float64).sum()
        value = (deviations + (entries - X.nnz) * mean**2) / entries
    else:
        mean = float(X.mean(dtype=np.float64))
        value = float(X.var(dtype=np.float64))
    return float(value) if value > 1e-24 * mean**2 else 0.0


def lost_in_single(X: Any, kernel: Kernel) -> float:
    """Share of some rows that are like no other in single precision, but in double.

    Kernel values of far rows may well be 0; but a row needs one that is not.

    Examples
    --------
    >>> from onkel.problem import kernels
    >>> X = np.array([[0.0], [1.0], [11.0]], np.float32)
    >>> lost_in_single(X, kernels.make("rbf", 1.0, 1, 0.0))
    0.3333333333333333
    """
    if kernel.kind != Kind.RBF or X.shape[0] < 2:
        return 0.0
    distances = squareform(squared_distances(_spread(X, FEW_ROWS)))
    np.fill_diagonal(distances, np.inf)
    nearest, gamma = distances.min(axis=0), float(kernel.gamma)
    in_double = nearest < LARGEST_IN_DOUBLE / gamma
    return float(np.mean((nearest > LARGEST_IN_SINGLE / gamma) & in_double))


def _spread(X: Any, most: int) -> Any:
    """Return at most so many of the rows, evenly spread."""
    if X.shape[0] <= most:
        return X
    return X[np.linspace(0, X.shape[0] - 1, most).astype(int)]


def squared_distances(X: Any) -> np.ndarray:
    """Squared distances of all pairs of at most SOME_ROWS rows, evenly spread.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 9.0, 4.0]
    """
    X = _spread(X, SOME_ROWS)
    if X.shape[0] < 2:
        return np.zeros(0)
    X = X.astype(np.float64)
    if not scipy.sparse.issparse(X):
        return pdist(X, "sqeuclidean")
    from sklearn.metrics import euclidean_distances  # slow to import

    squared = euclidean_distances(X, squared=True)[np.triu_indices(X.shape[0], k=1)]
    # Computed from products: what rounding leaves of equal rows is no distance.
    squared[squared <= 1e-12 * X.multiply(X).sum() / X.shape[0]] = 0.0
    return squared
