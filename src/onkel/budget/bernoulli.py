"""Over budget, maintain with probability min(rate / t, 1).

An infinite rate is a hard budget (BSGD), a rate of 0 none at all. One number is drawn
for every insertion that exceeds the budget, whatever the probability, so that runs
which differ only in the rate see the same draws.
"""

import math
from typing import Any, NamedTuple

from onkel.budget.declaration import declaration, strategy
from onkel.budget.dispatch import absorb, add_to_span, in_span, maintain
from onkel.compiled.draws import Draws, uniform
from onkel.model.expansion import insert
from onkel.model.state import Block, Model, Update


@strategy(
    cache=lambda own: declaration(own.maintenance).cache(own.maintenance),
    slots=lambda own: own.limit if math.isinf(own.rate) else own.hard_limit,
    newcomer=True,
)
class Bernoulli(NamedTuple):
    """When to maintain; `maintenance` knows how."""

    limit: int
    rate: float
    hard_limit: int  # maintain beyond this size whatever the draw says
    maintenance: Any


@absorb.register(Bernoulli)
def _absorb(
    budget: Bernoulli, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    if in_span(budget.maintenance, model, block, t):
        add_to_span(budget.maintenance, model, update.up, update.weight)
        if update.down >= 0:
            add_to_span(budget.maintenance, model, update.down, -update.weight)
        return
    insert(model, block, t, update)
    counters = model.counters[0]
    if counters.count > budget.limit:
        fires = uniform(draws) * counters.t < budget.rate
        if fires or counters.count > budget.hard_limit:
            maintain(budget.maintenance, model, block, t)
            counters.maintenance += 1
