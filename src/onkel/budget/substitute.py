"""Let the newcomer stand in for the victim (BPA-S).

Removing centre r and putting its projection a_r k_rt / k_tt on the newcomer leaves
f(x_t) as it was, so the passive-aggressive step is the same for every victim, and the
best one is argmin a_r^2 (k_rr - k_rt^2 / k_tt). The newcomer itself is never it.
"""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorbs
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.expansion import (
    LookAhead,
    Model,
    Update,
    add,
    column,
    insert,
    oldest_smallest,
    replace,
    squared_norms,
)


@strategy()
class Substitute(NamedTuple):
    """A hard budget."""

    limit: int


@inner
def _best_victim(model: Model, ahead: LookAhead, t: int, inverse: float) -> int:
    known = column(model, ahead, t)
    cost = ahead.scratch
    squared_norms(model, cost)
    scale, zero = cost.dtype.type(inverse), cost.dtype.type(0)
    for j in range(len(known)):
        cost[j] *= max(model.diag[j] - known[j] * known[j] * scale, zero)
    return oldest_smallest(model, cost)


@absorbs(Substitute)
def _absorb(
    budget: Substitute,
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
    kxx = ahead.diag[t]
    # A row of norm 0 represents nothing: the victim is then simply removed.
    inverse = 1.0 / kxx if kxx > 0 else 0.0
    r = _best_victim(model, ahead, t, inverse)
    share = ahead.kernel[t, r] * inverse
    carried = ahead.scratch
    for o in range(model.coef.shape[0]):
        carried[o] = model.coef[o, r] * share
    replace(model, ahead, t, r, update)
    for o in range(model.coef.shape[0]):
        add(model, o, r, carried[o])
    head.maintenance += 1
