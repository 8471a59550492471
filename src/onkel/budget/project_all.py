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
from onkel.budget.dispatch import absorb
from onkel.budget.project import losses, project_out
from onkel.compiled.draws import Draws
from onkel.model.expansion import insert, oldest_smallest
from onkel.model.inverse import Inverse, add_to_centers, project_row, row_in_span
from onkel.model.state import Block, Model, Update


@strategy(cache=Inverse, newcomer=True)
class ProjectAll(NamedTuple):
    """A hard budget."""

    limit: int


@absorb.register(ProjectAll)
def _absorb(
    budget: ProjectAll, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    project_row(model, block, t)
    if row_in_span(model):
        add_to_centers(model, update)
        return
    insert(model, block, t, update)
    if counters.count <= budget.limit:
        return
    cost = model.cache.column
    losses(model, cost)
    cost[counters.count - 1] = np.inf
    project_out(model, block, t, oldest_smallest(model, cost))
    counters.maintenance += 1
