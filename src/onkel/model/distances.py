"""Distances of a row from the centres, where kernel values cannot tell.

Kernel values underflow where gamma is large, hardly differ where it is small, and are
no function of the Euclidean distance unless the kernel is rbf. What is decided here is
decided in double precision, from the features, so that it depends neither on
the block nor on rounding; kernel values only say, where they can, who need not be
asked.

The row is the one that `load_row` was called with last.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inlined, inner, ordered
from onkel.model.expansion import column
from onkel.model.rows import (
    coordinate,
    copy_row,
    rounding_error,
    squared_distance_of_row,
    squared_gap_to,
)
from onkel.model.state import Block, Model
from onkel.problem.kernels import Kind

# Error of a product of features, and of the exponential, in units in the last place;
# generous. Beyond MOST_ULPS a value says nothing.
ULPS, MOST_ULPS = 64.0, 2.0**30
# What gamma |x|^2, and a kernel value, must be for rounding to change it by less than
# half, also in single precision.
LARGEST_NORM, SMALLEST_VALUE = 1e4, 1e-20
# Cells further out than this share their hash, which only costs time.
FURTHEST_CELL = 2.0**62
# Of the hash, which has 31 bits: a prime, and a primitive root of it.
MODULUS, MULTIPLIER = 2**31 - 1, 48271


@inlined
def load_row(block: Block, t: int) -> None:
    """Turn to row t."""
    copy_row(block.rows, t, block.point)


@inlined
def squared_distance_to(model: Model, block: Block, j: int) -> float:
    """|x - c_j|^2."""
    return squared_gap_to(model.points, j, block.point)


@inlined
def _doubt(model: Model, block: Block, j: int) -> float:
    """How far `squared_distance_of_row` may be off; it is exact for dense rows."""
    if block.similarity.kind == Kind.LAPLACIAN:
        return np.inf  # the norms it keeps are others
    return model.norms[j] * rounding_error(block.rows)


@inlined
def in_box(model: Model, block: Block, j: int, half_width: float) -> bool:
    """Whether no feature of x and c_j differs by the half-width or more."""
    for k in range(len(block.point)):
        own = np.float64(coordinate(model.points, j, k))
        difference = np.float64(block.point[k]) - own
        if not abs(difference) < half_width:
            return False
    return True


@inlined
def in_cell(model: Model, block: Block, j: int, side: float) -> bool:
    """Whether x and c_j lie in the same cell of the grid with that side."""
    for k in range(len(block.point)):
        own = np.floor(np.float64(block.point[k]) / side)
        if own != np.floor(np.float64(coordinate(model.points, j, k)) / side):
            return False
    return True


@inlined
def hash_of_cell(block: Block, side: float) -> int:
    """Number of x's cell, not negative; different cells may share it."""
    mixed = 1
    for k in range(len(block.point)):
        place = np.floor(np.float64(block.point[k]) / side)
        place = min(max(place, -FURTHEST_CELL), FURTHEST_CELL)
        mixed = (mixed * MULTIPLIER + int(place) % MODULUS) % MODULUS
    return mixed


class Nearness(NamedTuple):
    """The nearest centre, -1 if there is none, and its squared distance."""

    slot: int
    squared: float


class Candidates(NamedTuple):
    """The nearest is one of the centres first to last with that value or a higher one.

    Values are integers, as `ordered` makes them.
    """

    lowest: Any
    first: Any
    last: Any


@inner
def _first(order: Any, lowest: Any) -> int:
    """First place with that value or a higher one; the length if there is none."""
    size = np.int32(len(order))
    found = size
    for j in range(len(order)):
        found = min(found, np.int32(j) if order[j] >= lowest else size)
    return np.int64(found)  # type: ignore[return-value]


@inner
def _candidates(order: Any, mark: Any, all_marked: bool, norm: float) -> Candidates:
    """Exclude whom the kernel values exclude; `norm` is gamma |x|^2.

    Plain loops over integers run on vectors. The exponent of a value is in its upper
    bits, and a unit in the last place is 1.
    """
    highest = order.dtype.type(-1)
    if all_marked:
        for j in range(len(order)):
            highest = max(highest, order[j])
    else:
        none = highest
        for j in range(len(order)):
            highest = max(highest, order[j] if mark[j] >= 0 else none)
    nobody, size = np.int32(-1), np.int32(len(order))
    if highest < 0:
        return Candidates(highest, nobody, nobody)
    single = order.itemsize == 4
    exponent = highest >> 23 if single else highest >> 52
    halvings = (127 if single else 1023) - exponent
    # Squared norms of the row, and of a centre at that distance from it, times gamma.
    error = ULPS * (1.0 + 3.0 * norm + 2.0 * halvings)
    lowest = order.dtype.type(0)
    # Beside the smallest normal number one value is 0 and the next is not.
    if error < MOST_ULPS and exponent > 1:
        lowest = max(lowest, order.dtype.type(highest - order.dtype.type(error)))
    first, last = size, nobody
    for j in range(len(order)):
        inside = order[j] >= lowest
        first = min(first, np.int32(j) if inside else size)
        last = max(last, np.int32(j) if inside else nobody)
    return Candidates(lowest, first, last)


@inlined
def nearest(
    model: Model, block: Block, t: int, mark: Any, all_marked: bool, limit: float
) -> Nearness:
    """Find the nearest of the centres with mark >= 0, the oldest on ties.

    Its squared distance is exact as far as a comparison with `limit` needs it.

    Loops over all centres are in functions that take arrays only, all else is merged
    into the caller: to hand over a model and a block costs more than the search.
    """
    slot, smallest, doubt = -1, np.inf, 0.0
    order = ordered(column(model, block, t))
    lowest = order.dtype.type(-1)
    j: Any = 0
    last: Any = len(order) - 1
    by_value = block.similarity.kind == Kind.RBF
    if by_value:
        norm = block.similarity.gamma * block.norms[t]
        found = _candidates(order, mark, all_marked, norm)
        lowest, last = found.lowest, np.int64(found.last)
        j = np.int64(found.first)
    while j <= last:
        if mark[j] >= 0:
            squared = squared_distance_of_row(
                block.rows, t, model.points, j, model.norms[j]
            )
            own = _doubt(model, block, j)
            if slot < 0:
                slot, smallest, doubt = j, squared, own
            elif not squared - own > smallest + doubt:
                if doubt > 0.0:
                    smallest, doubt = squared_distance_to(model, block, slot), 0.0
                if own > 0.0:
                    squared = squared_distance_to(model, block, j)
                if squared < smallest:
                    slot, smallest = j, squared
        j += 1
        if by_value and j <= last and order[j] < lowest:
            j += _first(order[j:], lowest)
    if doubt > 0.0 and not abs(smallest - limit) > doubt:
        smallest = squared_distance_to(model, block, slot)
    return Nearness(slot, smallest)


@inlined
def nearest_in_box(
    model: Model, block: Block, t: int, mark: Any, half_width: float
) -> int:
    """Find the nearest of the centres with mark >= 0 whose box holds x, -1 if none."""
    edge = 0.0
    by_value = block.similarity.kind == Kind.RBF
    values = column(model, block, t)
    if by_value:
        # The corners of the box are the furthest points in it. Half of their value is
        # far below what rounding could make of it; very small values say nothing.
        reach = len(block.point) * half_width * half_width
        corner = math.exp(-block.similarity.gamma * reach)
        exact = block.similarity.gamma * block.norms[t] < LARGEST_NORM
        edge = 0.5 * corner if exact and corner > SMALLEST_VALUE else 0.0
    slot, smallest = -1, np.inf
    for j in range(len(values)):
        if mark[j] < 0 or (by_value and values[j] < edge):
            continue
        if in_box(model, block, j, half_width):
            squared = squared_distance_to(model, block, j)
            if squared < smallest:
                slot, smallest = j, squared
    return slot
