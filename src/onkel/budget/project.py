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
from onkel.budget.dispatch import lays, leaning, maintains
from onkel.budget.remove import smallest_share
from onkel.compiled.functions import inner
from onkel.model.expansion import (
    LookAhead,
    Model,
    bequeath,
    drop,
    oldest_smallest,
    spread,
    squared_norms,
)
from onkel.model.inverse import in_span, inverse_column, inverse_diagonal, lean
from onkel.model.reads import Inverse


@strategy(reads=Inverse)
class Project(NamedTuple):
    """Maintenance by projection."""

    by_residual: bool  # the best victim, not the paper's


@inner
def losses(model: Model, out: Any) -> None:
    """Squared norm of what is lost by projecting out each centre."""
    size = model.head[0].count
    squared_norms(model, out)
    for j in range(size):
        out[j] /= inverse_diagonal(model.reads, j, size)


@inner
def project_out(model: Model, ahead: LookAhead, t: int, p: int) -> None:
    """Project centre p on the others; it leaves."""
    shares = model.reads.shares
    inverse_column(model.reads, p, model.head[0].count, shares)
    for j in range(model.head[0].count):
        if j != p:
            bequeath(model, p, j, -shares[j] / shares[p])
    drop(model, ahead, t, p)


@leaning(Project)
def _leans(strategy: Project, model: Model, ahead: LookAhead, t: int) -> bool:
    lean(model, ahead, t)
    return in_span(model)


@lays(Project)
def _lay(strategy: Project, model: Model, output: int, weight: float) -> None:
    spread(model, output, weight, model.reads.shares)


@maintains(Project)
def _maintain(strategy: Project, model: Model, ahead: LookAhead, t: int) -> None:
    if strategy.by_residual:
        losses(model, model.reads.shares)
        p = oldest_smallest(model, model.reads.shares)
    else:
        p = smallest_share(model, ahead.scratch)
    project_out(model, ahead, t, p)
