"""Phase 2: one row after another, in compiled code that allocates nothing."""

import math
from typing import Any

from onkel.budget.dispatch import absorb
from onkel.compiled import inner, jit
from onkel.engine.block import (
    Centers,
    Workspace,
    fill,
    prepare,
    settle,
)
from onkel.engine.plan import Plan
from onkel.expansion import LookAhead, Model, Update, fold, refresh, rescale
from onkel.losses import radius
from onkel.rates import base, decay, gain
from onkel.steps import propose
from onkel.tasks import judge

# Below this the factor moves into the coefficients: 1/factor must stay harmless.
SMALLEST_FACTOR = 1e-3
# Edits after which incrementally kept norms and scores are computed afresh.
REFRESH = 4096


@inner
def _project_on_ball(plan: Plan, model: Model) -> None:
    head = model.head[0]
    if model.gram.shape[0] > 0 and head.updates % REFRESH == 0:
        refresh(model)
    scale = head.factor * base(plan.rate, head.t)
    norm = scale * math.sqrt(max(head.norm2, 0.0))
    allowed = radius(plan.loss, plan.rate.alpha, head.largest)
    if norm > allowed:
        rescale(model, allowed / norm)


@inner
def walk(
    plan: Plan,
    budget: Any,
    model: Model,
    ahead: LookAhead,
    f: Any,  # shape (outputs,): scores of the present row
    y: Any,  # shape (rows,)
    sample_weight: Any,  # shape (rows,)
    scores: Any,  # shape (rows, outputs): the scores before each update
    rng: Any,
) -> int:
    """Learn a block; return how many rows were learnt.

    Fewer than there are means that the next row's score, or its update, is no longer
    a finite number; the model is as it was before that row.
    """
    head = model.head[0]
    outputs = model.coef.shape[0]
    for t in range(len(y)):
        scale = head.factor * base(plan.rate, head.t)
        known = ahead.kernel[t, : head.count]
        finite = True
        for o in range(outputs):
            coef = model.coef[o]
            total = coef.dtype.type(0)
            for j in range(len(known)):
                total += coef[j] * known[j]
            ahead.raw[o] = total
            f[o] = scale * total
            scores[t, o] = f[o]
            finite &= math.isfinite(scores[t, o])
        if not finite:
            return t
        verdict = judge(plan.loss, f, y[t])
        now = head.t + 1
        factor = head.factor * decay(plan.rate, now)
        kxx = ahead.diag[t]
        step = gain(plan.rate, now)
        weight = propose(plan.step, verdict, step, kxx, sample_weight[t]) / factor
        if not math.isfinite(model.coef.dtype.type(weight)):
            return t
        head.t = now
        head.factor = factor
        head.mistakes += verdict.mistake
        head.largest = max(head.largest, abs(y[t]))
        if weight != 0.0:
            head.updates += 1
            absorb(
                budget, model, ahead, t, Update(verdict.up, verdict.down, weight), rng
            )
            if plan.ball:
                _project_on_ball(plan, model)
        if head.factor < SMALLEST_FACTOR:
            fold(model)
    return len(y)


@jit
def learn(
    plan: Plan,
    budget: Any,
    model: Model,
    centers: Centers,
    rows: Any,
    y: Any,
    sample_weight: Any,
    scores: Any,
    block_size: int,
    largest_size: int,
    rng: Any,
    work: Workspace,
) -> int:
    """Learn rows block by block; return how many were learnt.

    Stops before a block for which the arrays have no room, and after a row that cannot
    be learnt; the caller tells the two apart by the room.
    """
    done = 0
    while done < len(y):
        last = min(done + block_size, len(y))
        size = model.head[0].count
        slots = min(size + last - done, largest_size)
        if slots > len(model.diag):
            return done
        ahead, points = prepare(plan.kernel, rows, done, last, slots, work)
        whole = (0, last - done)
        fill(plan.kernel, rows, done, whole, points, centers, size, ahead, work)
        learnt = walk(
            plan,
            budget,
            model,
            ahead,
            work.f,
            y[done:last],
            sample_weight[done:last],
            scores[done:last],
            rng,
        )
        settle(rows, done, last, points, model.head[0].count, centers, work)
        done += learnt
        if done < last:
            return done
    return done
