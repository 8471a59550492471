"""Discard a centre at random, all alike, to make room for the newcomer (RBP)."""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws, uniform
from onkel.model.expansion import insert, replace
from onkel.model.state import Block, Model, Update


@strategy()
class Discard(NamedTuple):
    """A hard budget; the victim is never the newcomer."""

    limit: int


@absorb.register(Discard)
def _absorb(
    budget: Discard, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    replace(model, block, t, int(uniform(draws) * counters.count), update)
    counters.maintenance += 1
