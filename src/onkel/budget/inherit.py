"""Let all others inherit what the victim stood for (BPA-P).

The newcomer enters; then the old centre whose projection on all others, the newcomer
among them, loses least is projected out: argmin a_r^2 / K^-1[r, r]. The newcomer
itself is never it. A newcomer in the span of the centres is not stored: its weight is
laid on them, which leaves the step as it was.

O(centres^2) per update.
"""

from typing import NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorbs
from onkel.budget.project import losses, project_out
from onkel.compiled.draws import Draws
from onkel.model.expansion import LookAhead, Model, Update, insert, oldest_smallest
from onkel.model.inverse import in_span, lay_on, lean
from onkel.model.reads import Inverse


@strategy(reads=Inverse, newcomer=True)
class Inherit(NamedTuple):
    """A hard budget."""

    limit: int


@absorbs(Inherit)
def _absorb(
    budget: Inherit,
    model: Model,
    ahead: LookAhead,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    head = model.head[0]
    lean(model, ahead, t)
    if in_span(model):
        lay_on(model, update)
        return
    insert(model, ahead, t, update)
    if head.count <= budget.limit:
        return
    cost = model.reads.shares
    losses(model, cost)
    cost[head.count - 1] = np.inf
    project_out(model, ahead, t, oldest_smallest(model, cost))
    head.maintenance += 1
