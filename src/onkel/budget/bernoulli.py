"""Over budget, maintain with probability min(rate / t, 1).

An infinite rate is a hard budget (BSGD), a rate of 0 none at all. One number is drawn
for every insertion that exceeds the budget, whatever the probability, so that runs
which differ only in the rate see the same draws.
"""

import math
from typing import Any, NamedTuple

from onkel.budget.declaration import declaration, strategy
from onkel.budget.dispatch import absorbs, lay, leans, maintain
from onkel.compiled.draws import Draws, uniform
from onkel.model.expansion import LookAhead, Model, Update, insert


@strategy(
    reads=lambda own: declaration(own.maintenance).reads(own.maintenance),
    slots=lambda own: own.limit if math.isinf(own.rate) else own.hard_limit,
    newcomer=True,
)
class Bernoulli(NamedTuple):
    """When to maintain; `maintenance` knows how."""

    limit: int
    rate: float
    hard_limit: int  # maintain beyond this size whatever the draw says
    maintenance: Any


@absorbs(Bernoulli)
def _absorb(
    budget: Bernoulli,
    model: Model,
    ahead: LookAhead,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    if leans(budget.maintenance, model, ahead, t):
        lay(budget.maintenance, model, update.up, update.weight)
        if update.down >= 0:
            lay(budget.maintenance, model, update.down, -update.weight)
        return
    insert(model, ahead, t, update)
    head = model.head[0]
    if head.count > budget.limit:
        fires = uniform(draws) * head.t < budget.rate
        if fires or head.count > budget.hard_limit:
            maintain(budget.maintenance, model, ahead, t)
            head.maintenance += 1
