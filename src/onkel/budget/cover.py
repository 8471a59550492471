"""Cover the points by cells, and let a cell's core stand for all of them (AVM, QKLMS).

A row that proposes an update gives it to the core that covers it; if none does, the row
becomes a core itself. Nobody ever leaves, and there are never more cores than cells:

    sphere   the nearest core covers, if it is nearer than the radius r
    ball     the nearest core covers, if it is no further than the radius r
    box      cores cover whose features differ by less than r / sqrt(d) each, so that
             cells have the diameter 2 r; the nearest of them is taken
    grid     the core of the same cell of a grid with side 2 r / sqrt(d) covers

With probability min(beta / t^rho, 1) a row is not approximated but kept, as a centre
that covers nothing. One number is drawn for every row that asks, whatever beta is.

When there are `limit` cores, a row that none covers gives its update to the nearest,
and is counted.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb, refuse_nonsense, resized, widened
from onkel.compiled.draws import Draws, uniform
from onkel.compiled.functions import inlined, inner
from onkel.model.distances import (
    MODULUS,
    MULTIPLIER,
    hash_of_cell,
    in_cell,
    load_row,
    nearest,
    nearest_in_box,
)
from onkel.model.expansion import add, insert
from onkel.model.ranges import WORK, counter
from onkel.model.state import Block, Model, Update

COUNTERS = np.dtype([("cores", np.int64), ("absorbed", np.int64)], align=True)
# Mark of a centre that is no core, and of an unused place in the table of cells.
NO_CORE = -1
# In the place of a slot: nobody takes the update.
DROPPED = -2


class Shape(IntEnum):
    """The shapes of cells."""

    SPHERE = 0
    BOX = 1
    GRID = 2
    BALL = 3


@strategy(
    # Centres that are kept do not count.
    slots=lambda own: math.inf if own.beta > 0.0 else own.limit,
    ranges={
        "counters.cores": lambda s: (0, min(s.used, s.limit)),
        "counters.absorbed": counter,
        "mark": lambda s: (-1, 2**31 - 1),
        "table": WORK,
    },
)
class Cover(NamedTuple):
    """How to cover, and who is a core; `make` is the constructor."""

    shape: int
    radius: float
    half_width: float  # of boxes; half the side of the grid's cells
    beta: float
    rho: float
    limit: int
    counters: Any  # shape (1,), of COUNTERS
    mark: Any  # shape (capacity,), int32: NO_CORE, or for a core the hash of its cell
    table: Any  # shape (a power of two,): for the grid, slots of cores by hash
    drops: bool = False  # whether updates that found no core are lost when it is full


@resized.register
def _resized(budget: Cover, model: Model) -> Cover:
    capacity = len(model.diag)
    mark = np.full(capacity, NO_CORE, np.int32)
    kept = min(capacity, len(budget.mark))
    mark[:kept] = budget.mark[:kept]
    if budget.shape != Shape.GRID:
        return budget._replace(mark=mark)
    table = np.full(2 << int(capacity).bit_length(), NO_CORE)
    new = budget._replace(mark=mark, table=table)
    for slot in np.flatnonzero(mark != NO_CORE):
        _enter(new, int(slot))
    return new


@widened.register
def _widened(budget: Cover, model: Model, added: int) -> Cover:
    if budget.shape == Shape.GRID:
        # What a feature of 0 does to the hash of a cell, which goes on from the last.
        moved = budget.mark * np.int64(pow(MULTIPLIER, added, MODULUS)) % MODULUS
        mark = np.where(budget.mark == NO_CORE, NO_CORE, moved).astype(np.int32)
        budget = budget._replace(mark=mark)
    return _resized(budget, model)


@refuse_nonsense.register
def _refuse_nonsense(budget: Cover, model: Model) -> None:
    count, marked = model.counters[0].count, budget.counters[0].cores
    cores = int(np.sum(budget.mark[:count] != NO_CORE))
    if marked != cores or (budget.mark[count:] != NO_CORE).any():
        raise ValueError("Cover.mark does not mark as many cores as there are")
    if budget.beta == 0.0 and cores != count:
        raise ValueError("Cover.mark leaves out centres that must be cores")
    if marked > budget.limit:
        raise ValueError("Cover.counters has more cores than there may be")


def make(
    shape: str,
    radius: float,
    half_width: float,
    beta: float,
    rho: float,
    limit: int,
    drops: bool = False,
) -> Cover:
    """Make the strategy, without cores.

    Examples
    --------
    >>> make("sphere", 0.5, 0.25, beta=0.0, rho=1.0, limit=10).counters[0].cores.item()
    0
    """
    counters = np.zeros(1, COUNTERS).view(np.recarray)
    kind = int(Shape[shape.upper()])
    mark, table = np.full(0, NO_CORE, np.int32), np.full(1, NO_CORE)
    return Cover(
        kind, radius, half_width, beta, rho, limit, counters, mark, table, drops
    )


@inner
def _enter(budget: Cover, slot: int) -> None:
    """Enter a core into the table; linear probing, and never half full."""
    last = len(budget.table) - 1
    place = budget.mark[slot] & last
    while budget.table[place] != NO_CORE:
        place = (place + 1) & last
    budget.table[place] = slot


@inlined
def _core_of_cell(budget: Cover, model: Model, block: Block, key: int) -> int:
    """Slot of the core in the row's cell, NO_CORE if there is none."""
    last = len(budget.table) - 1
    place = key & last
    while budget.table[place] != NO_CORE:
        slot = budget.table[place]
        if budget.mark[slot] == key and in_cell(
            model, block, slot, 2.0 * budget.half_width
        ):
            return slot
        place = (place + 1) & last
    return NO_CORE


@inlined
def _find(
    budget: Cover, model: Model, block: Block, t: int, key: int, moves: bool
) -> int:
    """Slot of the core that takes the row's update, NO_CORE if it becomes one.

    `moves`: whether there is an update, which must not get lost.
    """
    full = budget.counters[0].cores >= budget.limit
    slot = NO_CORE
    if budget.shape == Shape.BOX:
        slot = nearest_in_box(model, block, t, budget.mark, budget.half_width)
    elif budget.shape == Shape.GRID:
        slot = _core_of_cell(budget, model, block, key)
    ball = budget.shape == Shape.BALL
    is_round = ball or budget.shape == Shape.SPHERE
    if slot == NO_CORE and (full or is_round):
        only_cores = budget.counters[0].cores == model.counters[0].count
        limit = budget.radius * budget.radius
        found = nearest(model, block, t, budget.mark, only_cores, limit)
        # The square of a very small radius is 0, but a point covers its duplicates.
        inside = found.squared < limit or found.squared == 0.0
        inside = inside or (ball and found.squared == limit)
        covered = is_round and inside
        if covered or full:
            slot = DROPPED if budget.drops and not covered else found.slot
            budget.counters[0].absorbed += moves and not covered
    return slot


@absorb.register(Cover)
def _absorb(
    budget: Cover, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    key = NO_CORE
    moves = update.weight != 0.0
    kept = uniform(draws) < (
        budget.beta / counters.t**budget.rho if budget.beta else 0.0
    )
    if kept and not moves:
        return
    if not kept:
        load_row(block, t)
        key = 0
        if budget.shape == Shape.GRID:
            key = hash_of_cell(block, 2.0 * budget.half_width)
        slot = _find(budget, model, block, t, key, moves)
        if slot != NO_CORE:
            if moves and slot != DROPPED:
                add(model, update.up, slot, update.weight)
                if update.down >= 0:
                    add(model, update.down, slot, -update.weight)
            return
        budget.counters[0].cores += 1
    slot = counters.count
    insert(model, block, t, update)
    budget.mark[slot] = key
    if not kept and budget.shape == Shape.GRID:
        _enter(budget, slot)
