"""Discard a centre at random, all alike, to make room for the newcomer (RBP)."""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorbs
from onkel.compiled.draws import Draws, uniform
from onkel.model.expansion import LookAhead, Model, Update, insert, replace


@strategy()
class Discard(NamedTuple):
    """A hard budget; the victim is never the newcomer."""

    limit: int


@absorbs(Discard)
def _absorb(
    budget: Discard,
    model: Model,
    ahead: LookAhead,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    head = model.head[0]
    if head.count < budget.limit:
        insert(model, ahead, t, update)
        return
    replace(model, ahead, t, int(uniform(draws) * head.count), update)
    head.maintenance += 1
