"""Dense and sparse rows say the same, for every kernel, also where rows are empty."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import manhattan_distances

from onkel import kernels, rows
from onkel.rows import Dense, Sparse

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
each_kind = pytest.mark.parametrize("kind", [Dense, Sparse])


def made(kind: type) -> Any:
    if kind is Dense:
        return Dense(X)
    csr = scipy.sparse.csr_array(X)
    return Sparse(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))


def centers(kind: type) -> np.ndarray:
    return np.asarray(POINTS, order="C" if kind is Dense else "F")


def similarity(name: str) -> kernels.Kernel:
    return kernels.make(name, gamma=0.7, degree=3, coef0=0.5)


def norms(name: str, A: np.ndarray) -> np.ndarray:
    return np.abs(A).sum(axis=1) if name == "laplacian" else (A**2).sum(axis=1)


def products(name: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return manhattan_distances(A, B) if name == "laplacian" else A @ B.T


@each_kernel
@each_kind
def test_rows_are_measured_as_the_kernel_wants(name: str, kind: type) -> None:
    out = np.full(LAST - FIRST, np.nan)
    rows.measure(similarity(name), made(kind), FIRST, LAST, out)
    np.testing.assert_allclose(out, norms(name, X[FIRST:LAST]))


@each_kernel
@each_kind
def test_rows_are_compared_with_all_centres(name: str, kind: type) -> None:
    out = np.full((LAST - FIRST, CENTERS), np.nan)
    rows.compare(
        *(similarity(name), made(kind), FIRST, LAST),
        *(centers(kind), norms(name, POINTS), 0, out),
    )
    wanted = products(name, X[FIRST:LAST], POINTS[:CENTERS])
    np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kernel
@each_kind
def test_rows_to_come_are_compared_with_one_point(name: str, kind: type) -> None:
    for point in POINTS[:CENTERS]:
        out = np.full(len(X) - FIRST, np.nan)
        norm = norms(name, point[None])[0]
        rows.compare_with(similarity(name), made(kind), FIRST, point, norm, out)
        wanted = products(name, X[FIRST:], point[None])[:, 0]
        np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kernel
@each_kind
def test_centres_are_compared_with_one_point(name: str, kind: type) -> None:
    for point in X:
        out = np.full(CENTERS, np.nan)
        rows.compare_centers(similarity(name), made(kind), centers(kind), point, out)
        wanted = products(name, POINTS[:CENTERS], point[None])[:, 0]
        np.testing.assert_allclose(out, wanted, atol=1e-12)


@each_kind
def test_a_row_is_spread_out_over_all_features(kind: type) -> None:
    for t in range(len(X)):
        out = np.full(FEATURES, np.nan)
        rows.spread_out(made(kind), t, out)
        np.testing.assert_array_equal(out, X[t])


@each_kernel
@each_kind
def test_a_part_has_those_rows_only(name: str, kind: type) -> None:
    part = rows.part(made(kind), FIRST, LAST)
    assert type(part) is kind
    out, point = np.full(FEATURES, np.nan), POINTS[1]
    for t in range(LAST - FIRST):
        rows.spread_out(part, t, out)
        np.testing.assert_array_equal(out, X[FIRST + t])
    later = np.full(LAST - FIRST - 1, np.nan)
    norm = norms(name, point[None])[0]
    rows.compare_with(similarity(name), part, 1, point, norm, later)
    wanted = products(name, X[FIRST + 1 : LAST], point[None])[:, 0]
    np.testing.assert_allclose(later, wanted, atol=1e-12)
