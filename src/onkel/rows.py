"""Rows: the points that a block brings, dense or in CSR form.

Everything that has to look at features is here; the type of the rows selects the code.
Centres are kept so that the products of a block run over contiguous numbers:
centre-major (C-ordered) beside dense rows, feature-major (Fortran-ordered) beside
sparse ones, where each stored feature adds a multiple of that feature's values in all
centres.

A product is <x, c>, for the laplacian kernel |x - c|_1; see `onkel.kernels`.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import choice
from onkel.kernels import Kernel, Kind


class Dense(NamedTuple):
    """Rows as a C-ordered array."""

    X: Any  # shape (rows, features)


class Sparse(NamedTuple):
    """Rows in CSR form, without duplicate entries."""

    data: Any
    indices: Any  # int32
    indptr: Any  # int64


# Norms of the rows first..last, as the kernel keeps them.
measure, measures = choice(position=1)
# Products of the rows first..last with the centres from slot `start` on, as many as
# `out` has columns.
compare, compares = choice(position=1)
# Products of the rows from `first` on with one point.
compare_with, compares_with = choice(position=1)
# Products of the first centres, as many as `out` has entries, with one point.
compare_centers, compares_centers = choice(position=1)
# Squared distance of row t from centre j, whose squared norm is known ...
apart, aparts = choice(position=0)
# ... and how far that may be off, as a share of the norm.
blur, blurs = choice(position=0)
# The features of row t.
spread_out, spreads_out = choice(position=0)
# The rows first..last only.
part, parts = choice(position=0)


@measures(Dense)
def _measure_dense(
    kernel: Kernel, rows: Dense, first: int, last: int, norms: Any
) -> None:
    for t in range(first, last):
        x = rows.X[t]
        total = norms.dtype.type(0)
        if kernel.kind == Kind.LAPLACIAN:
            for v in x:
                total += abs(v)
        else:
            for v in x:
                total += v * v
        norms[t - first] = total


@measures(Sparse)
def _measure_sparse(
    kernel: Kernel, rows: Sparse, first: int, last: int, norms: Any
) -> None:
    for t in range(first, last):
        x = rows.data[rows.indptr[t] : rows.indptr[t + 1]]
        total = norms.dtype.type(0)
        if kernel.kind == Kind.LAPLACIAN:
            for v in x:
                total += abs(v)
        else:
            for v in x:
                total += v * v
        norms[t - first] = total


@compares(Dense)
def _compare_dense(
    kernel: Kernel,
    rows: Dense,
    first: int,
    last: int,
    points: Any,  # shape (at least start + count, features)
    norms: Any,
    start: int,
    out: Any,  # shape (last - first, count)
) -> None:
    points = points[start : start + out.shape[1]]
    if kernel.kind != Kind.LAPLACIAN:
        np.dot(rows.X[first:last], points.T, out)
        return
    for t in range(first, last):
        x = rows.X[t]
        for j in range(out.shape[1]):
            total = out.dtype.type(0)
            for k in range(len(x)):
                total += abs(x[k] - points[j, k])
            out[t - first, j] = total


@compares(Sparse)
def _compare_sparse(
    kernel: Kernel,
    rows: Sparse,
    first: int,
    last: int,
    points: Any,
    norms: Any,
    start: int,
    out: Any,
) -> None:
    features = points.T
    count = out.shape[1]
    norms = norms[start:]
    for t in range(first, last):
        total = out[t - first]
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        if kernel.kind == Kind.LAPLACIAN:
            # |x - c|_1 = |c|_1 + sum over stored features of |x_k - c_k| - |c_k|
            total[:] = norms[:count]
            for e in range(begin, end):
                v, c = rows.data[e], features[rows.indices[e]][start:]
                for j in range(count):
                    total[j] += abs(v - c[j]) - abs(c[j])
            continue
        total[:] = 0
        # Four features at a time: the running totals are loaded and stored once.
        quads = begin + (end - begin) // 4 * 4
        for e in range(begin, quads, 4):
            v0, c0 = rows.data[e], features[rows.indices[e]][start:]
            v1, c1 = rows.data[e + 1], features[rows.indices[e + 1]][start:]
            v2, c2 = rows.data[e + 2], features[rows.indices[e + 2]][start:]
            v3, c3 = rows.data[e + 3], features[rows.indices[e + 3]][start:]
            for j in range(count):
                total[j] += v0 * c0[j] + v1 * c1[j] + v2 * c2[j] + v3 * c3[j]
        for e in range(quads, end):
            v, c = rows.data[e], features[rows.indices[e]][start:]
            for j in range(count):
                total[j] += v * c[j]


@compares_with(Dense)
def _compare_dense_with(
    kernel: Kernel, rows: Dense, first: int, point: Any, norm: Any, out: Any
) -> None:
    if kernel.kind != Kind.LAPLACIAN:
        np.dot(rows.X[first:], point, out)
        return
    for t in range(first, first + len(out)):
        total = out.dtype.type(0)
        for k in range(len(point)):
            total += abs(rows.X[t, k] - point[k])
        out[t - first] = total


@compares_with(Sparse)
def _compare_sparse_with(
    kernel: Kernel, rows: Sparse, first: int, point: Any, norm: Any, out: Any
) -> None:
    for t in range(first, first + len(out)):
        start, stop = rows.indptr[t], rows.indptr[t + 1]
        total = out.dtype.type(0)
        if kernel.kind == Kind.LAPLACIAN:
            total += norm
            for e in range(start, stop):
                c = point[rows.indices[e]]
                total += abs(rows.data[e] - c) - abs(c)
        else:
            for e in range(start, stop):
                total += rows.data[e] * point[rows.indices[e]]
        out[t - first] = total


@compares_centers(Dense)
def _compare_centers_by_rows(
    kernel: Kernel, rows: Dense, points: Any, point: Any, out: Any
) -> None:
    count = len(out)
    if kernel.kind != Kind.LAPLACIAN:
        np.dot(points[:count], point, out)
        return
    for j in range(count):
        total = out.dtype.type(0)
        for k in range(len(point)):
            total += abs(points[j, k] - point[k])
        out[j] = total


@compares_centers(Sparse)
def _compare_centers_by_features(
    kernel: Kernel, rows: Sparse, points: Any, point: Any, out: Any
) -> None:
    features = points.T
    out[:] = 0
    for k in range(len(point)):
        v, c = point[k], features[k]
        if kernel.kind == Kind.LAPLACIAN:
            for j in range(len(out)):
                out[j] += abs(c[j] - v)
        elif v != 0:
            for j in range(len(out)):
                out[j] += v * c[j]


@aparts(Dense)
def _apart_dense(rows: Dense, t: int, points: Any, j: int, norm: Any) -> float:
    total = 0.0
    for k in range(rows.X.shape[1]):
        difference = np.float64(rows.X[t, k]) - np.float64(points[j, k])
        total += difference * difference
    return total


@aparts(Sparse)
def _apart_sparse(rows: Sparse, t: int, points: Any, j: int, norm: Any) -> float:
    # |x - c|^2 = |c|^2 + sum over stored features of (x_k - c_k)^2 - c_k^2
    total = np.float64(norm)
    for e in range(rows.indptr[t], rows.indptr[t + 1]):
        c = np.float64(points[j, rows.indices[e]])
        difference = np.float64(rows.data[e]) - c
        total += difference * difference - c * c
    return total


@blurs(Dense)
def _no_blur(rows: Dense) -> float:
    return 0.0


@blurs(Sparse)
def _blur(rows: Sparse) -> float:
    # Norms are sums of squares of as many features, in the precision of the rows.
    return 1e-11 if rows.data.itemsize == 8 else 1e-4


@spreads_out(Dense)
def _spread_out_dense(rows: Dense, t: int, out: Any) -> None:
    x = rows.X[t]
    for k in range(len(x)):
        out[k] = x[k]


@spreads_out(Sparse)
def _spread_out_sparse(rows: Sparse, t: int, out: Any) -> None:
    out[:] = 0
    for e in range(rows.indptr[t], rows.indptr[t + 1]):
        out[rows.indices[e]] = rows.data[e]


@parts(Dense)
def _part_dense(rows: Dense, first: int, last: int) -> Dense:
    return Dense(rows.X[first:last])


@parts(Sparse)
def _part_sparse(rows: Sparse, first: int, last: int) -> Sparse:
    return Sparse(rows.data, rows.indices, rows.indptr[first : last + 1])
