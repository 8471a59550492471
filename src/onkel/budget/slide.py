"""Slide a window over the centres: the oldest makes room for the newcomer (NORMA)."""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.model.expansion import insert, replace
from onkel.model.state import Block, Model, Update


@strategy()
class Slide(NamedTuple):
    """A hard budget, first in first out."""

    limit: int


@absorb.register(Slide)
def _absorb(
    budget: Slide, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    # Slots were filled in order, and each has been vacated in that order since.
    replace(model, block, t, counters.maintenance % budget.limit, update)
    counters.maintenance += 1
