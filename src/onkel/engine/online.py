"""Phase 2: one row after another, in compiled code that allocates nothing."""

import math
from typing import Any

from onkel.budget.dispatch import absorb
from onkel.compiled import borrowed, inner, jit, primitive
from onkel.engine.block import (
    Centers,
    Workspace,
    fill,
    lay_out,
    look_ahead,
    reveal,
    settle,
)
from onkel.engine.plan import Plan, slots_for
from onkel.expansion import LookAhead, Model, Update, fold, rescale
from onkel.losses import radius
from onkel.rates import base, decay, gain
from onkel.reads import REFRESH, refresh
from onkel.steps import propose
from onkel.tasks import judge

# Beyond these the factor moves into the coefficients: 1/factor must stay harmless.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-3, 1e3


@inner
def _project_on_ball(plan: Plan, model: Model) -> None:
    head = model.head[0]
    if head.updates % REFRESH == 0:
        head.norm2 = refresh(model.reads, model.coef, head.count, head.norm2)
    scale = head.factor * base(plan.rate, head.t)
    norm = scale * math.sqrt(max(head.norm2, 0.0))
    allowed = radius(plan.loss, plan.rate.alpha, head.largest)
    if norm > allowed:
        rescale(model, allowed / norm)


@primitive
def walk(
    plan: Plan,
    budget: Any,
    model: Model,
    ahead: LookAhead,
    f: Any,  # shape (outputs,): scores of the present row
    start: int,
    y: Any,  # shape (rows,)
    sample_weight: Any,  # shape (rows,)
    scores: Any,  # shape (rows, outputs): the scores before each update
    rng: Any,
) -> int:
    """Learn the rows of a block from `start` on; return where it stopped.

    It stops before a row that is to become a centre and whose kernel values within
    the block are not known yet: `reveal` them and call again. If they are known, the
    row's score or its update is not a finite number, and nothing can be learnt from it.
    The model is as it was before that row.
    """
    head = model.head[0]
    outputs = model.coef.shape[0]
    for t in range(start, len(y)):
        # Called again for the same row: raw scores and f are still there.
        if t > start or not ahead.known[t]:
            scale = head.factor * base(plan.rate, head.t)
            values = ahead.kernel[t, : head.count]
            finite = True
            for o in range(outputs):
                coef = model.coef[o]
                total = coef.dtype.type(0)
                for j in range(len(values)):
                    total += coef[j] * values[j]
                ahead.raw[o] = total
                f[o] = scale * total
                scores[t, o] = f[o]
                finite &= math.isfinite(scores[t, o])
            if not finite:
                ahead.known[t] = True
                return t
        verdict = judge(plan.loss, f, y[t])
        now = head.t + 1
        factor = head.factor * decay(plan.rate, now)
        step = gain(plan.rate, now)
        weight = propose(plan.step, verdict, step, ahead.diag[t], sample_weight[t])
        weight /= factor
        if weight != 0.0 and not ahead.known[t]:
            return t
        if not math.isfinite(model.coef.dtype.type(weight)):
            return t
        head.t = now
        head.factor = factor
        head.mistakes += verdict.mistake
        head.largest = max(head.largest, abs(y[t]))
        if weight != 0.0:
            head.updates += 1
            update = Update(verdict.up, verdict.down, weight)
            absorb(budget, model, ahead, t, update, rng)
            if plan.ball:
                _project_on_ball(plan, model)
        if not SMALLEST_FACTOR < head.factor < LARGEST_FACTOR:
            fold(model)
    return len(y)


@inner
def walk_through(
    plan: Plan,
    budget: Any,
    model: Model,
    centers: Centers,
    rows: Any,
    part: Any,  # (first, last): the rows of the block
    slots: int,
    y: Any,
    sample_weight: Any,
    scores: Any,
    rng: Any,
    work: Workspace,
) -> int:
    """Learn the block whose kernel values `fill` has computed, and settle it.

    Returns how many of its rows were learnt.
    """
    model, centers, work = borrowed(model), borrowed(centers), borrowed(work)
    rows, y, scores = borrowed(rows), borrowed(y), borrowed(scores)
    sample_weight = borrowed(sample_weight)
    first, last = part
    count = last - first
    ahead = look_ahead(count, slots, work)
    work.known[:count] = False
    for j in range(slots):
        work.source[j] = j
    points = lay_out(rows, first, last, work.panel)
    t = 0
    while True:
        t = walk(
            plan,
            budget,
            model,
            ahead,
            work.f,
            t,
            y[first:last],
            sample_weight[first:last],
            scores[first:last],
            rng,
        )
        if t == count or ahead.known[t]:
            break
        reveal(plan.kernel, rows, first, t, points, ahead, work)
    settle(rows, first, last, points, model.head[0].count, centers, work)
    return t


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

    Stops before a block for which the arrays have no room, and before a row that
    cannot be learnt; the caller tells the two apart by the room.
    """
    done = 0
    while done < len(y):
        last = min(done + block_size, len(y))
        size = model.head[0].count
        slots = slots_for(size, last - done, largest_size)
        if slots > len(model.diag):
            return done
        whole = (0, last - done)
        fill(plan.kernel, rows, done, whole, centers, size, slots, work)
        done += walk_through(
            plan,
            budget,
            model,
            centers,
            rows,
            (done, last),
            slots,
            y,
            sample_weight,
            scores,
            rng,
            work,
        )
        if done < last:
            return done
    return done
