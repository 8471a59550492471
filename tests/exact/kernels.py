"""Kernel functions, from the features, one explicit difference or product at a time.

rbf        k(x, z) = exp(-gamma ||x - z||^2)
laplacian  k(x, z) = exp(-gamma ||x - z||_1)
poly       k(x, z) = (gamma <x, z> + coef0)^degree
linear     k(x, z) = <x, z>
"""

import numpy as np


def gram(
    X: np.ndarray,  # shape (n, d)
    Z: np.ndarray,  # shape (m, d)
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """Return k(X_i, Z_j), shape (n, m)."""
    X = np.asarray(X, dtype=np.float64)[:, None, :]
    Z = np.asarray(Z, dtype=np.float64)[None, :, :]
    # No matrix product: differences do not cancel, and k(x, z) equals k(z, x) to the
    # last bit, so ties that hold on paper hold here.
    if kernel == "rbf":
        return np.exp(-gamma * np.sum((X - Z) ** 2, axis=2))
    if kernel == "laplacian":
        return np.exp(-gamma * np.sum(np.abs(X - Z), axis=2))
    inner = np.sum(X * Z, axis=2)
    if kernel == "linear":
        return inner
    if kernel == "poly":
        return (gamma * inner + coef0) ** degree
    raise ValueError(f"unknown kernel {kernel!r}")
