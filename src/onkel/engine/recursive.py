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
time (`onkel.model.spread`), and R z and R V z if one of them might become a centre.
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
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.draws import Draws
from onkel.compiled.functions import inlined, inner, shared
from onkel.engine import passes
from onkel.engine.dual import target
from onkel.engine.evaluation import largest_score
from onkel.engine.passes import Batch
from onkel.engine.posterior import Posterior, know, measure, note
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
from onkel.model.spread import TOGETHER, answer, follow, hold, one_of, reflect, widen
from onkel.model.state import Block, Model, Update
from onkel.problem import losses, steps
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.steps import Step, propose
from onkel.problem.tasks import judge


class Repair(NamedTuple):
    """Another learner on the same centres, whose steps just repair a loss."""

    loss: Loss
    step: Step  # passive-aggressive
    there: bool  # whether there is one


ALONE = Repair(losses.make("hinge"), steps.passive_aggressive(1.0), False)


class RecursivePlan(NamedTuple):
    """What phase 2 needs to know besides the posterior."""

    kernel: Kernel
    loss: Loss  # the squared error
    rate: Rate  # constant; nothing shrinks by itself
    ball: bool  # never; the learner asks every plan
    noise: float  # variance of targets around the function, the prior's being k(x, x)
    forgetting: float
    threshold: float  # share of k(x, x) that must be new in a row, so that it stays
    labels: bool  # whether targets are classes
    by_norm: bool  # whether the norm of the function says who leaves
    repair: Repair = ALONE
    faster: float = 1.0  # the forgetting of the second memory, where there is one


# Compiled on their own, because within a walk loops over a matrix come out slower. Four
# directions at a time, for all rows of a bunch while they are in the first cache.
@shared
def _represent(
    turned: Any, size: int, rows: Any, first: int, answers: Any, shares: Any, gains: Any
) -> None:
    """Compute root z and root V z of a bunch, from its row `first` on.

    `rows` has the shape (rows, capacity); shares one more dimension than a vector, the
    others one more than that, for memories. All are contiguous, or loops over them
    would be scalar.
    """
    full = size - size % 4
    for j in range(first, first + len(rows)):
        shares[j, :size] = 0.0
        for m in range(len(gains)):
            gains[m, j, :size] = 0.0
    for k in range(0, full, 4):
        one, two = turned[k, :size], turned[k + 1, :size]
        three, four = turned[k + 2, :size], turned[k + 3, :size]
        for n in range(len(rows)):
            j = first + n
            z, h, share, gain = rows[n], answers[0, j], shares[j], gains[0, j]
            a, b, c, d = z[k], z[k + 1], z[k + 2], z[k + 3]
            p, q, r, s = h[k], h[k + 1], h[k + 2], h[k + 3]
            for i in range(size):
                u, v, w, x = one[i], two[i], three[i], four[i]
                share[i] += a * u + b * v + (c * w + d * x)
                gain[i] += p * u + q * v + (r * w + s * x)
            for m in range(1, len(gains)):
                h, gain = answers[m, j], gains[m, j]
                p, q, r, s = h[k], h[k + 1], h[k + 2], h[k + 3]
                for i in range(size):
                    u, v, w, x = one[i], two[i], three[i], four[i]
                    gain[i] += p * u + q * v + (r * w + s * x)
    for k in range(full, size):
        own = turned[k, :size]
        for n in range(len(rows)):
            j = first + n
            a, share = rows[n, k], shares[j]
            for i in range(size):
                share[i] += a * own[i]
            for m in range(len(gains)):
                p, gain = answers[m, j, k], gains[m, j]
                for i in range(size):
                    gain[i] += p * own[i]


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
def _begin_bunch(
    plan: RecursivePlan, belief: Posterior, model: Model, block: Block, t: int
) -> None:
    """Find the answers of row t, and of those after it that are projected already.

    As long as there is room, a row that becomes a centre is the last.
    """
    ahead, bunch, size = block.ahead, belief.bunch[0], model.counters[0].count
    place, rows = place_of(ahead, t), 0
    while rows < TOGETHER and place + rows < len(ahead.rows):
        here = place + rows
        if ahead.rows[here] != t + rows:
            break
        rows += 1
        kxx, z = ahead.kxx[here], ahead.projected[here]
        if size < belief.limit and _is_new(plan, kxx, kxx - dot(z, z, size)):
            break
    some = ahead.projected[place : place + rows]
    for m in range(len(belief.answers)):
        answer(one_of(belief.spread, m), size, some, belief.answers[m, :rows])
    bunch.first, bunch.rows, bunch.shared = t, rows, 0


@inner
def _share_bunch(
    belief: Posterior, model: Model, block: Block, t: int, size: int
) -> None:
    """Find shares and gains of row t, and of those after it in the bunch."""
    bunch, turned = belief.bunch[0], model.cache.root.T
    first, place = t - bunch.first, place_of(block.ahead, t)
    rows = block.ahead.projected[place : place + bunch.rows - first]
    answers, shares, gains = belief.answers, belief.shares, belief.gains
    _represent(turned, size, rows, first, answers, shares, gains)
    bunch.shared = 1


@inlined
def _single(plan: RecursivePlan, belief: Posterior) -> int:
    """How many outputs a learner has."""
    others = 1 if plan.repair.there else 0
    return len(belief.mean) // (len(belief.answers) + others)


@inlined
def _regressed(plan: RecursivePlan, belief: Posterior) -> int:
    """How many outputs are not those of the learner that repairs."""
    return _single(plan, belief) * len(belief.answers)


@inlined
def _forgetting(plan: RecursivePlan, m: int) -> float:
    return plan.forgetting if m == 0 else plan.faster


@inner
def _repair(
    plan: RecursivePlan,
    belief: Posterior,
    f: Any,
    y: float,
    weight: float,
    norm2: float,
) -> None:
    """Find the step of the second learner, if the row's squared norm is that."""
    first = _regressed(plan, belief)
    belief.errors[first:] = 0.0
    if first == len(f) or not norm2 > 0.0:
        return
    loss, verdict = plan.repair.loss, judge(plan.repair.loss, f[first:], y)
    step = propose(plan.repair.step, loss, verdict, 0.0, norm2, weight)
    belief.errors[first + verdict.up] = step
    if verdict.down >= 0:
        belief.errors[first + verdict.down] = -step


@inlined
def _is_new(plan: RecursivePlan, kxx: float, r2: float) -> bool:
    """Whether the centres leave enough of a row for another."""
    return r2 > max(plan.threshold, 2.0 * JITTER) * kxx


@inner
def _forget_some(lam: float, size: int, vector: Any, prior: Any) -> None:
    """Let a product with V be that with lam V + (1 - lam) I."""
    for i in range(size):
        vector[i] = lam * vector[i] + (1.0 - lam) * prior[i]


@inner
def _learn_row(
    plan: RecursivePlan, belief: Posterior, block: Block, j: int, size: int
) -> None:
    """Let means, spreads and the rows to come of the bunch follow its row j.

    Coefficients follow, too, where it is known how.
    """
    ahead, bunch, single = block.ahead, belief.bunch[0], _single(plan, belief)
    place, regressed = place_of(ahead, bunch.first), _regressed(plan, belief)
    bunch.known &= bunch.shared
    for o in range(len(belief.mean)):
        mean, coef, error, m = belief.mean[o], belief.coef[o], belief.errors[o], 0
        way, known = ahead.projected[place + j], belief.shares[j]
        if o < regressed:
            m = o // single
            way, known = belief.answers[m, j], belief.gains[m, j]
        for i in range(size):
            mean[i] += way[i] * error
        if bunch.known:
            for i in range(size):
                coef[i] += known[i] * error
    for m in range(len(belief.answers)):
        _follow_row(plan, belief, block, j, size, m)


@inner
def _follow_row(
    plan: RecursivePlan, belief: Posterior, block: Block, j: int, size: int, m: int
) -> None:
    """Let the spread of a memory, and what it says of rows to come, follow row j."""
    ahead, bunch, h = block.ahead, belief.bunch[0], belief.answers[m, j]
    lam, shrink, place = (
        _forgetting(plan, m),
        belief.shrink[m],
        place_of(ahead, bunch.first),
    )
    hold(one_of(belief.spread, m), size, lam, shrink, h)
    for r in range(j + 1, bunch.rows):
        z, answered = ahead.projected[place + r], belief.answers[m, r]
        part = shrink * dot(h, z, size)
        if lam < 1.0:
            _forget_some(lam, size, answered, z)
        for i in range(size):
            answered[i] -= part * h[i]
        if bunch.shared:
            gain, known = belief.gains[m, r], belief.gains[m, j]
            if lam < 1.0:
                _forget_some(lam, size, gain, belief.shares[r])
            for i in range(size):
                gain[i] -= part * known[i]


@inner
def _find_costs(
    plan: RecursivePlan, belief: Posterior, j: int, size: int, left: float
) -> float:
    """Find what it costs to do without each centre; return it for the newcomer.

    Row j of the bunch is the newcomer, 1/`left` its own entry on the diagonal of K^-1;
    coefficients are as if it had come. The learner that repairs is not asked.
    """
    cost, shares, single = belief.cost, belief.shares[j], _single(plan, belief)
    newest = 0.0
    cost[:size] = 0.0
    for o in range(_regressed(plan, belief)):
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
    single, z = _single(plan, belief), ahead.projected[place_of(ahead, t)]
    shares, regressed = belief.shares[j], _regressed(plan, belief)
    copy(ahead.columns[place_of(ahead, t), :size], cache.column)
    copy(shares[:size], cache.shares)
    note_entry(ahead, block.similarity, t, size, tip)
    for m in range(memories):
        spread, h = one_of(belief.spread, m), belief.answers[m, j]
        widen(spread, size)
        h[size] = tip
        hold(spread, size + 1, _forgetting(plan, m), belief.shrink[m], h)
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
        _begin_bunch(plan, belief, model, block, t)
    is_new = _is_new(plan, status.kxx, status.residual)
    if is_new and not bunch.shared:
        _share_bunch(belief, model, block, t, size)
    for m in range(len(belief.answers)):
        if not _compare(plan, belief, model, block, t, y, weight, m):
            return False
    z = block.ahead.projected[place_of(block.ahead, t)]
    inside = dot(z, z, size)
    if not is_new:
        _repair(plan, belief, f, y, weight, inside)
        _learn_row(plan, belief, block, t - bunch.first, size)
        return True
    left = status.residual + JITTER * status.kxx
    up = 0 if _single(plan, belief) == 1 else int(y)
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
        _learn_row(plan, belief, block, t - bunch.first, size)
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
        _forgetting(plan, m),
    )
    single, j, f = _single(plan, belief), t - belief.bunch[0].first, block.f
    z, h = block.ahead.projected[place_of(block.ahead, t)], belief.answers[m, j]
    if lam < 1.0:
        root = math.sqrt(lam)
        _forget_some(lam, size, h, z)
        if belief.bunch[0].shared:
            _forget_some(lam, size, belief.gains[m, j], belief.shares[j])
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
    single = _single(plan, belief)
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
