"""Phase 2 of the gradient systems: judge, propose, absorb, row by row."""

import math
from typing import Any, NamedTuple

from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import borrowed, inner
from onkel.engine.block import largest_score, score_row
from onkel.engine.passes import walks
from onkel.model.averages import tick
from onkel.model.expansion import LookAhead, Model, Update, fold, foresee, rescale
from onkel.model.reads import REFRESH, forgetful, refresh
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss, radius
from onkel.problem.rates import Rate, base, decay, gain
from onkel.problem.steps import Step, propose
from onkel.problem.tasks import judge


class Plan(NamedTuple):
    """What phase 2 needs to know besides the budget, which selects its code."""

    kernel: Kernel
    loss: Loss
    rate: Rate
    step: Step
    ball: bool  # project on the ball that is known to hold the minimiser
    every_row: bool = False  # whether the budget sees rows without an update, too


# Beyond these the factor moves into the coefficients: 1/factor must stay harmless.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-3, 1e3


@inner
def _project_on_ball(plan: Plan, model: Model) -> None:
    head = model.head[0]
    if forgetful(model.reads) or head.updates % REFRESH == 0:
        head.norm2 = refresh(model.reads, model.coef, head.count, head.norm2)
    scale = head.factor * base(plan.rate, head.t)
    norm = scale * math.sqrt(max(head.norm2, 0.0))
    allowed = radius(plan.loss, plan.rate.alpha, head.largest)
    if norm > allowed:
        rescale(model, allowed / norm)


@walks(Plan)
def walk(
    plan: Plan,
    budget: Any,
    model: Model,
    ahead: LookAhead,
    f: Any,  # shape (outputs,): scores of the present row
    y: Any,  # shape (rows,)
    sample_weight: Any,  # shape (rows,)
    scores: Any,  # shape (rows, outputs): the scores before each update
    draws: Draws,
) -> int:
    """Learn the rows of a block; return how many could be learnt.

    It stops before a row whose score or update is close to infinite, or whose kernel
    value with itself is: such a row would be no centre to compute with.
    """
    y, sample_weight = borrowed(y), borrowed(sample_weight)
    f, scores = borrowed(f), borrowed(scores)
    head, limit = model.head[0], largest_score(model.coef)
    for t in range(len(y)):
        scale = head.factor * base(plan.rate, head.t)
        small = score_row(model, ahead, t, scale, f, scores[t])
        verdict = judge(plan.loss, f, y[t])
        now = head.t + 1
        factor = head.factor * decay(plan.rate, now)
        step = gain(plan.rate, now)
        weight = propose(
            plan.step, plan.loss, verdict, step, ahead.diag[t], sample_weight[t]
        )
        small &= abs(weight) * base(plan.rate, now) < limit and ahead.diag[t] < limit
        weight /= factor
        if not (small and abs(weight) < limit):
            return t
        tick(model.average, model.coef, head.count, scale)
        head.t = now
        head.factor = factor
        head.mistakes += verdict.mistake
        head.largest = max(head.largest, abs(y[t]))
        if weight != 0.0 or plan.every_row:
            head.updates += weight != 0.0
            update = Update(verdict.up, verdict.down, weight)
            absorb(budget, model, ahead, t, update, draws)
            foresee(model, ahead, t)
            if plan.ball:
                _project_on_ball(plan, model)
            if head.halted:
                return t + 1
        if not SMALLEST_FACTOR < head.factor < LARGEST_FACTOR:
            fold(model)
    return len(y)
