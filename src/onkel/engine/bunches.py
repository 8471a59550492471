"""Bunches: rows of KRLS whose answers are found together, and follow what is learnt.

Of the rows that are projected already, four or fewer: the covariance is read once for
all, and so is the root. A row that is learnt changes what is known of those after it.
`onkel.engine.recursive` has the formulas.
"""

from typing import Any

from onkel.compiled.functions import inner, shared
from onkel.engine.posterior import Posterior
from onkel.engine.recursive_plan import (
    RecursivePlan,
    forgetting_of,
    is_newcomer,
    outputs_of_one,
    regressed_outputs,
)
from onkel.model.rows_ahead import dot, place_of
from onkel.model.spread import TOGETHER, answer, hold, one_of
from onkel.model.state import Block, Model


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


@inner
def begin_bunch(
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
        if size < belief.limit and is_newcomer(plan, kxx, kxx - dot(z, z, size)):
            break
    some = ahead.projected[place : place + rows]
    for m in range(len(belief.answers)):
        answer(one_of(belief.spread, m), size, some, belief.answers[m, :rows])
    bunch.first, bunch.rows, bunch.shared = t, rows, 0


@inner
def share_bunch(
    belief: Posterior, model: Model, block: Block, t: int, size: int
) -> None:
    """Find shares and gains of row t, and of those after it in the bunch."""
    bunch, turned = belief.bunch[0], model.cache.root.T
    first, place = t - bunch.first, place_of(block.ahead, t)
    rows = block.ahead.projected[place : place + bunch.rows - first]
    answers, shares, gains = belief.answers, belief.shares, belief.gains
    _represent(turned, size, rows, first, answers, shares, gains)
    bunch.shared = 1


@inner
def forget_some(lam: float, size: int, vector: Any, prior: Any) -> None:
    """Let a product with V be that with lam V + (1 - lam) I."""
    for i in range(size):
        vector[i] = lam * vector[i] + (1.0 - lam) * prior[i]


@inner
def learn_row(
    plan: RecursivePlan, belief: Posterior, block: Block, j: int, size: int
) -> None:
    """Let means, spreads and the rows to come of the bunch follow its row j.

    Coefficients follow, too, where it is known how.
    """
    ahead, bunch, single = block.ahead, belief.bunch[0], outputs_of_one(plan, belief)
    place, regressed = place_of(ahead, bunch.first), regressed_outputs(plan, belief)
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
        forgetting_of(plan, m),
        belief.shrink[m],
        place_of(ahead, bunch.first),
    )
    hold(one_of(belief.spread, m), size, lam, shrink, h)
    for r in range(j + 1, bunch.rows):
        z, answered = ahead.projected[place + r], belief.answers[m, r]
        part = shrink * dot(h, z, size)
        if lam < 1.0:
            forget_some(lam, size, answered, z)
        for i in range(size):
            answered[i] -= part * h[i]
        if bunch.shared:
            gain, known = belief.gains[m, r], belief.gains[m, j]
            if lam < 1.0:
                forget_some(lam, size, gain, belief.shares[r])
            for i in range(size):
                gain[i] -= part * known[i]
