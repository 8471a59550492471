"""Let the newcomer stand in for the victim (BPA-S).

Removing centre r and putting its projection a_r k_rt / k_tt on the newcomer leaves
f(x_t) as it was, so the passive-aggressive step is the same for every victim, and the
best one is argmin a_r^2 (k_rr - k_rt^2 / k_tt). The newcomer itself is never it.
"""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.expansion import (
    add,
    column,
    insert,
    oldest_smallest,
    replace,
    squared_norms,
)
from onkel.model.state import Block, Model, Update


@strategy()
class ProjectNewest(NamedTuple):
    """A hard budget."""

    limit: int


@inner
def _best_victim(model: Model, block: Block, t: int, inverse: float) -> int:
    known = column(model, block, t)
    cost = block.scratch
    squared_norms(model, cost)
    scale, zero = cost.dtype.type(inverse), cost.dtype.type(0)
    for j in range(len(known)):
        cost[j] *= max(model.diag[j] - known[j] * known[j] * scale, zero)
    return oldest_smallest(model, cost)


@absorb.register(ProjectNewest)
def _absorb(
    budget: ProjectNewest,
    model: Model,
    block: Block,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    counters = model.counters[0]
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    kxx = block.diag[t]
    # A row of norm 0 represents nothing: the victim is then simply removed.
    inverse = 1.0 / kxx if kxx > 0 else 0.0
    r = _best_victim(model, block, t, inverse)
    share = block.kernel[t, r] * inverse
    carried = block.scratch
    for o in range(model.coef.shape[0]):
        carried[o] = model.coef[o, r] * share
    replace(model, block, t, r, update)
    for o in range(model.coef.shape[0]):
        add(model, o, r, carried[o])
    counters.maintenance += 1
