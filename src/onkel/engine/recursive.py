"""Phase 2 of KRLS: recursive least squares on the centres, and how sure they are.

A row t is predicted by what the centres say of it, z = R' k_t, with the root of
`onkel.model.inverse`, K^-1 = R R'. In these coordinates the prior of a function is the
standard normal distribution, so that nothing is large where centres are close:

    m     mean of each output        f = z'm
    V     covariance of all of them  var_f = r2 + z'V z,  r2 = k(x_t, x_t) - z'z

    forget           V <- lam V + (1 - lam) I,  m <- sqrt(lam) m,  f <- sqrt(lam) f
    learn            h = V z,  var_y = noise / weight + var_f,  e = y - f
                     m <- m + h e / var_y,  V <- V - h h' / var_y
    x_t is a centre  before it learns, m gets a zero, V a row of the identity, z the
                     square root of r2
    p leaves         R <- R H, m <- H m, V <- H V H, H the reflection that turns row p
                     of R into (0, ..., 0, rho); the last coordinate leaves

Beyond the budget that centre leaves whose value the others know best without it, the
least sum over outputs of (a_p / Q_pp)^2, with a = R m, the coefficients, and Q = K^-1;
or that with which least of the function's norm is lost, of a_p^2 / Q_pp. If it is the
newcomer, nothing but m and V changes, and the root is only read.

It is large, as V is, so what takes long is to read them. Rows are projected eight at a
time (`onkel.model.rows_ahead`). Of a bunch of these, four or fewer, V z is found at a
time (`onkel.engine.bunches`), and R z and R V z if one of them might become a centre.
What is known of the rows to come follows each row that is learnt, by an operation a
centre; once a centre comes or leaves the next row begins a bunch of its own. The
coefficients follow the mean only where somebody asks for them: who is to leave, or at
the end of a block.

The same may be learnt twice on the same centres, by a second memory that forgets
faster. It has a mean in outputs of its own and a V of its own; kernel values, root and
z serve both, and a centre is worth what it is to both.

Another learner may live on these centres, which costs an operation a centre: in the
outputs after all those, rows make passive-aggressive steps with projection, as those of
`onkel.estimators.bpa`. Where the world leaps they repair at once what means forget
slowly.
"""

import math
from typing import Any

import numpy as np

from onkel.compiled.draws import Draws
from onkel.compiled.functions import inlined, inner, shared
from onkel.engine import passes
from onkel.engine.bunches import begin_bunch, forget_some, learn_row, share_bunch
from onkel.engine.dual import target
from onkel.engine.evaluation import largest_score
from onkel.engine.passes import Batch
from onkel.engine.posterior import Posterior, know, measure, note
from onkel.engine.recursive_plan import (
    RecursivePlan,
    forgetting_of,
    is_newcomer,
    outputs_of_one,
    regressed_outputs,
)
from onkel.model.expansion import drop, first_smallest, insert
from onkel.model.inverse import CHECK_EVERY, JITTER, Inverse, inverse_column
from onkel.model.rows import copy
from onkel.model.rows_ahead import (
    dot,
    forget,
    note_entry,
    note_exit,
    place_of,
    project_ahead,
)
from onkel.model.spread import answer, follow, hold, one_of, reflect, widen
from onkel.model.state import Block, Model, Update
from onkel.problem.steps import propose
from onkel.problem.tasks import judge


@shared
def turn_between(cache: Inverse, before: Any) -> Any:
    """Return what turns coordinates of a former root into those of the repaired one.

    Both are roots of K^-1, so that T = R' K R_before is orthogonal.
    """
    size = len(before)
    gram = cache.values[:size, :size].copy()
    now = np.ascontiguousarray(cache.root[:size, :size].T)
    for i in range(size):
        gram[i, i] *= 1.0 + JITTER
    return np.dot(now, np.dot(gram, before))


@inner
def _repair(
    plan: RecursivePlan,
    belief: Posterior,
    f: Any,
    y: float,
    weight: float,
    norm2: float,
) -> None:
    """Find the step of the learner that repairs, if the row's squared norm is that."""
    first = regressed_outputs(plan, belief)
    belief.errors[first:] = 0.0
    if first == len(f) or not norm2 > 0.0:
        return
    loss, verdict = plan.repair.loss, judge(plan.repair.loss, f[first:], y)
    step = propose(plan.repair.step, loss, verdict, 0.0, norm2, weight)
    belief.errors[first + verdict.up] = step
    if verdict.down >= 0:
        belief.errors[first + verdict.down] = -step


@inner
def _find_costs(
    plan: RecursivePlan, belief: Posterior, j: int, size: int, left: float
) -> float:
    """Find what it costs to do without each centre; return it for the newcomer.

    Row j of the bunch is the newcomer, 1/`left` its own entry on the diagonal of K^-1;
    coefficients are as if it had come. The learner that repairs is not asked.
    """
    cost, shares, single = belief.cost, belief.shares[j], outputs_of_one(plan, belief)
    newest = 0.0
    cost[:size] = 0.0
    for o in range(regressed_outputs(plan, belief)):
        coef, error, gain = (
            belief.coef[o],
            belief.errors[o],
            belief.gains[o // single, j],
        )
        newest += error * error
        for i in range(size):
            value = coef[i] + (gain[i] - shares[i]) * error
            cost[i] += value * value
    for i in range(size):
        entry = belief.diagonal[i] + shares[i] * shares[i] / left
        cost[i] /= entry if plan.by_norm else entry * entry
    return newest * (left if plan.by_norm else left * left)


@inner
def _enter(
    plan: RecursivePlan,
    belief: Posterior,
    model: Model,
    block: Block,
    t: int,
    up: int,
    left: float,
) -> None:
    """Row t becomes a centre, and is learnt; the bunch ends with it."""
    size, cache, ahead = model.counters[0].count, model.cache, block.ahead
    tip, j, memories = math.sqrt(left), t - belief.bunch[0].first, len(belief.answers)
    single, z = outputs_of_one(plan, belief), ahead.projected[place_of(ahead, t)]
    shares, regressed = belief.shares[j], regressed_outputs(plan, belief)
    copy(ahead.columns[place_of(ahead, t), :size], cache.column)
    copy(shares[:size], cache.shares)
    note_entry(ahead, block.similarity, t, size, tip)
    for m in range(memories):
        spread, h = one_of(belief.spread, m), belief.answers[m, j]
        widen(spread, size)
        h[size] = tip
        hold(spread, size + 1, forgetting_of(plan, m), belief.shrink[m], h)
    belief.bunch[0].rows = 0
    for o in range(len(belief.mean)):
        mean, coef, error = belief.mean[o], belief.coef[o], belief.errors[o]
        if o < regressed:
            way, gain = belief.answers[o // single, j], belief.gains[o // single, j]
            for i in range(size):
                mean[i] += way[i] * error
                coef[i] += (gain[i] - shares[i]) * error
        else:
            for i in range(size):
                mean[i] += z[i] * error
        mean[size], coef[size] = tip * error, error
    for i in range(size):
        belief.diagonal[i] += shares[i] * shares[i] / left
    belief.diagonal[size] = 1.0 / left
    status = cache.status[0]
    if (status.edits + 1) % CHECK_EVERY > 0:
        insert(model, block, t, Update(up, -1, 0.0))
        return
    repairs, before = status.repairs, cache.root[: size + 1, : size + 1].copy()
    for i in range(size):
        before[i, size], before[size, i] = -shares[i] / tip, 0.0
    before[size, size] = 1.0 / tip
    insert(model, block, t, Update(up, -1, 0.0))
    if status.repairs > repairs:
        forget(ahead)
        turn = turn_between(cache, before)
        for m in range(memories):
            _let_go(belief, m, size + 1)
            follow(one_of(belief.spread, m), turn)
        for o in range(len(belief.mean)):
            mean = belief.mean[o, : size + 1]
            mean[:] = np.dot(turn, mean)
        belief.bunch[0].known = belief.bunch[0].measured = 0
        know(belief, model)
        measure(belief, model)


@inlined
def _let_go(belief: Posterior, m: int, size: int) -> None:
    """Let nothing of a spread be held back."""
    none = belief.answers[m, :0]
    answer(one_of(belief.spread, m), size, none, none)


@inner
def _leave(belief: Posterior, model: Model, block: Block, t: int, p: int) -> None:
    """Centre p leaves: what is known of the others stays as it is."""
    cache, size = model.cache, model.counters[0].count
    column, last = cache.shares, size - 1
    inverse_column(cache, p, size)
    for o in range(len(belief.coef)):
        coef = belief.coef[o]
        share = coef[p] / column[p]
        for i in range(size):
            coef[i] -= column[i] * share
        coef[p] = coef[last]
    share = 1.0 / column[p]
    for i in range(size):
        belief.diagonal[i] -= column[i] * column[i] * share
    belief.diagonal[p] = belief.diagonal[last]
    drop(model, block, t, p)  # and leaves the mirror in `work`
    mirror = cache.work
    scale = 2.0 / dot(mirror, mirror, size)
    note_exit(block.ahead, t, p, size, mirror, scale)
    for m in range(len(belief.answers)):
        reflect(one_of(belief.spread, m), size, mirror, scale)
    for o in range(len(belief.mean)):
        mean = belief.mean[o]
        part = scale * dot(mirror, mean, size)
        for i in range(last):
            mean[i] -= part * mirror[i]


@inner
def _absorb(
    plan: RecursivePlan,
    belief: Posterior,
    model: Model,
    block: Block,
    t: int,
    y: float,
    weight: float,
) -> bool:
    """Learn row t, which has been projected; False if a number is close to infinite."""
    counters, status, bunch = model.counters[0], model.cache.status[0], belief.bunch[0]
    size, f = counters.count, block.f
    if not 0 <= t - bunch.first < bunch.rows:
        begin_bunch(plan, belief, model, block, t)
    is_new = is_newcomer(plan, status.kxx, status.residual)
    if is_new and not bunch.shared:
        share_bunch(belief, model, block, t, size)
    for m in range(len(belief.answers)):
        if not _compare(plan, belief, model, block, t, y, weight, m):
            return False
    z = block.ahead.projected[place_of(block.ahead, t)]
    inside = dot(z, z, size)
    if not is_new:
        _repair(plan, belief, f, y, weight, inside)
        learn_row(plan, belief, block, t - bunch.first, size)
        return True
    left = status.residual + JITTER * status.kxx
    up = 0 if outputs_of_one(plan, belief) == 1 else int(y)
    if size < belief.limit:
        _repair(plan, belief, f, y, weight, status.kxx)
        _enter(plan, belief, model, block, t, up, left)
        return True
    know(belief, model)
    measure(belief, model)
    counters.maintenance += 1
    newest = _find_costs(plan, belief, t - bunch.first, size, left)
    p = first_smallest(belief.cost[:size], model.birth[:size])
    if newest < belief.cost[p]:
        _repair(plan, belief, f, y, weight, inside)
        learn_row(plan, belief, block, t - bunch.first, size)
        return True
    _repair(plan, belief, f, y, weight, status.kxx)
    _enter(plan, belief, model, block, t, up, left)
    _leave(belief, model, block, t, p)
    return True


@inner
def _compare(
    plan: RecursivePlan,
    belief: Posterior,
    model: Model,
    block: Block,
    t: int,
    y: float,
    weight: float,
    m: int,
) -> bool:
    """Let a memory forget some, and compare what it says of row t with what it is.

    False if it has nothing to say.
    """
    size, status, lam = (
        model.counters[0].count,
        model.cache.status[0],
        forgetting_of(plan, m),
    )
    single, j, f = outputs_of_one(plan, belief), t - belief.bunch[0].first, block.f
    z, h = block.ahead.projected[place_of(block.ahead, t)], belief.answers[m, j]
    if lam < 1.0:
        root = math.sqrt(lam)
        forget_some(lam, size, h, z)
        if belief.bunch[0].shared:
            forget_some(lam, size, belief.gains[m, j], belief.shares[j])
        for o in range(single):
            f[m * single + o] *= root
            mean, coef = belief.mean[m * single + o], belief.coef[m * single + o]
            for i in range(size):
                mean[i] *= root
                coef[i] *= root
    var_f = status.residual + max(dot(z, h, size), 0.0)
    # The jitter of a centre is noise to the others.
    var_y = max(plan.noise / weight, 2.0 * JITTER * status.kxx) + var_f
    if not var_y > 0.0:
        return False
    belief.shrink[m] = 1.0 / var_y
    for o in range(single):
        missing = target(y, o, single) - f[m * single + o]
        belief.errors[m * single + o] = missing / var_y
    if m == 0:
        note(belief, y, f[:single], var_y, weight, lam, plan.labels)
    return True


@inner
def _project_some(model: Model, block: Block, t: int) -> None:
    """Project row t, and those after it while they are at hand."""
    ahead, last = block.ahead, len(block.kernel) - 1
    for i in range(len(ahead.wanted)):
        ahead.wanted[i] = t + 1 + i if t + 1 + i <= last else -1
    turned = model.cache.root.T[: model.counters[0].count]
    project_ahead(ahead, block.similarity, block.rows, model.points, turned, False, t)


@passes.walk.register(RecursivePlan)
def walk(
    plan: RecursivePlan,
    belief: Posterior,
    model: Model,
    block: Block,
    batch: Batch,
    draws: Draws,
) -> int:
    """Learn the rows of a block; return how many could be learnt.

    It stops before a row whose score or kernel value with itself is close to infinite.
    """
    y, sample_weight, scores = batch.y, batch.sample_weight, batch.scores
    counters, ahead, f = model.counters[0], block.ahead, block.f
    limit, status, done = largest_score(model.coef), model.cache.status[0], len(y)
    belief.bunch[0].known = belief.bunch[0].measured = belief.bunch[0].rows = 0
    single = outputs_of_one(plan, belief)
    for t in range(len(y)):
        size = counters.count
        if place_of(ahead, t) < 0:
            _project_some(model, block, t)
        place = place_of(ahead, t)
        z, status.kxx = ahead.projected[place, :size], ahead.kxx[place]
        status.residual = max(status.kxx - dot(z, z, size), 0.0)
        small = status.kxx < limit
        for o in range(len(f)):
            f[o] = dot(belief.mean[o], z, size)
            scores[t, o] = f[o]
            small &= abs(f[o]) < limit and abs(y[t]) < limit
        if not small:
            done = t
            break
        counters.t += 1
        counters.mistakes += judge(plan.loss, f[:single], y[t]).mistake
        counters.largest = max(counters.largest, abs(y[t]))
        if sample_weight[t] == 0.0:
            continue
        counters.updates += 1
        if not _absorb(plan, belief, model, block, t, y[t], sample_weight[t]):
            done = t
            break
        block.pending[0] = -1
    size = counters.count
    for m in range(len(belief.answers)):
        _let_go(belief, m, size)
    know(belief, model)
    for o in range(len(f)):
        copy(belief.coef[o, :size], model.coef[o])
    return done
