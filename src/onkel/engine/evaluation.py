"""Phase 1: a block's features and kernel values with the centres, and scores."""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import (
    borrowed,
    inlined,
    inner,
    jit,
    shared,
    typedispatch,
)
from onkel.features.absent import Absent
from onkel.features.dispatch import express, width
from onkel.model.expansion import Block, Model
from onkel.model.rows import Points, Rows, compare, copy, measure, part
from onkel.problem.kernels import Kernel, diagonal, transform

LARGEST_DOUBLE = float(np.finfo(np.float64).max)
LARGEST_SINGLE = float(np.finfo(np.float32).max)
# Scores and updates beyond this share of the largest number count as infinite: sums of
# many of them must still be finite, and nobody checks those.
HEADROOM = 2.0**-20


class Workspace(NamedTuple):
    """Memory of a block, allocated once. The array shapes are upper bounds."""

    kernel: Any  # shape (rows * slots,)
    room: Any  # shape (rows * places,): for the features, where there are any
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


@typedispatch(optional=True, merged=False)
def evaluate(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    first: int,
    last: int,
    points: Points,
    norms: Any,  # shape (slots or more,)
    size: int,
    own: Any,  # shape (rows,): their norms
    room: Any,
    out: Any,  # shape (rows, slots)
) -> None:
    """Values of the rows first..last for the slots in use: features, kernel values."""
    express(mapping, kernel, rows, first, last, points, norms, own, room, out)
    start = width(mapping)
    if size == start:
        return
    # A matrix product needs contiguous memory, which part of the columns is not.
    count = last - first
    known = room[: count * (size - start)].reshape(count, size - start)
    compare(kernel, rows, first, last, points, norms, start, known)
    for t in range(count):
        transform(kernel, known[t], own[t], norms[start:])
        copy(known[t], out[t, start:size])


@evaluate.register(Absent)
def _evaluate_centers(
    mapping: Absent,
    kernel: Kernel,
    rows: Rows,
    first: int,
    last: int,
    points: Points,
    norms: Any,
    size: int,
    own: Any,
    room: Any,
    out: Any,
) -> None:
    compare(kernel, rows, first, last, points, norms, 0, out)
    for t in range(last - first):
        transform(kernel, out[t, :size], own[t], norms)


@inner
def block_of(
    kernel: Kernel, rows: Rows, first: int, last: int, slots: int, work: Workspace
) -> Block:
    """View the workspace as the block of the rows first..last."""
    count = last - first
    return Block(
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
    rows: Rows,
    first: int,
    share: Any,  # (start, stop): the rows of the block to fill
    model: Model,
    slots: int,
    work: Workspace,
) -> None:
    """Compute the kernel values of a share of the block with the centres."""
    start, stop = share
    places = len(work.room) // len(work.norms)
    _fill(
        model.mapping,
        kernel,
        rows,
        first + start,
        first + stop,
        model.points,
        model.norms,
        model.counters[0].count,
        work.norms[start:stop],
        work.diag[start:stop],
        work.room[start * places : stop * places],
        work.kernel[start * slots : stop * slots].reshape(stop - start, slots),
    )


@shared
def _fill(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    first: int,
    last: int,
    points: Points,
    norms: Any,
    size: int,
    own: Any,
    diag: Any,
    room: Any,
    out: Any,
) -> None:
    rows, points, norms = borrowed(rows), borrowed(points), borrowed(norms)
    own, diag, room, out = borrowed(own), borrowed(diag), borrowed(room), borrowed(out)
    measure(kernel, rows, first, last, own)
    evaluate(mapping, kernel, rows, first, last, points, norms, size, own, room, out)
    for t in range(last - first):
        diag[t] = diagonal(kernel, own[t])


@inlined
def largest_score(coef: Any) -> float:
    """Beyond this a score or an update counts as infinite, in that precision."""
    return HEADROOM * (LARGEST_DOUBLE if coef.itemsize == 8 else LARGEST_SINGLE)


@inlined
def score_row(
    model: Model, block: Block, t: int, scale: float, f: Any, out: Any
) -> bool:
    """Score row t, raw scores into `block`; whether all are far from infinite."""
    values = block.kernel[t, : model.counters[0].count]
    limit, small = largest_score(model.coef), True
    for o in range(len(f)):
        coef = model.coef[o]
        total = coef.dtype.type(0)
        for j in range(len(values)):
            total += coef[j] * values[j]
        block.raw[o] = total
        f[o] = scale * total
        out[o] = f[o]
        small &= abs(f[o]) < limit
    return small


@jit
def norms(kernel: Kernel, rows: Rows, out: Any) -> None:
    """Norms of all rows, as the kernel keeps them."""
    measure(kernel, rows, 0, len(out), out)


@jit
def kernel_values(
    kernel: Kernel,
    rows: Rows,
    points: Points,
    norms: Any,
    out: Any,  # shape (rows, points)
) -> None:
    """k(x, c) for all rows and points."""
    own, diag = np.empty(len(out), out.dtype), np.empty(len(out), out.dtype)
    size = out.shape[1]
    # Without features no room is needed, and any array will do.
    _fill(
        Absent(0), kernel, rows, 0, len(out), points, norms, size, own, diag, own, out
    )


@jit
def score(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    share: Any,  # (start, stop)
    points: Points,
    center_norms: Any,
    coef: Any,  # shape (outputs, size)
    places: int,  # of the room that `evaluate` needs for a row
    tile: int,  # rows at a time
    out: Any,  # shape (rows, outputs)
) -> None:
    """Scores of the rows start..stop."""
    start, stop = share
    outputs, size = coef.shape
    values = np.empty(tile * size, coef.dtype)
    norms, diag = np.empty(tile, coef.dtype), np.empty(tile, coef.dtype)
    room = np.empty(tile * places, coef.dtype)
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        known = values[: (last - first) * size].reshape(last - first, size)
        _fill(
            mapping,
            kernel,
            rows,
            first,
            last,
            points,
            center_norms,
            size,
            norms,
            diag,
            room,
            known,
        )
        for t in range(last - first):
            for o in range(outputs):
                total = coef.dtype.type(0)
                for j in range(size):
                    total += coef[o, j] * known[t, j]
                out[first + t, o] = total
