"""Remove the centre that costs least: argmin a_j^2 k(c_j, c_j), the oldest on ties.

With the hinge and the Pegasos rate all magnitudes are equal, so the tie rule decides
every time; it is exact because raw coefficients are compared.
"""

from typing import Any, NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import maintain
from onkel.compiled.functions import inner
from onkel.model.expansion import drop, oldest_smallest, squared_norms
from onkel.model.state import Block, Model


@strategy()
class Remove(NamedTuple):
    """Maintenance by removal."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type


@inner
def smallest_share(model: Model, cost: Any) -> int:
    """Slot of the smallest a_j^2 k(c_j, c_j), of the oldest centre on ties."""
    squared_norms(model, cost)
    for j in range(model.counters[0].count):
        cost[j] *= model.diag[j]
    return oldest_smallest(model, cost)


@maintain.register(Remove)
def _maintain(strategy: Remove, model: Model, block: Block, t: int) -> None:
    drop(model, block, t, smallest_share(model, block.scratch))
