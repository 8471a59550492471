"""Phase 2 of the gradient systems: judge, propose, absorb, row by row."""

import math
from typing import Any

from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner, typedispatch
from onkel.engine import passes
from onkel.engine.evaluation import largest_score, score_row, weighed
from onkel.engine.passes import Batch
from onkel.engine.plan import Plan
from onkel.model.averages import count_row
from onkel.model.center_cache import REFRESH, lacks_norm, refresh
from onkel.model.expansion import fill_later_rows, fold, rescale
from onkel.model.rows_ahead import Ahead, place_of
from onkel.model.state import Block, Model, Update
from onkel.problem.losses import radius
from onkel.problem.rates import base, decay, gain
from onkel.problem.steps import propose
from onkel.problem.tasks import judge

# Beyond these the factor moves into the coefficients: 1/factor must stay harmless.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-3, 1e3


@inner
def _project_on_ball(plan: Plan, model: Model) -> None:
    counters = model.counters[0]
    if lacks_norm(model.cache) or counters.updates % REFRESH == 0:
        counters.norm2 = refresh(
            model.cache, model.coef, counters.count, counters.norm2
        )
    scale = counters.factor * base(plan.rate, counters.t)
    norm = scale * math.sqrt(max(counters.norm2, 0.0))
    allowed = plan.ball * radius(plan.loss, plan.rate.alpha, counters.largest)
    if norm > allowed:
        rescale(model, allowed / norm)


@typedispatch(optional=True)
def _expect(
    ahead: Any, plan: Plan, model: Model, block: Block, batch: Batch, t: int
) -> None:
    """Say which rows after t will propose an update, if somebody looks ahead."""


@_expect.register(Ahead)
def _expect_updates(
    ahead: Ahead, plan: Plan, model: Model, block: Block, batch: Batch, t: int
) -> None:
    """Guess by the model as it is; row t will be looked at now."""
    if place_of(ahead, t) >= 0:
        return
    counters, f, found = model.counters[0], ahead.f, 0
    scale = counters.factor * base(plan.rate, counters.t)
    step, size = gain(plan.rate, counters.t + 1), counters.count
    for s in range(t + 1, len(batch.y)):
        if found == len(ahead.wanted) - 1:
            break
        for o in range(len(f)):
            f[o] = scale * weighed(model.coef[o], block.kernel[s, :size])
        verdict = judge(plan.loss, f, batch.y[s])
        weight = batch.sample_weight[s]
        if propose(plan.step, plan.loss, verdict, step, block.diag[s], weight) != 0.0:
            ahead.wanted[found] = s
            found += 1
    for i in range(found, len(ahead.wanted)):
        ahead.wanted[i] = -1


@passes.walk.register(Plan)
def walk(
    plan: Plan,
    budget: Any,
    model: Model,
    block: Block,
    batch: Batch,
    draws: Draws,
) -> int:
    """Learn the rows of a block; return how many could be learnt.

    It stops before a row whose score or update is close to infinite, or whose kernel
    value with itself is: such a row would be no centre to compute with.
    """
    y, sample_weight = batch.y, batch.sample_weight
    f, scores = block.f, batch.scores
    counters, limit = model.counters[0], largest_score(model.coef)
    foreseen = len(block.foreseen) > 0  # and nothing has changed since
    for t in range(len(y)):
        scale = counters.factor * base(plan.rate, counters.t)
        small = score_row(model, block, t, scale, foreseen, scores[t])
        verdict = judge(plan.loss, f, y[t])
        now = counters.t + 1
        factor = counters.factor * decay(plan.rate, now)
        step = gain(plan.rate, now)
        weight = propose(
            plan.step, plan.loss, verdict, step, block.diag[t], sample_weight[t]
        )
        small &= abs(weight) * base(plan.rate, now) < limit and block.diag[t] < limit
        weight /= factor
        if not (small and abs(weight) < limit):
            return t
        count_row(model.average, model.coef, counters.count, scale)
        counters.t = now
        counters.factor = factor
        counters.mistakes += verdict.mistake
        counters.largest = max(counters.largest, abs(y[t]))
        if weight != 0.0 or plan.every_row:
            counters.updates += weight != 0.0
            update = Update(verdict.up, verdict.down, weight)
            _expect(block.ahead, plan, model, block, batch, t)
            absorb(budget, model, block, t, update, draws)
            foreseen = False
            fill_later_rows(model, block, t)
            if plan.ball > 0.0:
                _project_on_ball(plan, model)
            if counters.halted:
                return t + 1
        if not SMALLEST_FACTOR < counters.factor < LARGEST_FACTOR:
            fold(model)
            foreseen = False
    return len(y)
