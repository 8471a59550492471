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
from onkel.features.dispatch import express, room, width
from onkel.model.rows import (
    Centers,
    Points,
    Rows,
    beside,
    compare,
    copy,
    measure,
    part,
    rows_of,
)
from onkel.model.state import Block, Model
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
    centers: Centers,
    own: Any,  # shape (rows,): their norms
    room: Any,  # shape (rows * places,)
    out: Any,  # shape (rows, slots)
) -> None:
    """Values of rows for the slots in use: features, then kernel values."""
    express(mapping, kernel, rows, centers, own, room, out)
    start, size, count = width(mapping), centers.size, len(out)
    if size == start:
        return
    # A matrix product needs contiguous memory, which part of the columns is not.
    known = room[: count * (size - start)].reshape(count, size - start)
    compare(kernel, rows, centers.points, centers.norms, start, known)
    for t in range(count):
        transform(kernel, known[t], own[t], centers.norms[start:])
        copy(known[t], out[t, start:size])


@evaluate.register(Absent)
def _evaluate_centers(
    mapping: Absent,
    kernel: Kernel,
    rows: Rows,
    centers: Centers,
    own: Any,
    room: Any,
    out: Any,
) -> None:
    compare(kernel, rows, centers.points, centers.norms, 0, out)
    for t in range(len(out)):
        transform(kernel, out[t, : centers.size], own[t], centers.norms)


@shared
def _fill(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    centers: Centers,
    own: Any,  # shape (rows,)
    diag: Any,  # shape (rows,)
    room: Any,
    out: Any,  # shape (rows, slots)
) -> None:
    """Norms, diagonal kernel values and values for all slots of some rows."""
    rows, centers = borrowed(rows), borrowed(centers)
    own, diag, room, out = borrowed(own), borrowed(diag), borrowed(room), borrowed(out)
    measure(kernel, rows, own)
    evaluate(mapping, kernel, rows, centers, own, room, out)
    for t in range(len(out)):
        diag[t] = diagonal(kernel, own[t])


@inner
def fill(
    kernel: Kernel, rows: Rows, share: Any, model: Model, slots: int, work: Workspace
) -> None:
    """Compute the values of a share (start, stop) of the rows of a block."""
    start, stop = share
    places = len(work.room) // len(work.norms)
    _fill(
        model.mapping,
        kernel,
        part(rows, start, stop),
        Centers(model.points, model.norms, model.counters[0].count),
        work.norms[start:stop],
        work.diag[start:stop],
        work.room[start * places : stop * places],
        work.kernel[start * slots : stop * slots].reshape(stop - start, slots),
    )


@inner
def block_of(
    kernel: Kernel, rows: Rows, count: int, slots: int, work: Workspace
) -> Block:
    """View the workspace as the block of so many rows."""
    return Block(
        kernel,
        rows,
        work.norms,
        work.diag,
        work.kernel[: count * slots].reshape(count, slots),
        work.pending,
        work.point,
        work.other,
        work.later,
        work.raw,
        work.f,
        work.scratch,
        work.second,
        work.table,
    )


@inlined
def largest_score(coef: Any) -> float:
    """Beyond this a score or an update counts as infinite, in that precision."""
    return HEADROOM * (LARGEST_DOUBLE if coef.itemsize == 8 else LARGEST_SINGLE)


@inlined
def score_row(model: Model, block: Block, t: int, scale: float, out: Any) -> bool:
    """Score row t, also raw, into the block; whether all are far from infinite."""
    values, f = block.kernel[t, : model.counters[0].count], block.f
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
    measure(kernel, rows, out)


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
    # Without features no room is needed, and any array will do.
    centers = Centers(points, norms, out.shape[1])
    _fill(Absent(0), kernel, rows, centers, own, diag, own, out)


@jit
def score(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    share: Any,  # (start, stop)
    centers: Centers,
    coef: Any,  # shape (outputs, size)
    tile: int,  # rows at a time
    out: Any,  # shape (rows, outputs)
) -> None:
    """Scores of the rows start..stop."""
    start, stop = share
    outputs, size = coef.shape
    values = np.empty(tile * size, coef.dtype)
    norms, diag = np.empty(tile, coef.dtype), np.empty(tile, coef.dtype)
    needed = np.empty(tile * room(mapping, size), coef.dtype)
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        count = last - first
        known = values[: count * size].reshape(count, size)
        some = part(rows, first, last)
        _fill(mapping, kernel, some, centers, norms[:count], diag, needed, known)
        for t in range(count):
            for o in range(outputs):
                total = coef.dtype.type(0)
                for j in range(size):
                    total += coef[o, j] * known[t, j]
                out[first + t, o] = total


def norms_of(kernel: Kernel, points: np.ndarray) -> np.ndarray:
    """Norms of points, as the kernel keeps them."""
    out = np.zeros(len(points), points.dtype)
    norms(kernel, rows_of(points, points.dtype), out)
    return out


def gram_of(kernel: Kernel, points: np.ndarray) -> np.ndarray:
    """Kernel values of points with each other."""
    gram = np.empty((len(points), len(points)), points.dtype)
    rows = rows_of(points, points.dtype)
    kernel_values(kernel, rows, beside(rows, points), norms_of(kernel, points), gram)
    return gram
