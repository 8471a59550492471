"""Distances of a row from the centres, where kernel values cannot tell.

Kernel values underflow where gamma is large, hardly differ where it is small, and are
no function of the Euclidean distance unless the kernel is rbf. What is decided here is
decided in double precision, from the features, so that it depends neither on
the block nor on rounding; kernel values only say, where they can, who need not be
asked.

The row is the one that `face` was called with last.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import inner, ordered
from onkel.expansion import LookAhead, Model, column
from onkel.kernels import Kind
from onkel.rows import apart, spread_out

# Relative error of a product of features, and of the exponential, in units in the last
# place; generous.
ULPS = 32.0
# Share of the squared norm below which a squared distance may have lost its digits.
NEAR = 1e-4
# Cells further out than this share their hash, which only costs time.
FURTHEST_CELL = 2.0**62
# Of the hash, which has 31 bits: a prime, and a primitive root of it.
MODULUS, MULTIPLIER = 2**31 - 1, 48271


@inner
def face(ahead: LookAhead, t: int) -> None:
    """Turn to row t."""
    spread_out(ahead.rows, t, ahead.point)


@inner
def squared_distance_to(model: Model, ahead: LookAhead, t: int, j: int) -> float:
    """|x - c_j|^2."""
    if ahead.similarity.kind != Kind.LAPLACIAN:  # which keeps other norms
        norm = model.norms[j]
        squared = apart(ahead.rows, t, model.points, j, norm)
        # Less may be what cancellation left; sparse rows only.
        if squared > NEAR * norm:
            return squared
    total = 0.0
    for k in range(len(ahead.point)):
        difference = np.float64(ahead.point[k]) - np.float64(model.points[j, k])
        total += difference * difference
    return total


@inner
def in_box(model: Model, ahead: LookAhead, j: int, half_width: float) -> bool:
    """Whether no feature of x and c_j differs by the half-width or more."""
    for k in range(len(ahead.point)):
        difference = np.float64(ahead.point[k]) - np.float64(model.points[j, k])
        if not abs(difference) < half_width:
            return False
    return True


@inner
def in_cell(model: Model, ahead: LookAhead, j: int, side: float) -> bool:
    """Whether x and c_j lie in the same cell of the grid with that side."""
    for k in range(len(ahead.point)):
        own = np.floor(np.float64(ahead.point[k]) / side)
        if own != np.floor(np.float64(model.points[j, k]) / side):
            return False
    return True


@inner
def hash_of_cell(ahead: LookAhead, side: float) -> int:
    """Number of x's cell, not negative; different cells may share it."""
    mixed = 1
    for k in range(len(ahead.point)):
        place = np.floor(np.float64(ahead.point[k]) / side)
        place = min(max(place, -FURTHEST_CELL), FURTHEST_CELL)
        mixed = (mixed * MULTIPLIER + int(place) % MODULUS) % MODULUS
    return mixed


class Nearness(NamedTuple):
    """The nearest centre, -1 if there is none, and its squared distance."""

    slot: int
    squared: float


@inner
def _error_of(model: Model, ahead: LookAhead, t: int, value: float) -> float:
    """Relative error of kernel values of about that size with row t."""
    epsilon = 2.0**-52 if model.coef.itemsize == 8 else 2.0**-23
    if value <= 0.0:
        return 1.0
    # Squared norms of the row, and of a centre at that distance from it, times gamma.
    norms = 3.0 * ahead.similarity.gamma * ahead.norms[t] - 2.0 * math.log(value)
    return ULPS * epsilon * (1.0 + norms)


class Candidates(NamedTuple):
    """The nearest is one of the centres first to last with a value of edge or more."""

    edge: Any
    first: Any
    last: Any


@inner
def _candidates(
    model: Model, ahead: LookAhead, t: int, mark: Any, all_marked: bool
) -> Candidates:
    """Exclude whom the kernel values exclude.

    Plain maxima and minima, over integers of equal width: they run on vectors.
    """
    values = column(model, ahead, t)
    order, room = ordered(values), ordered(ahead.scratch)
    highest = order.dtype.type(-1)
    if all_marked:
        for j in range(len(order)):
            highest = max(highest, order[j])
    else:
        none = highest
        for j in range(len(order)):
            highest = max(highest, order[j] if mark[j] >= 0 else none)
    if highest < 0:
        return Candidates(0.0, 0, -1)
    room[0] = highest
    value = ahead.scratch[0]
    ahead.scratch[0] = max(value * (1.0 - _error_of(model, ahead, t, value)), 0.0)
    lowest = room[0]
    nobody, size = np.int32(-1), np.int32(len(order))
    first, last = size, nobody
    for j in range(len(order)):
        inside = order[j] >= lowest
        first = min(first, np.int32(j) if inside else size)
        last = max(last, np.int32(j) if inside else nobody)
    edge = np.float64(ahead.scratch[0])
    return Candidates(edge, np.int64(first), np.int64(last))  # one type, compiled


@inner
def nearest(
    model: Model, ahead: LookAhead, t: int, mark: Any, all_marked: bool
) -> Nearness:
    """Find the nearest of the centres with mark >= 0, the oldest on ties."""
    values = column(model, ahead, t)
    by_value = ahead.similarity.kind == Kind.RBF
    asked = Candidates(0.0, 0, len(values) - 1)
    if by_value:
        asked = _candidates(model, ahead, t, mark, all_marked)
    slot, smallest = -1, np.inf
    for j in range(asked.first, asked.last + 1):
        if mark[j] < 0 or (by_value and values[j] < asked.edge):
            continue
        squared = squared_distance_to(model, ahead, t, j)
        if squared < smallest:
            slot, smallest = j, squared
    return Nearness(slot, smallest)


@inner
def nearest_in_box(
    model: Model, ahead: LookAhead, t: int, mark: Any, half_width: float
) -> int:
    """Find the nearest of the centres with mark >= 0 whose box holds x, -1 if none."""
    edge = 0.0
    by_value = ahead.similarity.kind == Kind.RBF
    values = column(model, ahead, t)
    if by_value:
        # The corners of the box are the furthest points in it.
        reach = len(ahead.point) * half_width * half_width
        edge = math.exp(-ahead.similarity.gamma * reach)
        edge *= 1.0 - _error_of(model, ahead, t, edge)
    slot, smallest = -1, np.inf
    for j in range(len(values)):
        if mark[j] < 0 or (by_value and values[j] < edge):
            continue
        if in_box(model, ahead, j, half_width):
            squared = squared_distance_to(model, ahead, t, j)
            if squared < smallest:
                slot, smallest = j, squared
    return slot
