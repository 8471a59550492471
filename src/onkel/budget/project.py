"""Project a centre on all others, and remove it.

d = -K^-1[:, p] / K^-1[p, p] is the projection of centre p on the others, so
a_i += a_p d_i, and a_p^2 / K^-1[p, p] is the squared norm of what is lost. The best
victim is the argmin of that; the paper's is argmin a_p^2 k(p, p). A newcomer in the
span of the centres (see `onkel.model.inverse`) is not stored: its weight is laid on
them.

O(centres^2) per update.
"""

from typing import Any, NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import add_to_span, in_span, maintain
from onkel.budget.remove import smallest_share
from onkel.compiled.functions import inner
from onkel.model.expansion import drop, oldest_smallest, spread, squared_norms, transfer
from onkel.model.inverse import (
    Inverse,
    inverse_column,
    project_row,
    row_in_span,
)
from onkel.model.state import Block, Model


@strategy(cache=Inverse)
class Project(NamedTuple):
    """Maintenance by projection."""

    by_residual: bool  # the best victim, not the paper's


@inner
def losses(model: Model, out: Any) -> None:
    """Squared norm of what is lost by projecting out each centre.

    The diagonal of the inverse is where projecting and inserting a row has left it.
    """
    squared_norms(model, out)
    for j in range(model.counters[0].count):
        out[j] /= model.cache.work[j]


@inner
def project_out(model: Model, block: Block, t: int, p: int) -> None:
    """Project centre p on the others; it leaves."""
    shares = model.cache.shares
    inverse_column(model.cache, p, model.counters[0].count)
    for j in range(model.counters[0].count):
        if j != p:
            transfer(model, p, j, -shares[j] / shares[p])
    drop(model, block, t, p)


@in_span.register(Project)
def _in_span(strategy: Project, model: Model, block: Block, t: int) -> bool:
    project_row(model, block, t)
    return row_in_span(model)


@add_to_span.register(Project)
def _add_to_span(strategy: Project, model: Model, output: int, weight: float) -> None:
    spread(model, output, weight, model.cache.shares)


@maintain.register(Project)
def _maintain(strategy: Project, model: Model, block: Block, t: int) -> None:
    if strategy.by_residual:
        losses(model, model.cache.column)
        p = oldest_smallest(model, model.cache.column)
    else:
        p = smallest_share(model, block.scratch)
    project_out(model, block, t, p)
