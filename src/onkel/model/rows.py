"""Rows: the points that a block brings, dense or in CSR form; and the centres.

Everything that has to look at features is here. Which form the rows have is asked when
the code runs, not when it is compiled: only one of the walks through a block is needed
for both, and asking costs nothing beside the work. Centres lie so that the products of
a block run over contiguous numbers: centre by centre beside dense rows, feature by
feature beside sparse ones, where each stored feature adds a multiple of that feature's
values in all centres.

A product is <x, c>, for the laplacian kernel |x - c|_1; see `onkel.problem.kernels`.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse

from onkel.compiled.functions import borrowed, inlined, inner, shared
from onkel.problem.kernels import Kernel, Kind, between, finish, transform


class Rows(NamedTuple):
    """Rows as a C-ordered array or in CSR form; the arrays of the other are empty."""

    X: Any  # shape (rows, features)
    data: Any
    indices: Any  # int32, without duplicates
    indptr: Any  # int64
    is_sparse: bool


class Points(NamedTuple):
    """Centres as they lie beside rows of one form."""

    grid: Any  # shape (capacity, features), beside sparse rows (features, capacity)
    turned: bool


def rows_of(X: Any, dtype: Any) -> Rows:
    """Rows as compiled code takes them.

    Examples
    --------
    >>> rows_of(np.eye(2), np.float32).X.dtype
    dtype('float32')
    """
    if scipy.sparse.issparse(X):
        return Rows(
            np.zeros((0, 0), dtype),
            np.require(X.data, dtype, ["C", "W"]),
            np.require(X.indices, np.int32, ["C", "W"]),
            np.require(X.indptr, np.int64, ["C", "W"]),
            True,
        )
    none = np.zeros(0, np.int64)
    X = np.require(X, dtype, ["C", "W"])
    return Rows(X, np.zeros(0, dtype), none.astype(np.int32), none, False)


def order_for(X: Any) -> Literal["C", "F"]:
    """Memory order of the centres beside these rows."""
    return "F" if scipy.sparse.issparse(X) else "C"


def beside(rows: Rows, points: np.ndarray) -> Points:
    """Centres as compiled code takes them beside these rows.

    Without a copy if they have the order that `order_for` says.
    """
    if rows.is_sparse:
        return Points(np.asarray(points, order="F").T, True)
    return Points(np.ascontiguousarray(points), False)


class Centers(NamedTuple):
    """Points that rows are compared with."""

    points: Points
    norms: Any  # shape (slots or more,): theirs, as the kernel keeps them
    size: int  # slots in use


@inner
def copy(values: Any, out: Any) -> None:
    """Copy numbers; `out[:] = values` would have to be able to complain."""
    for i in range(len(values)):
        out[i] = values[i]


@inlined
def coordinate(points: Points, j: int, k: int) -> Any:
    """Feature k of centre j."""
    return points.grid[k, j] if points.turned else points.grid[j, k]


@shared
def copy_point(points: Points, j: int, out: Any) -> None:
    """Copy the features of centre j."""
    if points.turned:
        for k in range(len(out)):
            out[k] = points.grid[k, j]
    else:
        for k in range(len(out)):
            out[k] = points.grid[j, k]


@shared
def set_point(points: Points, j: int, point: Any) -> None:
    """Let a point be centre j."""
    if points.turned:
        for k in range(len(point)):
            points.grid[k, j] = point[k]
    else:
        for k in range(len(point)):
            points.grid[j, k] = point[k]


@inner
def _squared_gap(x: Any, z: Any) -> float:
    total = 0.0
    for k in range(len(x)):
        difference = np.float64(x[k]) - np.float64(z[k])
        total += difference * difference
    return total


@inner
def squared_gap(points: Points, i: int, j: int) -> float:
    """|c_i - c_j|^2 in double precision, without cancellation."""
    if points.turned:
        return _squared_gap(points.grid[:, i], points.grid[:, j])
    return _squared_gap(points.grid[i], points.grid[j])


@inner
def squared_gap_to(points: Points, j: int, point: Any) -> float:
    """|c_j - point|^2 in double precision, without cancellation."""
    if points.turned:
        return _squared_gap(points.grid[:, j], point)
    return _squared_gap(points.grid[j], point)


@inner
def between_center(kernel: Kernel, points: Points, j: int, point: Any) -> float:
    """k(c_j, point) in double precision and without cancellation."""
    if points.turned:
        return between(kernel, points.grid[:, j], point)
    return between(kernel, points.grid[j], point)


@inner
def between_centers(kernel: Kernel, points: Points, point: Any, out: Any) -> None:
    """k(c_j, point) of the first centres, likewise."""
    for j in range(len(out)):
        out[j] = between_center(kernel, points, j, point)


# Centres at a time that several points are compared with: they stay in a cache.
TILE = 256


@shared
def between_points(
    kernel: Kernel,
    turned: Any,  # shape (features, size or more), float64: centres
    size: int,
    X: Any,  # shape (points, features), float64
    out: Any,  # shape (points, size or more), float64
) -> None:
    """k(c_j, x) of the first centres with several points, likewise.

    Loops run over centres, however few features there are.
    """
    turned, X, out = borrowed(turned), borrowed(X), borrowed(out)
    features = len(turned)
    fours = features - features % 4
    for begin in range(0, size, TILE):
        end = min(begin + TILE, size)
        for r in range(len(X)):
            known, x = out[r][begin:end], X[r]
            known[:] = 0.0
            for k in range(0, fours, 4):
                first, second = turned[k][begin:end], turned[k + 1][begin:end]
                third, fourth = turned[k + 2][begin:end], turned[k + 3][begin:end]
                four = Four(first, second, third, fourth)
                _add_features(kernel.kind, four, x[k:], known)
            for k in range(fours, features):
                _add_feature(kernel.kind, turned[k][begin:end], x[k], known)
    for r in range(len(X)):
        finish(kernel, out[r, :size])


class Four(NamedTuple):
    """Four features of all centres."""

    first: Any
    second: Any
    third: Any
    fourth: Any


@inner
def _add_features(kind: int, features: Four, x: Any, out: Any) -> None:
    """As `_add_feature`, four at a time: totals are loaded and stored once."""
    first, second, third, fourth = features
    a, b, c, d = x[0], x[1], x[2], x[3]
    if kind == Kind.RBF:
        for j in range(len(out)):
            p, q, r, s = first[j] - a, second[j] - b, third[j] - c, fourth[j] - d
            out[j] += p * p + q * q + (r * r + s * s)
    elif kind == Kind.LAPLACIAN:
        for j in range(len(out)):
            p, q, r, s = first[j] - a, second[j] - b, third[j] - c, fourth[j] - d
            out[j] += abs(p) + abs(q) + (abs(r) + abs(s))
    else:
        for j in range(len(out)):
            out[j] += first[j] * a + second[j] * b + (third[j] * c + fourth[j] * d)


@inner
def _add_feature(kind: int, feature: Any, value: float, out: Any) -> None:
    """Add what one feature of a point and of each centre adds to their product."""
    if kind == Kind.RBF:
        for j in range(len(out)):
            out[j] += (feature[j] - value) * (feature[j] - value)
    elif kind == Kind.LAPLACIAN:
        for j in range(len(out)):
            out[j] += abs(feature[j] - value)
    else:
        for j in range(len(out)):
            out[j] += feature[j] * value


@inner
def part(rows: Rows, first: int, last: int) -> Rows:
    """Return the rows first..last only."""
    return Rows(
        rows.X[first:last],
        rows.data,
        rows.indices,
        rows.indptr[first : last + 1],
        rows.is_sparse,
    )


@shared
def copy_row(rows: Rows, t: int, out: Any) -> None:
    """Copy the features of row t."""
    if rows.is_sparse:
        out[:] = 0
        for e in range(rows.indptr[t], rows.indptr[t + 1]):
            out[rows.indices[e]] = rows.data[e]
    else:
        x = rows.X[t]
        for k in range(len(out)):
            out[k] = x[k]


@inner
def measure(kernel: Kernel, rows: Rows, norms: Any) -> None:
    """Norms of the first rows, as the kernel keeps them, as many as are asked for."""
    for t in range(len(norms)):
        if rows.is_sparse:
            x = rows.data[rows.indptr[t] : rows.indptr[t + 1]]
        else:
            x = rows.X[t]
        total = norms.dtype.type(0)
        if kernel.kind == Kind.LAPLACIAN:
            for v in x:
                total += abs(v)
        else:
            for v in x:
                total += v * v
        norms[t] = total


@inner
def compare(
    kernel: Kernel,
    rows: Rows,
    points: Points,
    norms: Any,
    start: int,
    out: Any,  # shape (rows, centres)
) -> None:
    """Products of the first rows with the centres from slot `start` on."""
    if rows.is_sparse:
        _compare_sparse(kernel, rows, points.grid, norms, start, out)
    else:
        _compare_dense(kernel, rows, points.grid, start, out)


@inner
def _compare_dense(
    kernel: Kernel,
    rows: Rows,
    points: Any,  # shape (at least start + count, features)
    start: int,
    out: Any,  # shape (rows, count)
) -> None:
    points = points[start : start + out.shape[1]]
    if kernel.kind != Kind.LAPLACIAN:
        np.dot(rows.X[: len(out)], points.T, out)
        return
    for t in range(len(out)):
        x = rows.X[t]
        for j in range(out.shape[1]):
            total = out.dtype.type(0)
            for k in range(len(x)):
                total += abs(x[k] - points[j, k])
            out[t, j] = total


@inner
def _compare_sparse(
    kernel: Kernel,
    rows: Rows,
    features: Any,  # shape (features, at least start + count)
    norms: Any,
    start: int,
    out: Any,
) -> None:
    count = out.shape[1]
    norms = norms[start:]
    for t in range(len(out)):
        total = out[t]
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        if kernel.kind == Kind.LAPLACIAN:
            # |x - c|_1 = |c|_1 + sum over stored features of |x_k - c_k| - |c_k|
            copy(norms[:count], total)
            for e in range(begin, end):
                v, c = rows.data[e], features[rows.indices[e], start:]
                for j in range(count):
                    total[j] += abs(v - c[j]) - abs(c[j])
            continue
        total[:] = 0
        # Four features at a time: the running totals are loaded and stored once.
        quads = begin + (end - begin) // 4 * 4
        for e in range(begin, quads, 4):
            v0, c0 = rows.data[e], features[rows.indices[e], start:]
            v1, c1 = rows.data[e + 1], features[rows.indices[e + 1], start:]
            v2, c2 = rows.data[e + 2], features[rows.indices[e + 2], start:]
            v3, c3 = rows.data[e + 3], features[rows.indices[e + 3], start:]
            for j in range(count):
                total[j] += v0 * c0[j] + v1 * c1[j] + v2 * c2[j] + v3 * c3[j]
        for e in range(quads, end):
            v, c = rows.data[e], features[rows.indices[e], start:]
            for j in range(count):
                total[j] += v * c[j]


@inner
def compare_with(
    kernel: Kernel, rows: Rows, first: int, point: Any, norm: Any, out: Any
) -> None:
    """Products of the rows from `first` on with one point."""
    if rows.is_sparse:
        _compare_sparse_with(kernel, rows, first, point, norm, out)
    elif kernel.kind != Kind.LAPLACIAN:
        np.dot(rows.X[first:], point, out)
    else:
        for t in range(first, first + len(out)):
            total = out.dtype.type(0)
            for k in range(len(point)):
                total += abs(rows.X[t, k] - point[k])
            out[t - first] = total


@shared
def values_with(
    kernel: Kernel, rows: Rows, first: int, point: Any, norm: Any, norms: Any, out: Any
) -> None:
    """Kernel values of the rows from `first` on, with those norms, with one point."""
    compare_with(kernel, rows, first, point, norm, out)
    transform(kernel, out, norm, norms)


@inner
def _compare_sparse_with(
    kernel: Kernel, rows: Rows, first: int, point: Any, norm: Any, out: Any
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


@inner
def compare_centers(kernel: Kernel, points: Points, point: Any, out: Any) -> None:
    """Products of the first centres, as many as `out` has entries, with one point."""
    if points.turned:
        _compare_by_features(kernel, points.grid, point, out)
    elif kernel.kind != Kind.LAPLACIAN:
        np.dot(points.grid[: len(out)], point, out)
    else:
        for j in range(len(out)):
            total = out.dtype.type(0)
            for k in range(len(point)):
                total += abs(points.grid[j, k] - point[k])
            out[j] = total


@shared
def values_of_centers(
    kernel: Kernel, points: Points, point: Any, norm: Any, norms: Any, out: Any
) -> None:
    """Kernel values of the first centres with one point."""
    compare_centers(kernel, points, point, out)
    transform(kernel, out, norm, norms)


@inner
def _compare_by_features(kernel: Kernel, features: Any, point: Any, out: Any) -> None:
    out[:] = 0
    for k in range(len(point)):
        v, c = point[k], features[k]
        if kernel.kind == Kind.LAPLACIAN:
            for j in range(len(out)):
                out[j] += abs(c[j] - v)
        elif v != 0:
            for j in range(len(out)):
                out[j] += v * c[j]


@inner
def squared_distance_of_row(
    rows: Rows, t: int, points: Points, j: int, norm: Any
) -> float:
    """Squared distance of row t from centre j, whose squared norm is known."""
    if not rows.is_sparse:
        return _squared_gap(rows.X[t], points.grid[j])
    # |x - c|^2 = |c|^2 + sum over stored features of (x_k - c_k)^2 - c_k^2
    total = np.float64(norm)
    for e in range(rows.indptr[t], rows.indptr[t + 1]):
        c = np.float64(points.grid[rows.indices[e], j])
        difference = np.float64(rows.data[e]) - c
        total += difference * difference - c * c
    return total


@inner
def rounding_error(rows: Rows) -> float:
    """How far `squared_distance_of_row` may be off, as a share of the norm."""
    if not rows.is_sparse:
        return 0.0
    # Norms are sums of squares of as many features, in the precision of the rows.
    return 1e-11 if rows.data.itemsize == 8 else 1e-4
