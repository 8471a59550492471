"""Phase 2 of the dual systems: the best step along one row's dual variable.

A row that is a centre of its own moves its coefficient; another becomes a centre, and
the budget maintains. Merging never touches the dual variables: they keep the box.

With several classes each output is a problem of its own, one class against the rest,
over shared centres; a row steps in all of them at once.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.dispatch import add_to_span, in_span, maintain
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.engine import passes
from onkel.engine.evaluation import largest_score, score_row
from onkel.engine.passes import Batch
from onkel.model.averages import count_row
from onkel.model.expansion import add, drop, fill_later_rows, insert
from onkel.model.state import Block, Model, Update
from onkel.problem import dual_steps, rates
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate

TOTALS = np.dtype(
    [
        ("surrogate", np.float64),  # sum of the rows' parts of the dual, as visited
        ("gain", np.float64),  # rise of the dual, as the steps saw it
        ("mean_gain", np.float64),  # of a visit, a running mean
        ("adapting", np.int64),  # whether preferences change
    ],
    align=True,
)
# A step below this share of C is rounding.
SMALLEST_STEP = 1e-14
# How fast preferences follow gains, and how far they may go.
ADAPTATION, FURTHEST = 0.2, 20.0


class DualPlan(NamedTuple):
    """What phase 2 needs to know besides the budget; `make` is the constructor."""

    kernel: Kernel
    loss: Loss
    rate: Rate  # constant: nothing shrinks
    ball: bool  # never: the box bounds the model
    y: Any  # shape (n,)
    C: Any  # shape (n,)
    dual: Any  # shape (outputs, n)
    slot: Any  # shape (n,): where a row may be a centre of its own
    preference: Any  # shape (n,): how often a row should be visited
    step: Any  # shape (outputs,): room for the present row's step
    totals: Any  # shape (1,), of TOTALS


def make(
    kernel: Kernel, loss: Loss, y: np.ndarray, C: np.ndarray, outputs: int
) -> DualPlan:
    """Make the plan for a data set; all dual variables are 0."""
    return DualPlan(
        kernel,
        loss,
        rates.constant(),
        False,
        y,
        C,
        np.zeros((outputs, len(y))),
        np.full(len(y), -1),
        np.ones(len(y)),
        np.zeros(outputs),
        np.zeros(1, TOTALS).view(np.recarray),
    )


@inner
def target(y: float, output: int, outputs: int) -> float:
    """Target of a row for one output: its own, or +1 and -1 by its class."""
    if outputs == 1:
        return y
    return 1.0 if int(y) == output else -1.0


@inner
def _is_mistake(f: Any, y: float) -> bool:
    if len(f) == 1:
        return (f[0] > 0.0) != (y > 0.0)
    best = 0
    for o in range(1, len(f)):
        if f[o] > f[best]:
            best = o
    return best != int(y)


@inner
def _ascend(plan: DualPlan, f: Any, i: int, kxx: float) -> bool:
    """Move the dual variables of row i; whether any moved. Leaves the steps in plan."""
    y, C, outputs = plan.y[i], plan.C[i], len(f)
    totals = plan.totals[0]
    any_moved, gained = False, 0.0
    for o in range(outputs):
        yo, old = target(y, o, outputs), plan.dual[o, i]
        new = old
        if C > 0.0:
            new = dual_steps.best(plan.loss, f[o], yo, old, kxx, C)
        if abs(new - old) <= SMALLEST_STEP * C:
            new = old
        step = new - old
        plan.step[o] = dual_steps.moved(plan.loss, yo, step)
        if step != 0.0:
            any_moved = True
            plan.dual[o, i] = new
            gained += dual_steps.gain(plan.loss, f[o], yo, old, new, kxx, C)
        if C > 0.0:
            totals.surrogate += dual_steps.share(plan.loss, f[o], yo, new, C)
    totals.gain += gained
    if totals.adapting:
        _prefer(plan, i, gained)
    return any_moved


@inner
def _prefer(plan: DualPlan, i: int, gained: float) -> None:
    """Visit rows more often whose steps gain more than the mean."""
    totals = plan.totals[0]
    if totals.mean_gain > 0.0:
        change = math.exp(
            min(ADAPTATION * (gained / totals.mean_gain - 1.0), math.log(FURTHEST**2))
        )
        wanted = plan.preference[i] * change
        plan.preference[i] = min(max(wanted, 1.0 / FURTHEST), FURTHEST)
    totals.mean_gain += (gained - totals.mean_gain) / len(plan.y)


@inner
def _own_slot(plan: DualPlan, model: Model, i: int) -> int:
    """Slot in which row i is a centre of its own, -1 if it is not."""
    j = plan.slot[i]
    if 0 <= j < model.counters[0].count and model.label[j] == i:
        return j
    return -1


@inner
def _renumber(plan: DualPlan, model: Model) -> None:
    """Tell the rows where their centres are, now that some may have moved."""
    for j in range(model.counters[0].count):
        if model.label[j] >= 0:
            plan.slot[model.label[j]] = j


@inner
def _move_own(
    plan: DualPlan, model: Model, block: Block, t: int, i: int, j: int
) -> None:
    """Change the coefficients of row i's own centre; one that comes to 0 leaves."""
    outputs = model.coef.shape[0]
    # Compiled code knows no finfo of an array's type.
    epsilon = 2.0**-52 if model.coef.itemsize == 8 else 2.0**-23
    zero = True
    for o in range(outputs):
        if plan.step[o] != 0.0:
            add(model, o, j, plan.step[o])
        zero &= abs(model.coef[o, j]) <= 16.0 * epsilon * plan.C[i]
    if zero:
        drop(model, block, t, j)
        _renumber(plan, model)


@inner
def _take_in(
    plan: DualPlan, budget: Bernoulli, model: Model, block: Block, t: int, i: int
) -> None:
    """Row i becomes a centre, or is laid on those there are."""
    outputs = model.coef.shape[0]
    strategy = budget.maintenance
    if in_span(strategy, model, block, t):
        for o in range(outputs):
            add_to_span(strategy, model, o, plan.step[o])
        return
    counters = model.counters[0]
    insert(model, block, t, Update(0, -1, plan.step[0]))
    j = counters.count - 1
    for o in range(1, outputs):
        add(model, o, j, plan.step[o])
    model.label[j] = i
    plan.slot[i] = j
    if counters.count > budget.limit:
        maintain(strategy, model, block, t)
        counters.maintenance += 1
        _renumber(plan, model)
    fill_later_rows(model, block, t)


@passes.walk.register(DualPlan)
def walk(
    plan: DualPlan,
    budget: Bernoulli,
    model: Model,
    block: Block,
    batch: Batch,
    draws: Draws,
) -> int:
    """Visit the rows of a block; return how many could be learnt."""
    # The y of the batch are the numbers of the rows in the data set.
    visits, f, scores = batch.y, block.f, batch.scores
    counters, limit = model.counters[0], largest_score(model.coef)
    for t in range(len(visits)):
        i = visits[t]
        small = score_row(model, block, t, 1.0, False, scores[t])
        if not (small and block.diag[t] < limit):
            return t
        counters.t += 1
        count_row(model.average, model.coef, counters.count, 1.0)
        counters.mistakes += _is_mistake(f, plan.y[i])
        if not _ascend(plan, f, i, block.diag[t]):
            continue
        counters.updates += 1
        j = _own_slot(plan, model, i)
        if j >= 0:
            _move_own(plan, model, block, t, i, j)
        else:
            _take_in(plan, budget, model, block, t, i)
    return len(visits)
