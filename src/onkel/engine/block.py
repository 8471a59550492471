"""Phase 1: the kernel values of a block with the centres, and scores from them."""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import inner, jit, primitive
from onkel.expansion import LookAhead, Model
from onkel.kernels import Kernel, diagonal, transform
from onkel.rows import compare, measure, part


class Workspace(NamedTuple):
    """Memory of a block, allocated once. The array shapes are upper bounds."""

    kernel: Any  # shape (rows * slots,)
    norms: Any  # shape (rows,)
    diag: Any  # shape (rows,)
    pending: Any  # shape (1,)
    point: Any  # shape (features,)
    other: Any  # shape (features,)
    later: Any  # shape (rows,)
    raw: Any  # shape (outputs,), float64
    f: Any  # shape (outputs,), float64
    scratch: Any  # shape (at least capacity and outputs,)
    second: Any  # shape (capacity,)
    table: Any  # of the strategy, read only


@inner
def look_ahead(
    kernel: Kernel, rows: Any, first: int, last: int, slots: int, work: Workspace
) -> LookAhead:
    """View the workspace as the look-ahead of the rows first..last."""
    count = last - first
    return LookAhead(
        kernel,
        part(rows, first, last),
        work.norms,
        work.diag,
        work.kernel[: count * slots].reshape(count, slots),
        work.pending,
        work.point,
        work.other,
        work.later,
        work.raw,
        work.scratch,
        work.second,
        work.table,
    )


@inner
def fill(
    kernel: Kernel,
    rows: Any,
    first: int,
    share: Any,  # (start, stop): the rows of the block to fill
    model: Model,
    slots: int,
    work: Workspace,
) -> None:
    """Compute the kernel values of a share of the block with the centres."""
    start, stop = share
    top, bottom = first + start, first + stop
    size = model.head[0].count
    norms = work.norms[start:stop]
    measure(kernel, rows, top, bottom, norms)
    values = work.kernel[start * slots : stop * slots].reshape(stop - start, slots)
    compare(kernel, rows, top, bottom, model.points, model.norms, values)
    for t in range(stop - start):
        transform(kernel, values[t, :size], norms[t], model.norms)
        work.diag[start + t] = diagonal(kernel, norms[t])


@primitive
def score_row(
    model: Model, ahead: LookAhead, t: int, scale: float, f: Any, out: Any
) -> bool:
    """Score row t, raw scores into `ahead`; whether all are finite in `out`."""
    values = ahead.kernel[t, : model.head[0].count]
    finite = True
    for o in range(len(f)):
        coef = model.coef[o]
        total = coef.dtype.type(0)
        for j in range(len(values)):
            total += coef[j] * values[j]
        ahead.raw[o] = total
        f[o] = scale * total
        out[o] = f[o]
        finite &= math.isfinite(out[o])
    return finite


@jit
def score(
    kernel: Kernel,
    rows: Any,
    share: Any,  # (start, stop)
    points: Any,  # shape (size or more, features), ordered as in onkel.rows
    center_norms: Any,
    coef: Any,  # shape (outputs, size)
    tile: int,  # rows at a time
    out: Any,  # shape (rows, outputs)
) -> None:
    """Scores of the rows start..stop."""
    start, stop = share
    outputs, size = coef.shape
    values = np.empty(tile * size, coef.dtype)
    norms = np.empty(tile, coef.dtype)
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        known = values[: (last - first) * size].reshape(last - first, size)
        measure(kernel, rows, first, last, norms)
        compare(kernel, rows, first, last, points, center_norms, known)
        for t in range(last - first):
            transform(kernel, known[t], norms[t], center_norms)
            for o in range(outputs):
                total = coef.dtype.type(0)
                for j in range(size):
                    total += coef[o, j] * known[t, j]
                out[first + t, o] = total
