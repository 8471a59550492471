"""Store a row only if the centres do not represent it well (Projectron, Projectron++).

With d = K^-1 k_x and the residual r2 = k(x, x) - <k_x, d>, a mistake whose residual
norm is at most the threshold, or which finds the budget full, is laid on the centres:
a += y d. Otherwise it becomes a centre.

Projectron++ also takes rows with a margin 0 < m < 1. With l = 1 - m and
p2 = k(x, x) - r2 it lays tau y d on the centres if l > sqrt(r2) / threshold,

    tau = min(l / p2, 1, 2 (l - sqrt(r2) / threshold) / p2),

half of that for each of two outputs. Such rows never become centres.

O(centres^2) per update.
"""

import math
from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.expansion import insert
from onkel.model.inverse import (
    Inverse,
    add_to_centers,
    project_row_ahead,
    represent_row,
    row_in_span,
)
from onkel.model.state import Block, Model, Update


@strategy(cache=Inverse, looks_ahead=True)
class ProjectIfClose(NamedTuple):
    """A threshold on the residual norm, and perhaps a budget."""

    limit: int
    threshold: float
    aggressive: bool


@inner
def _margin(model: Model, block: Block, update: Update) -> float:
    factor = model.counters[0].factor
    if update.down >= 0:
        return factor * (block.raw[update.up] - block.raw[update.down])
    return factor * math.copysign(1.0, update.weight) * block.raw[update.up]


@absorb.register(ProjectIfClose)
def _absorb(
    budget: ProjectIfClose,
    model: Model,
    block: Block,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    counters = model.counters[0]
    r2 = project_row_ahead(model, block, t)
    residual = math.sqrt(r2)
    if budget.aggressive:
        margin = _margin(model, block, update)
        if margin > 0.0:
            _correct(budget, model, update, 1.0 - margin, residual)
            return
    represent_row(model.cache, counters.count)
    represented = residual <= budget.threshold or row_in_span(model)
    if represented or counters.count >= budget.limit:
        add_to_centers(model, update)
        counters.maintenance += not represented
        return
    insert(model, block, t, update)


@inner
def _correct(
    budget: ProjectIfClose, model: Model, update: Update, loss: float, residual: float
) -> None:
    """Take a row that is right, but not by enough."""
    counters, status = model.counters[0], model.cache.status[0]
    projected = status.kxx - status.residual
    # A threshold of 0 trusts no projection.
    lost = residual / budget.threshold if budget.threshold > 0.0 else math.inf
    if loss <= lost or projected <= 1e-12:
        counters.updates -= 1
        return
    tau = min(loss / projected, 1.0, 2.0 * (loss - lost) / projected)
    represent_row(model.cache, counters.count)
    weight = update.weight * (tau if update.down < 0 else 0.5 * tau)
    add_to_centers(model, Update(update.up, update.down, weight))
