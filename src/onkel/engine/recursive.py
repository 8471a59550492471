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
least sum over outputs of (a_p / Q_pp)^2, with a = R m, the coefficients, and Q = K^-1.
If it is the newcomer, nothing but m and V changes, and the root is only read.

It is large, as V is, so what takes long is to read them. V is a triangle; what a row
changes of it is held back until the next row reads it anyway. The coefficients follow
the mean only where somebody asks for them: who is to leave, or at the end of a block.

The scores of the rows, each before it is learnt, also tell how wide errors are for
their variance (`misfit`), and how steep log-odds are over scores (`slope`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import refuse_nonsense, relabelled, resized
from onkel.compiled.draws import Draws
from onkel.compiled.functions import borrowed, inlined, inner, shared
from onkel.engine import passes
from onkel.engine.dual import target
from onkel.engine.evaluation import (
    kernel_values,
    largest_score,
    norms_of,
)
from onkel.engine.evaluation import norms as measured
from onkel.engine.passes import Batch
from onkel.engine.threads import blas_in_one_thread
from onkel.model.expansion import drop, first_smallest, insert
from onkel.model.growing import enlarged
from onkel.model.inverse import (
    CHECK_EVERY,
    JITTER,
    Inverse,
    inverse_column,
    inverse_diagonal,
)
from onkel.model.ranges import WORK, finite, not_negative, positive
from onkel.model.rows import (
    beside,
    copy,
    order_for,
    rows_of,
)
from onkel.model.rows_ahead import (
    dot,
    forget,
    note_entry,
    note_exit,
    place_of,
    project_ahead,
)
from onkel.model.state import Block, Model, Update
from onkel.problem.kernels import Kernel, diagonal
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.tasks import judge

# Variances of coordinates in a model file: above the prior's only by rounding.
WIDEST = 1.0 + 1e-3
# Of log-odds over scores: where they begin, as one row may have it, and how far they
# may go.
FIRST_SLOPE, FLATTEST, STEEPEST = 2.0, 1e-2, 1e2

TALLY = np.dtype(
    [
        ("rows", np.float64),  # scores that had a weight, as far as not forgotten
        ("misfit", np.float64),  # sum of their e^2 / var_y, likewise
        ("slope", np.float64),  # of log-odds over scores
        ("curvature", np.float64),  # of the log-loss in it, likewise
    ],
    align=True,
)
HELD = np.dtype(
    [
        ("keep", np.float64),  # V is still to become keep V + (1 - keep) I
        ("shrink", np.float64),  # - shrink g g'
        ("turned", np.int64),  # - mirror image' - image mirror'
        ("known", np.int64),  # whether coefficients and diagonal are those of m and R
    ],
    align=True,
)


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


@strategy(
    cache=Inverse,
    newcomer=True,
    looks_ahead=True,
    ranges={
        "mean": finite,
        "spread": finite,
        "coef": WORK,
        "diagonal": WORK,
        "response": WORK,
        "waiting": WORK,
        "mirror": WORK,
        "image": WORK,
        "gain": WORK,
        "cost": WORK,
        "errors": WORK,
        "held.keep": WORK,
        "held.shrink": WORK,
        "held.turned": WORK,
        "held.known": WORK,
        "tally.rows": not_negative,
        "tally.misfit": not_negative,
        "tally.slope": positive,
        "tally.curvature": positive,
    },
)
class Posterior(NamedTuple):
    """What is known of the function, on a hard budget; `make` constructs it."""

    limit: int
    mean: Any  # m, shape (outputs, capacity), float64
    spread: Any  # V, shape (capacity, capacity), float64: its lower triangle
    coef: Any  # R m, shape (outputs, capacity), float64
    diagonal: Any  # of K^-1, shape (capacity,), float64
    response: Any  # V z, likewise
    waiting: Any  # g of what is held back, likewise
    mirror: Any  # of the reflection there, likewise
    image: Any  # and what is subtracted for it, likewise
    gain: Any  # R V z, likewise
    cost: Any  # of leaving, likewise
    errors: Any  # e / var_y, shape (outputs,), float64
    held: Any  # shape (1,), of HELD
    tally: Any  # shape (1,), of TALLY


# Those with a number a slot.
LINES = ("diagonal", "response", "waiting", "mirror", "image", "gain", "cost")


def make(limit: int) -> Posterior:
    """Make the posterior of no rows.

    Examples
    --------
    >>> make(limit=10).tally[0].rows.item()
    0.0
    """
    tally = np.zeros(1, TALLY).view(np.recarray)
    tally.slope, tally.curvature = FIRST_SLOPE, 1.0
    held = np.zeros(1, HELD).view(np.recarray)
    held.keep = 1.0
    square = dict.fromkeys(("mean", "spread", "coef"), np.zeros((0, 0)))
    lines = dict.fromkeys((*LINES, "errors"), np.zeros(0))
    return Posterior(limit, **square, **lines, held=held, tally=tally)


@resized.register
def _resized(belief: Posterior, model: Model) -> Posterior:
    (outputs, capacity), size = model.coef.shape, int(model.counters[0].count)
    lines: dict[str, Any] = {name: np.zeros(capacity) for name in LINES}
    return belief._replace(
        mean=enlarged(belief.mean[:, :size], outputs, capacity),
        spread=enlarged(belief.spread[:size, :size], capacity, capacity),
        coef=np.zeros((outputs, capacity)),
        **lines,
        errors=np.zeros(outputs),
    )


@relabelled.register
def _relabelled(belief: Posterior, matrix: np.ndarray) -> Posterior:
    """Map the outputs by a matrix (new x old); see `state.relabelled`."""
    return belief._replace(
        mean=np.ascontiguousarray(matrix @ belief.mean),
        coef=np.zeros((len(matrix), belief.coef.shape[1])),
        errors=np.zeros(len(matrix)),
    )


@refuse_nonsense.register
def _refuse_nonsense(belief: Posterior, model: Model) -> None:
    size = int(model.counters[0].count)
    variances = np.diagonal(belief.spread)[:size]
    if not ((variances > 0.0) & (variances <= WIDEST)).all():
        raise ValueError("Posterior.spread has a variance that rows cannot have left")


# Compiled on their own, because within a walk loops over a matrix come out slower. Four
# directions at a time: what they have in common is then read once.
@shared
def _represent(turned: Any, z: Any, h: Any, shares: Any, gain: Any) -> None:
    """Compute root z and root h."""
    size = len(z)
    full = size - size % 4
    shares[:] = 0.0
    gain[:] = 0.0
    for k in range(0, full, 4):
        first, second = turned[k, :size], turned[k + 1, :size]
        third, fourth = turned[k + 2, :size], turned[k + 3, :size]
        a, b, c, d = z[k], z[k + 1], z[k + 2], z[k + 3]
        p, q, r, s = h[k], h[k + 1], h[k + 2], h[k + 3]
        for i in range(size):
            u, v, w, x = first[i], second[i], third[i], fourth[i]
            shares[i] += a * u + b * v + (c * w + d * x)
            gain[i] += p * u + q * v + (r * w + s * x)
    for k in range(full, size):
        own, a, p = turned[k], z[k], h[k]
        for i in range(size):
            shares[i] += a * own[i]
            gain[i] += p * own[i]


@shared
def _combine(turned: Any, mean: Any, coef: Any) -> None:
    """Compute root m of each output."""
    size = mean.shape[1]
    coef[:] = 0.0
    for k in range(size):
        own = turned[k]
        for o in range(len(mean)):
            value, out = mean[o, k], coef[o]
            for i in range(size):
                out[i] += value * own[i]


class Held(NamedTuple):
    """What is held back of V."""

    keep: float  # it is still to become keep V + (1 - keep) I
    shrink: float  # - shrink g g'
    waiting: Any  # g, shape (size,)
    turned: int  # whether also: - mirror image' - image mirror'
    mirror: Any
    image: Any


@inlined
def _entry(held: Held, value: float, k: int, i: int) -> float:
    """Entry of V, whose value is known without what is held back."""
    value = held.keep * value - held.shrink * held.waiting[k] * held.waiting[i]
    if held.turned:
        value -= held.mirror[k] * held.image[i] + held.image[k] * held.mirror[i]
    return value + (1.0 - held.keep if k == i else 0.0)


# Loops over two rows of the triangle at a time, which share what is read and written
# besides. These are most of what a row costs.
@inlined
def _two_rows(
    held: Held, k: int, one: Any, other: Any, z: Any, ends: Any, out: Any
) -> Any:
    keep, waiting, (p, q) = held.keep, held.waiting, ends
    a, b = held.shrink * waiting[k], held.shrink * waiting[k + 1]
    s, t = 0.0, 0.0
    for i in range(len(one)):
        g, part = waiting[i], z[i]
        v = keep * one[i] - a * g
        w = keep * other[i] - b * g
        one[i], other[i] = v, w
        s += v * part
        t += w * part
        out[i] += v * p + w * q
    return s, t


@inlined
def _two_turned_rows(
    held: Held, k: int, one: Any, other: Any, z: Any, ends: Any, out: Any
) -> Any:
    keep, waiting, (p, q) = held.keep, held.waiting, ends
    mirror, image = held.mirror, held.image
    a, b = held.shrink * waiting[k], held.shrink * waiting[k + 1]
    c, d, e, f = mirror[k], mirror[k + 1], image[k], image[k + 1]
    s, t = 0.0, 0.0
    for i in range(len(one)):
        g, part, m, n = waiting[i], z[i], mirror[i], image[i]
        v = keep * one[i] - (a * g + (c * n + e * m))
        w = keep * other[i] - (b * g + (d * n + f * m))
        one[i], other[i] = v, w
        s += v * part
        t += w * part
        out[i] += v * p + w * q
    return s, t


@shared
def _advance(spread: Any, held: Held, z: Any, out: Any) -> None:
    """Let V be what is held back of it, and `out` its product with z.

    One pass: a number of the triangle stands for two of the matrix.
    """
    spread, held, z, out = borrowed(spread), borrowed(held), borrowed(z), borrowed(out)
    size, first = len(z), len(z) % 2
    out[:] = 0.0
    if first:
        spread[0, 0] = _entry(held, spread[0, 0], 0, 0)
        out[0] = spread[0, 0] * z[0]
    for k in range(first, size, 2):
        one, other, ends = spread[k, :k], spread[k + 1, :k], (z[k], z[k + 1])
        if held.turned:
            s, t = _two_turned_rows(held, k, one, other, z, ends, out)
        else:
            s, t = _two_rows(held, k, one, other, z, ends, out)
        head = _entry(held, spread[k, k], k, k)
        side = _entry(held, spread[k + 1, k], k + 1, k)
        tail = _entry(held, spread[k + 1, k + 1], k + 1, k + 1)
        spread[k, k], spread[k + 1, k], spread[k + 1, k + 1] = head, side, tail
        out[k] = s + head * z[k] + side * z[k + 1]
        out[k + 1] = t + side * z[k] + tail * z[k + 1]


@shared
def _respond(spread: Any, z: Any, out: Any) -> None:
    """Compute the product of V and z, without what is held back."""
    out[:] = 0.0
    for k in range(len(z)):
        own, part, total = spread[k, :k], z[k], 0.0
        for i in range(k):
            total += own[i] * z[i]
            out[i] += own[i] * part
        out[k] = total + spread[k, k] * part


@shared
def follow_repair(cache: Inverse, before: Any, mean: Any, spread: Any) -> None:
    """Express m and V by the root as it is now, which was `before` until repaired.

    Both are roots of K^-1, so that T = R' K R_before is orthogonal.
    """
    size = len(before)
    gram = cache.values[:size, :size].copy()
    now = np.ascontiguousarray(cache.root[:size, :size].T)
    for i in range(size):
        gram[i, i] *= 1.0 + JITTER
    turn = np.dot(now, np.dot(gram, before))
    known = spread[:size, :size].copy()
    for i in range(size):
        for k in range(i):
            known[k, i] = known[i, k]
    known = np.dot(np.dot(turn, known), np.ascontiguousarray(turn.T))
    for i in range(size):
        for k in range(i + 1):
            spread[i, k] = 0.5 * (known[i, k] + known[k, i])
    for o in range(len(mean)):
        mean[o, :size] = np.dot(turn, mean[o, :size].copy())


# Rows whose variances are found at a time.
TILE = 256


def variances(
    plan: RecursivePlan, belief: Posterior, model: Model, X: Any
) -> np.ndarray:
    """Find the variances of the function at some rows: r2 + z'V z of each."""
    size = int(model.counters[0].count)
    root = np.ascontiguousarray(model.cache.root[:size, :size])
    spread = np.tril(belief.spread[:size, :size], -1)
    spread = spread + spread.T + np.diag(np.diagonal(belief.spread)[:size])
    points = np.asarray(model.points[:size], np.float64, order=order_for(X))
    norms = norms_of(plan.kernel, np.ascontiguousarray(points))
    out = np.empty(X.shape[0])
    with blas_in_one_thread:
        for first in range(0, len(out), TILE):
            some = X[first : first + TILE]
            rows, values = rows_of(some, np.float64), np.empty((some.shape[0], size))
            own = np.empty(len(values))
            measured(plan.kernel, rows, own)
            kernel_values(plan.kernel, rows, beside(rows, points), norms, values)
            z = values @ root
            inside = np.einsum("ti,ti->t", z, z)
            left = np.maximum(diagonal(plan.kernel, own) - inside, 0.0)
            known = np.einsum("ti,ti->t", z @ spread, z)
            out[first : first + TILE] = left + np.maximum(known, 0.0)
    return out


@inner
def _answer(belief: Posterior, z: Any, out: Any) -> None:
    """Compute the product of V and z; nothing is held back any more."""
    held, size = belief.held[0], len(z)
    mirror, image = belief.mirror[:size], belief.image[:size]
    parts = belief.waiting[:size], held.turned, mirror, image
    _advance(belief.spread, Held(held.keep, held.shrink, *parts), z, out)
    held.keep, held.shrink, held.turned = 1.0, 0.0, 0


@inner
def _know(belief: Posterior, model: Model) -> None:
    """Let coefficients and the diagonal of K^-1 be those of the mean and the root."""
    size = model.counters[0].count
    if belief.held[0].known:
        return
    turned = model.cache.root.T[:size]
    _combine(turned, belief.mean[:, :size], belief.coef[:, :size])
    inverse_diagonal(model.cache, size, belief.diagonal)
    belief.held[0].known = 1


@inner
def _note(
    plan: RecursivePlan,
    belief: Posterior,
    y: float,
    f: Any,
    var_y: float,
    weight: float,
) -> None:
    """Compare the scores of a row with what it is, before it is learnt.

    The slope is that of logistic regression on one feature, by Newton's steps: a row's
    part in gradient and curvature, over the sum of curvatures.
    """
    tally, outputs = belief.tally[0], len(f)
    tally.rows = plan.forgetting * tally.rows + outputs
    tally.misfit *= plan.forgetting
    for o in range(outputs):
        tally.misfit += belief.errors[o] * belief.errors[o] * var_y
    if not plan.labels:
        return
    if outputs == 1:
        score = y * f[0]
        doubt = 1.0 / (1.0 + math.exp(min(tally.slope * score, 500.0)))
        pull, bend = score * doubt, score * score * doubt * (1.0 - doubt)
    else:
        largest = f[0]
        for o in range(1, outputs):
            largest = max(largest, f[o])
        total, first, second = 0.0, 0.0, 0.0
        for o in range(outputs):
            score = f[o] - largest
            chance = math.exp(max(tally.slope * score, -500.0))
            total += chance
            first += chance * score
            second += chance * score * score
        first /= total
        pull = f[int(y)] - largest - first
        bend = second / total - first * first
    tally.curvature = plan.forgetting * tally.curvature + weight * bend
    # What forgetting leaves must still steady the step.
    step = weight * pull / max(tally.curvature, 1.0)
    tally.slope = min(max(tally.slope + step, FLATTEST), STEEPEST)


@inner
def _move_mean(belief: Posterior, size: int) -> None:
    """Let the mean follow the errors of a row, and the spread when it is read."""
    h = belief.response
    for o in range(len(belief.mean)):
        mean, error = belief.mean[o], belief.errors[o]
        for i in range(size):
            mean[i] += h[i] * error
    copy(h[:size], belief.waiting)


@inner
def _find_costs(belief: Posterior, shares: Any, left: float) -> float:
    """Find what it costs to do without each centre; return it for the newcomer.

    `shares` are those of the centres in the newcomer, 1/`left` is its own entry on the
    diagonal of K^-1, and coefficients are as if it had come.
    """
    size, cost = len(shares), belief.cost
    newest = 0.0
    cost[:size] = 0.0
    for o in range(len(belief.coef)):
        coef, error = belief.coef[o], belief.errors[o]
        newest += error * error
        for i in range(size):
            value = coef[i] + (belief.gain[i] - shares[i]) * error
            cost[i] += value * value
    for i in range(size):
        entry = belief.diagonal[i] + shares[i] * shares[i] / left
        cost[i] /= entry * entry
    return newest * left * left


@inner
def _enter(
    belief: Posterior, model: Model, block: Block, t: int, up: int, left: float
) -> None:
    """Row t becomes a centre, and is learnt."""
    size, cache = model.counters[0].count, model.cache
    shares, tip, kernel = cache.shares, math.sqrt(left), block.similarity
    copy(block.ahead.columns[place_of(block.ahead, t), :size], cache.column)
    note_entry(block.ahead, kernel, t, size, tip)
    for o in range(len(belief.mean)):
        coef, error = belief.coef[o], belief.errors[o]
        for i in range(size):
            coef[i] += (belief.gain[i] - shares[i]) * error
        coef[size] = error
        belief.mean[o, size] = 0.0
    for i in range(size):
        belief.diagonal[i] += shares[i] * shares[i] / left
        belief.spread[size, i] = 0.0
    belief.diagonal[size] = 1.0 / left
    belief.spread[size, size] = 1.0
    belief.response[size] = tip
    _move_mean(belief, size + 1)
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
        _answer(belief, belief.response[: size + 1], belief.cost)
        follow_repair(cache, before, belief.mean, belief.spread)
        forget(block.ahead)
        belief.held[0].known = 0
        _know(belief, model)


@inner
def _leave(belief: Posterior, model: Model, block: Block, t: int, p: int) -> None:
    """Centre p leaves: what is known of the others stays as it is."""
    cache, size = model.cache, model.counters[0].count
    last, held = size - 1, belief.held[0]
    column = cache.shares
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
    scale = 2.0 / dot(cache.work, cache.work, size)
    mirror, image, waiting = belief.mirror[:size], belief.image, belief.waiting
    copy(cache.work[:size], mirror)
    note_exit(block.ahead, t, p, size, mirror, scale)
    _respond(belief.spread, mirror, image[:size])
    part = held.shrink * dot(waiting, mirror, size)
    for i in range(size):
        image[i] = held.keep * image[i] + (1.0 - held.keep) * mirror[i]
        image[i] -= part * waiting[i]
    half = 0.5 * scale * dot(mirror, image, size)
    for i in range(size):
        image[i] = scale * (image[i] - half * mirror[i])
    held.turned = 1
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
    counters, cache, held = model.counters[0], model.cache, belief.held[0]
    size, outputs, f = counters.count, len(belief.mean), block.f
    lam, status = plan.forgetting, cache.status[0]
    z = block.ahead.projected[place_of(block.ahead, t), :size]
    h = belief.response[:size]
    _answer(belief, z, h)
    covered = 0.0
    if lam < 1.0:
        root = math.sqrt(lam)
        for i in range(size):
            h[i] = lam * h[i] + (1.0 - lam) * z[i]
        for o in range(outputs):
            f[o] *= root
            mean, coef = belief.mean[o], belief.coef[o]
            for i in range(size):
                mean[i] *= root
                coef[i] *= root
    for i in range(size):
        covered += z[i] * h[i]
    var_f = status.residual + max(covered, 0.0)
    # The jitter of a centre is noise to the others.
    var_y = max(plan.noise / weight, 2.0 * JITTER * status.kxx) + var_f
    if not var_y > 0.0:
        return False
    for o in range(outputs):
        belief.errors[o] = (target(y, o, outputs) - f[o]) / var_y
    _note(plan, belief, y, f, var_y, weight)
    held.keep, held.shrink = lam, 1.0 / var_y
    least = max(plan.threshold, 2.0 * JITTER) * status.kxx
    if not status.residual > least:
        held.known = 0
        _move_mean(belief, size)
        return True
    is_full = size >= belief.limit
    if is_full:
        _know(belief, model)
    shares = cache.shares[:size]
    _represent(cache.root.T[:size], z, h, shares, belief.gain[:size])
    left = status.residual + JITTER * status.kxx
    up = 0 if outputs == 1 else int(y)
    if not is_full:
        _enter(belief, model, block, t, up, left)
        return True
    counters.maintenance += 1
    newest = _find_costs(belief, shares, left)
    p = first_smallest(belief.cost[:size], model.birth[:size])
    if newest < belief.cost[p]:
        _move_mean(belief, size)
        for o in range(outputs):
            coef, error = belief.coef[o], belief.errors[o]
            for i in range(size):
                coef[i] += belief.gain[i] * error
        return True
    _enter(belief, model, block, t, up, left)
    _leave(belief, model, block, t, p)
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
    belief.held[0].known = 0
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
        counters.mistakes += judge(plan.loss, f, y[t]).mistake
        counters.largest = max(counters.largest, abs(y[t]))
        if sample_weight[t] == 0.0:
            continue
        counters.updates += 1
        if not _absorb(plan, belief, model, block, t, y[t], sample_weight[t]):
            done = t
            break
        block.pending[0] = -1
    size = counters.count
    _answer(belief, belief.response[:size], belief.cost)
    _know(belief, model)
    for o in range(len(f)):
        copy(belief.coef[o, :size], model.coef[o])
    return done
