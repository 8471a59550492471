"""Collect the first centres as landmarks, then stop (NOGD).

The first update beyond them waits in its counters: the learner turns the model into one
that is linear in the landmarks' Nystrom features, and makes the update there.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.model.expansion import insert
from onkel.model.ranges import WORK
from onkel.model.state import Block, Model, Update

COUNTERS = np.dtype(
    [("up", np.int64), ("down", np.int64), ("weight", np.float64)], align=True
)


@strategy(ranges={"counters.up": WORK, "counters.down": WORK, "counters.weight": WORK})
class Landmarks(NamedTuple):
    """As many landmarks as the limit says; `make` is the constructor."""

    limit: int
    rank: int  # of the features
    counters: Any  # shape (1,), of COUNTERS


def make(limit: int, rank: int) -> Landmarks:
    """Make the strategy.

    Examples
    --------
    >>> make(10, 2).rank
    2
    """
    return Landmarks(limit, rank, np.zeros(1, COUNTERS).view(np.recarray))


@absorb.register(Landmarks)
def _absorb(
    budget: Landmarks, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters, own = model.counters[0], budget.counters[0]
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    own.up, own.down, own.weight = update.up, update.down, update.weight
    counters.halted = 1
