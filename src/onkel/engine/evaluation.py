"""Phase 1: a block's features and kernel values with the centres, and scores."""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import (
    borrowed,
    inlined,
    inner,
    jit,
    never_inlined,
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
    foreseen: Any  # shape (rows, outputs)
    ahead: Any  # one of onkel.model.rows_ahead
    pending: Any  # shape (1,)
    point: Any  # shape (features,)
    other: Any  # shape (features,)
    later: Any  # shape (rows,)
    raw: Any  # shape (outputs,), float64
    f: Any  # shape (outputs,), float64
    scratch: Any  # shape (at least capacity and outputs,)
    second: Any  # shape (capacity,)
    table: Any  # of the strategy, read only


@never_inlined
def weighed(coef: Any, values: Any) -> Any:
    """Sum of values times coefficients; the same bits whoever asks."""
    total = coef.dtype.type(0)
    for j in range(len(values)):
        total += coef[j] * values[j]
    return total


@typedispatch(optional=True, merged=False)
def evaluate(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    centers: Centers,
    own: Any,  # shape (rows,): their norms
    room: Any,  # shape (rows * places,)
    out: Any,  # shape (rows, slots)
    coef: Any,  # shape (outputs, slots or more)
    scores: Any,  # shape (rows, outputs), or none
) -> None:
    """Values of rows for the slots in use: features, then kernel values.

    And the rows' scores, if they are asked for.
    """
    express(mapping, kernel, rows, centers, own, room, out)
    start, size, count = width(mapping), centers.size, len(out)
    if size > start:
        # A matrix product needs contiguous memory, which part of the columns is not.
        known = room[: count * (size - start)].reshape(count, size - start)
        compare(kernel, rows, centers.points, centers.norms, start, known)
        for t in range(count):
            transform(kernel, known[t], own[t], centers.norms[start:])
            copy(known[t], out[t, start:size])
    for t in range(len(scores)):
        for o in range(len(coef)):
            scores[t, o] = weighed(coef[o], out[t, :size])


@evaluate.register(Absent)
def _evaluate_centers(
    mapping: Absent,
    kernel: Kernel,
    rows: Rows,
    centers: Centers,
    own: Any,
    room: Any,
    out: Any,
    coef: Any,
    scores: Any,
) -> None:
    compare(kernel, rows, centers.points, centers.norms, 0, out)
    for t in range(len(out)):
        values = out[t, : centers.size]
        transform(kernel, values, own[t], centers.norms)
        if len(scores) > 0:  # while the values are in the first cache
            for o in range(len(coef)):
                scores[t, o] = weighed(coef[o], values)


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
    coef: Any,  # shape (outputs, slots or more)
    scores: Any,  # shape (rows, outputs), or none
) -> None:
    """Norms, diagonal kernel values, values for all slots and scores of some rows."""
    rows, centers = borrowed(rows), borrowed(centers)
    own, diag, room, out = borrowed(own), borrowed(diag), borrowed(room), borrowed(out)
    coef, scores = borrowed(coef), borrowed(scores)
    measure(kernel, rows, own)
    evaluate(mapping, kernel, rows, centers, own, room, out, coef, scores)
    for t in range(len(out)):
        diag[t] = diagonal(kernel, own[t])


class Task(NamedTuple):
    """What is wanted of a block."""

    slots: int
    foresee: bool  # whether scores, too, as they are before the block


@inner
def fill(
    kernel: Kernel, rows: Rows, share: Any, model: Model, task: Task, work: Workspace
) -> None:
    """Compute the values of a share (start, stop) of the rows of a block."""
    start, stop = share
    slots, asked = task.slots, stop if task.foresee else start
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
        model.coef,
        work.foreseen[start:asked],
    )


@inner
def block_of(
    kernel: Kernel, rows: Rows, count: int, task: Task, work: Workspace
) -> Block:
    """View the workspace as the block of so many rows."""
    slots = task.slots
    return Block(
        kernel,
        rows,
        work.norms,
        work.diag,
        work.kernel[: count * slots].reshape(count, slots),
        work.foreseen[: count if task.foresee else 0],
        work.ahead,
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
def score_row(
    model: Model, block: Block, t: int, scale: float, known: bool, out: Any
) -> bool:
    """Score row t, also raw, into the block; whether all are far from infinite.

    `known`: whether its scores are those that were foreseen.
    """
    values, f = block.kernel[t, : model.counters[0].count], block.f
    limit, small = largest_score(model.coef), True
    for o in range(len(f)):
        if known:
            total = block.foreseen[t, o]
        else:
            total = weighed(model.coef[o], values)
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
    _fill(Absent(0), kernel, rows, centers, own, diag, own, out, out, out[:0])


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
    size = coef.shape[1]
    values = np.empty(tile * size, coef.dtype)
    norms, diag = np.empty(tile, coef.dtype), np.empty(tile, coef.dtype)
    needed = np.empty(tile * room(mapping, size), coef.dtype)
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        count = last - first
        known = values[: count * size].reshape(count, size)
        some = part(rows, first, last)
        own, scores = norms[:count], out[first:last]
        _fill(mapping, kernel, some, centers, own, diag, needed, known, coef, scores)


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
