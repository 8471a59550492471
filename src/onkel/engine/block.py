"""Phase 1: all kernel values that a block can need.

Dense rows: one matrix product. Sparse rows: for each stored feature, a multiple of
that feature's values in all centres is added, so centres are kept feature-major (the
array is Fortran-ordered) and the loop runs over contiguous numbers.

The type of the rows selects the code; what it does with the products does not depend
on it.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import choice, inner, jit
from onkel.expansion import LookAhead
from onkel.kernels import Kernel, Kind, diagonal, transform


class Dense(NamedTuple):
    """Rows as a C-ordered array."""

    X: Any  # shape (rows, features)


class Sparse(NamedTuple):
    """Rows in CSR form, without duplicate entries."""

    data: Any
    indices: Any  # int32
    indptr: Any  # int64


class Workspace(NamedTuple):
    """Memory of a block, allocated once. The array shapes are upper bounds."""

    panel: Any  # shape (rows, features), Fortran-ordered: sparse rows spread out
    kernel: Any  # shape (rows * slots,)
    block: Any  # shape (rows * rows,)
    norms: Any  # shape (rows,)
    known: Any  # shape (rows,), bool
    diag: Any  # shape (rows,)
    source: Any  # shape (capacity,)
    raw: Any  # shape (outputs,), float64
    f: Any  # shape (outputs,), float64
    scratch: Any  # shape (at least capacity and outputs,)


class Centers(NamedTuple):
    """Features of the centres: C-ordered for dense rows, Fortran-ordered for sparse."""

    points: Any  # shape (capacity, features)
    norms: Any  # shape (capacity,)


# Norms of the rows first..last.
measure, measures = choice(position=1)
# Products of the rows first..last with the points from an offset on.
compare, compares = choice(position=1)
# The rows first..last as points, in the order in which the centres are kept.
lay_out, lays_out = choice(position=0)
# Undo what lay_out did to the panel.
clear, clears = choice(position=0)


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
    points: Any,  # shape (at least offset + count, features)
    offset: int,
    norms: Any,
    out: Any,  # shape (last - first, count)
) -> None:
    points = points[offset : offset + out.shape[1]]
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
    offset: int,
    norms: Any,
    out: Any,
) -> None:
    features = points.T
    end = offset + out.shape[1]
    for t in range(first, last):
        total = out[t - first]
        start, stop = rows.indptr[t], rows.indptr[t + 1]
        if kernel.kind == Kind.LAPLACIAN:
            # |x - c|_1 = |c|_1 + sum over stored features of |x_k - c_k| - |c_k|
            total[:] = norms[offset:end]
            for e in range(start, stop):
                v, c = rows.data[e], features[rows.indices[e], offset:end]
                for j in range(len(total)):
                    total[j] += abs(v - c[j]) - abs(c[j])
            continue
        total[:] = 0
        # Four features at a time: the running totals are loaded and stored once.
        quads = start + (stop - start) // 4 * 4
        for e in range(start, quads, 4):
            v0, c0 = rows.data[e], features[rows.indices[e], offset:end]
            v1, c1 = rows.data[e + 1], features[rows.indices[e + 1], offset:end]
            v2, c2 = rows.data[e + 2], features[rows.indices[e + 2], offset:end]
            v3, c3 = rows.data[e + 3], features[rows.indices[e + 3], offset:end]
            for j in range(len(total)):
                total[j] += v0 * c0[j] + v1 * c1[j] + v2 * c2[j] + v3 * c3[j]
        for e in range(quads, stop):
            v, c = rows.data[e], features[rows.indices[e], offset:end]
            for j in range(len(total)):
                total[j] += v * c[j]


@lays_out(Dense)
def _lay_out_dense(rows: Dense, first: int, last: int, panel: Any) -> Any:
    return rows.X[first:last]


@lays_out(Sparse)
def _lay_out_sparse(rows: Sparse, first: int, last: int, panel: Any) -> Any:
    for t in range(first, last):
        for e in range(rows.indptr[t], rows.indptr[t + 1]):
            panel[t - first, rows.indices[e]] = rows.data[e]
    return panel


@clears(Dense)
def _clear_dense(rows: Dense, first: int, last: int, panel: Any) -> None:
    pass


@clears(Sparse)
def _clear_sparse(rows: Sparse, first: int, last: int, panel: Any) -> None:
    for t in range(first, last):
        for e in range(rows.indptr[t], rows.indptr[t + 1]):
            panel[t - first, rows.indices[e]] = 0


@inner
def look_ahead(count: int, slots: int, work: Workspace) -> LookAhead:
    """View the workspace as the look-ahead of a block of `count` rows."""
    return LookAhead(
        work.kernel[: count * slots].reshape(count, slots),
        work.block[: count * count].reshape(count, count),
        work.known,
        work.diag,
        work.source,
        work.raw,
        work.scratch,
    )


@inner
def fill(
    kernel: Kernel,
    rows: Any,
    first: int,
    part: Any,  # (start, stop): the rows of the block to fill
    centers: Centers,
    size: int,
    slots: int,
    work: Workspace,
) -> None:
    """Compute the kernel values of a part of the block with the centres."""
    start, stop = part
    top, bottom = first + start, first + stop
    norms = work.norms[start:stop]
    measure(kernel, rows, top, bottom, norms)
    values = work.kernel[start * slots : stop * slots].reshape(stop - start, slots)
    compare(kernel, rows, top, bottom, centers.points, 0, centers.norms, values)
    for t in range(stop - start):
        transform(kernel, values[t, :size], norms[t], centers.norms)
        work.diag[start + t] = diagonal(kernel, norms[t])


@inner
def reveal(
    kernel: Kernel,
    rows: Any,
    first: int,
    t: int,
    points: Any,  # the block itself, as `lay_out` gives it
    ahead: LookAhead,
    work: Workspace,
) -> None:
    """Compute the kernel values of row t with the rows of the block after it.

    Few rows become centres, so this is done for those that do, not for all.
    """
    ahead.known[t] = True
    count = len(ahead.block) - t - 1
    if count == 0:
        return
    later = ahead.block[t, t + 1 :].reshape(1, count)
    row, norms = first + t, work.norms
    compare(kernel, rows, row, row + 1, points, t + 1, norms, later)
    transform(kernel, later[0], norms[t], norms[t + 1 :])


@inner
def settle(
    rows: Any,
    first: int,
    last: int,
    points: Any,
    size: int,
    centers: Centers,
    work: Workspace,
) -> None:
    """Move the features to where `source` says, now that the block is done."""
    source = work.source
    features = centers.points.shape[1]
    # Centres only ever move down, so going up nothing is overwritten before it moves.
    for j in range(size):
        if 0 <= source[j] != j:
            for k in range(features):
                centers.points[j, k] = centers.points[source[j], k]
            centers.norms[j] = centers.norms[source[j]]
    for j in range(size):
        if source[j] < 0:
            for k in range(features):
                centers.points[j, k] = points[~source[j], k]
            centers.norms[j] = work.norms[~source[j]]
    clear(rows, first, last, work.panel)


@jit
def score(
    kernel: Kernel,
    rows: Any,
    part: Any,  # (start, stop)
    centers: Centers,
    coef: Any,  # shape (outputs, size)
    tile: int,  # rows at a time
    out: Any,  # shape (rows, outputs)
) -> None:
    """Scores of the rows start..stop."""
    start, stop = part
    outputs, size = coef.shape
    values = np.empty(tile * size, coef.dtype)
    norms = np.empty(tile, coef.dtype)
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        known = values[: (last - first) * size].reshape(last - first, size)
        measure(kernel, rows, first, last, norms)
        compare(kernel, rows, first, last, centers.points, 0, centers.norms, known)
        for t in range(last - first):
            transform(kernel, known[t], norms[t], centers.norms)
            for o in range(outputs):
                total = coef.dtype.type(0)
                for j in range(size):
                    total += coef[o, j] * known[t, j]
                out[first + t, o] = total
