"""Dense and sparse rows say the same, for every kernel, also where rows are empty."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import manhattan_distances

from onkel.model import rows
from onkel.model.rows import Points, Rows
from onkel.problem import kernels

FEATURES, CENTERS, ROOM = 11, 4, 6
FIRST, LAST = 2, 8
rng = np.random.default_rng(0)
X = rng.normal(size=(10, FEATURES)) * (rng.random((10, FEATURES)) < 0.6)
X[[0, 5, 9]] = 0.0
X[3] = rng.normal(size=FEATURES)
POINTS = np.zeros((ROOM, FEATURES))
POINTS[1:CENTERS] = rng.normal(size=(CENTERS - 1, FEATURES))
POINTS[CENTERS:] = np.nan  # nobody may read what is not in use
POINTS[2, ::2] = 0.0

each_kernel = pytest.mark.parametrize("name", kernels.KERNELS)
each_kind = pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])


def made(kind: Callable) -> Rows:
    return rows.rows_of(kind(X), np.float64)


def centers(kind: Callable) -> Points:
    return rows.beside(made(kind), POINTS.copy())


def similarity(name: str) -> kernels.Kernel:
    return kernels.make(name, gamma=0.7, degree=3, coef0=0.5)


def norms(name: str, A: np.ndarray) -> np.ndarray:
    return np.abs(A).sum(axis=1) if name == "laplacian" else (A**2).sum(axis=1)


def products(name: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return manhattan_distances(A, B) if name == "laplacian" else A @ B.T


@each_kernel
@each_kind
def test_rows_are_measured_as_the_kernel_wants(name: str, kind: Callable) -> None:
    out = np.full(LAST - FIRST, np.nan)
    rows.measure(similarity(name), rows.part(made(kind), FIRST, LAST), out)
    np.testing.assert_allclose(out, norms(name, X[FIRST:LAST]))


@each_kernel
@each_kind
def test_rows_are_compared_with_all_centres(name: str, kind: Callable) -> None:
    out = np.full((LAST - FIRST, CENTERS), np.nan)
    rows.compare(
        *(similarity(name), rows.part(made(kind), FIRST, LAST)),
        *(centers(kind), norms(name, POINTS), 0, out),
    )
    wanted = products(name, X[FIRST:LAST], POINTS[:CENTERS])
    np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kernel
@each_kind
def test_rows_to_come_are_compared_with_one_point(name: str, kind: Callable) -> None:
    for point in POINTS[:CENTERS]:
        out = np.full(len(X) - FIRST, np.nan)
        norm = norms(name, point[None])[0]
        rows.compare_with(similarity(name), made(kind), FIRST, point, norm, out)
        wanted = products(name, X[FIRST:], point[None])[:, 0]
        np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kernel
@each_kind
def test_centres_are_compared_with_one_point(name: str, kind: Callable) -> None:
    for point in X:
        out = np.full(CENTERS, np.nan)
        rows.compare_centers(similarity(name), centers(kind), point, out)
        wanted = products(name, POINTS[:CENTERS], point[None])[:, 0]
        np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kind
def test_a_row_is_spread_out_over_all_features(kind: Callable) -> None:
    for t in range(len(X)):
        out = np.full(FEATURES, np.nan)
        rows.copy_row(made(kind), t, out)
        np.testing.assert_array_equal(out, X[t])


@each_kind
def test_centres_are_taken_and_put_feature_by_feature(kind: Callable) -> None:
    points, out = centers(kind), np.full(FEATURES, np.nan)
    rows.copy_point(points, 1, out)
    np.testing.assert_array_equal(out, POINTS[1])
    rows.set_point(points, 3, X[3])
    assert [rows.coordinate(points, 3, k) for k in range(FEATURES)] == list(X[3])
    rows.copy_point(points, 2, out)
    np.testing.assert_array_equal(out, POINTS[2])


@each_kernel
@each_kind
def test_a_centre_and_a_point_in_double_precision(name: str, kind: Callable) -> None:
    for j, x in itertools.product(range(CENTERS), X):
        k = rows.between_center(similarity(name), centers(kind), j, x)
        assert k == pytest.approx(kernels.between(similarity(name), POINTS[j], x))


def test_centres_of_the_right_order_are_not_copied() -> None:
    for kind in (np.array, scipy.sparse.csr_array):
        points = np.asarray(POINTS, order=rows.order_for(kind(X)))
        assert np.shares_memory(rows.beside(made(kind), points).grid, points)


@each_kernel
@each_kind
def test_a_part_has_those_rows_only(name: str, kind: Callable) -> None:
    part = rows.part(made(kind), FIRST, LAST)
    assert part.is_sparse == made(kind).is_sparse
    out, point = np.full(FEATURES, np.nan), POINTS[1]
    for t in range(LAST - FIRST):
        rows.copy_row(part, t, out)
        np.testing.assert_array_equal(out, X[FIRST + t])
    later = np.full(LAST - FIRST - 1, np.nan)
    norm = norms(name, point[None])[0]
    rows.compare_with(similarity(name), part, 1, point, norm, later)
    wanted = products(name, X[FIRST + 1 : LAST], point[None])[:, 0]
    np.testing.assert_allclose(later, wanted, atol=1e-12)
