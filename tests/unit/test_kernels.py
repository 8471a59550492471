"""Kernels against scikit-learn's, and the exponential over its whole range."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    manhattan_distances,
    polynomial_kernel,
    rbf_kernel,
)

from onkel.compiled.exponential import exp_nonpositive
from onkel.compiled.functions import jit
from onkel.problem import kernels

GAMMA, DEGREE, COEF0 = 0.7, 3, 0.5
REFERENCES = {
    "rbf": lambda X, Z: rbf_kernel(X, Z, GAMMA),
    "laplacian": lambda X, Z: laplacian_kernel(X, Z, GAMMA),
    "poly": lambda X, Z: polynomial_kernel(X, Z, DEGREE, GAMMA, COEF0),
    "linear": linear_kernel,
}
each = pytest.mark.parametrize("name", REFERENCES)
in_both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def made(name: str) -> kernels.Kernel:
    return kernels.make(name, gamma=GAMMA, degree=DEGREE, coef0=COEF0)


def norms(name: str, X: np.ndarray) -> np.ndarray:
    return np.abs(X).sum(axis=1) if name == "laplacian" else (X**2).sum(axis=1)


def products(name: str, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return manhattan_distances(X, Z) if name == "laplacian" else X @ Z.T


def values(name: str, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Kernel values as phase 1 makes them: products first, then row by row."""
    K = np.ascontiguousarray(products(name, X, Z), dtype=X.dtype)
    for row, norm in zip(K, norms(name, X), strict=True):
        kernels.transform(made(name), row, norm, norms(name, Z))
    return K


def points(dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    Z[:5] = X[:5]
    X[0] = 0.0
    return X.astype(dtype), Z.astype(dtype)


@each
@in_both_precisions
def test_values_equal_scikit_learns(name: str, dtype: Any) -> None:
    X, Z = points(dtype)
    K = values(name, X, Z)
    assert K.dtype == dtype
    wanted = REFERENCES[name](X.astype(np.float64), Z.astype(np.float64))
    tolerance = 1e-12 if dtype == np.float64 else 3e-6
    np.testing.assert_allclose(K, wanted, rtol=tolerance, atol=tolerance)


@each
def test_the_diagonal_is_the_kernel_of_a_point_with_itself(name: str) -> None:
    X, _ = points()
    diagonal = [kernels.diagonal(made(name), norm) for norm in norms(name, X)]
    np.testing.assert_allclose(diagonal, np.diag(REFERENCES[name](X, X)), rtol=1e-12)


def test_a_degree_of_one_is_affine() -> None:
    kernel = kernels.make("poly", gamma=0.5, degree=1, coef0=2.0)
    row = np.array([3.0, -1.0])
    kernels.transform(kernel, row, 1.0, np.ones(2))
    np.testing.assert_array_equal(row, [3.5, 1.5])


@in_both_precisions
def test_near_duplicates_are_not_more_than_alike(dtype: Any) -> None:
    # Rounding makes some of these squared distances negative.
    X = (np.random.default_rng(1).normal(size=(40, 3)) + 50.0).astype(dtype)
    K = values("rbf", X, X)
    assert (K <= 1.0).all()
    assert (K >= 0.0).all()


@jit
def _exponentials(v: Any, out: Any) -> None:
    for i in range(len(v)):
        out[i] = exp_nonpositive(v[i])


def exponentials(v: np.ndarray) -> np.ndarray:
    out = np.empty_like(v)
    _exponentials(v, out)
    return out


RANGES = {np.float32: (-87.0, 3e-7), np.float64: (-708.0, 2e-15)}
every_range = pytest.mark.parametrize("dtype", RANGES)


@every_range
def test_the_exponential_is_accurate_over_the_whole_range(dtype: Any) -> None:
    lowest, tolerance = RANGES[dtype]
    rng = np.random.default_rng(0)
    v = np.concatenate(
        [
            np.linspace(lowest, 0.0, 500_001),
            rng.uniform(lowest, 0.0, size=200_000),
            # Around the ends of the range reduction, and next to zero.
            -(np.arange(1, 120) + 0.5) * np.log(2),
            -np.logspace(-320, 1, 2000),
            [0.0, -0.0],
        ]
    ).astype(dtype)
    v = v[v >= lowest]
    # The arguments are numbers of the given precision; their exponentials are exact.
    wanted = np.exp(v.astype(np.longdouble))
    error = np.abs(exponentials(v) - wanted) / wanted
    assert float(error.max()) <= tolerance


@every_range
def test_the_exponential_of_zero_is_one_and_nothing_is_larger(dtype: Any) -> None:
    assert exponentials(np.zeros(3, dtype)).tolist() == [1.0] * 3
    v = -np.logspace(-44, 0, 10_000).astype(dtype)
    assert (exponentials(v) <= 1.0).all()


@every_range
def test_below_the_range_the_exponential_is_zero(dtype: Any) -> None:
    lowest, _ = RANGES[dtype]
    v = np.array([lowest - 1, 2 * lowest, -1e30, np.finfo(dtype).min, -np.inf], dtype)
    assert (exponentials(v) == 0.0).all()
    assert np.isnan(exponentials(np.full(3, np.nan, dtype))).all()


@every_range
def test_the_exponential_ends_with_the_normal_numbers(dtype: Any) -> None:
    # Among the denormal ones it is right, or 0.
    smallest = np.log(np.finfo(dtype).smallest_normal)
    v = np.linspace(smallest - 20, smallest + 1, 10_001).astype(dtype)
    out, wanted = exponentials(v), np.exp(v.astype(np.longdouble))
    right = np.abs(out - wanted) <= 1e-6 * wanted
    assert right[v > smallest + 1e-4].all()
    assert (right | (out == 0.0))[out < np.finfo(dtype).smallest_normal].mean() > 0.99
    assert (out[v < smallest - 0.4] == 0.0).all()
