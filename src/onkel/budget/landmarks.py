"""Collect the first centres as landmarks, then stop (NOGD).

The first update beyond them waits in the ledger: the learner turns the model into one
that is linear in the landmarks' Nystrom features, and makes the update there.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorbs
from onkel.compiled.draws import Draws
from onkel.model.expansion import LookAhead, Model, Update, insert
from onkel.model.ranges import WORK

LEDGER = np.dtype(
    [("up", np.int64), ("down", np.int64), ("weight", np.float64)], align=True
)


@strategy(
    ranges={"ledger.up": WORK, "ledger.down": WORK, "ledger.weight": WORK},
)
class Landmarks(NamedTuple):
    """As many landmarks as the limit says; `make` is the constructor."""

    limit: int
    rank: int  # of the features
    ledger: Any  # shape (1,), of LEDGER


def make(limit: int, rank: int) -> Landmarks:
    """Make the strategy.

    Examples
    --------
    >>> make(10, 2).rank
    2
    """
    return Landmarks(limit, rank, np.zeros(1, LEDGER).view(np.recarray))


@absorbs(Landmarks)
def _absorb(
    budget: Landmarks,
    model: Model,
    ahead: LookAhead,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    head, ledger = model.head[0], budget.ledger[0]
    if head.count < budget.limit:
        insert(model, ahead, t, update)
        return
    ledger.up, ledger.down, ledger.weight = update.up, update.down, update.weight
    head.halted = 1
