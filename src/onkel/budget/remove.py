"""Remove the centre that costs least: argmin a_j^2 k(c_j, c_j), the oldest on ties.

With the hinge and the Pegasos rate all magnitudes are equal, so the tie rule decides
every time; it is exact because raw coefficients are compared.
"""

from typing import NamedTuple

from onkel.budget.dispatch import maintains
from onkel.expansion import LookAhead, Model, drop, oldest_smallest, squared_norms


class Remove(NamedTuple):
    """Maintenance by removal."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type


@maintains(Remove)
def _maintain(strategy: Remove, model: Model, ahead: LookAhead, t: int) -> None:
    cost = ahead.scratch
    squared_norms(model, cost)
    for j in range(model.head[0].count):
        cost[j] *= model.diag[j]
    drop(model, ahead, t, oldest_smallest(model, cost))
