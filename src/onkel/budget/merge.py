"""Merge the least centre with the one that makes it cheapest (rbf kernel).

Centres m and n, with coefficients a_m and a_n (rows of them, for several outputs),
become z = h c_m + (1 - h) c_n with a_z = a_m k(m, z) + a_n k(n, z). What is lost is

    WD(h) = |a_m|^2 + |a_n|^2 + 2 <a_m, a_n> k(m, n) - |a_z|^2 >= 0,

and with x = gamma |c_m - c_n|^2, u = exp(-x (1-h)^2), v = exp(-x h^2) the best h
maximises p u^2 + 2 q u v + r v^2, where p, q, r are |a_m|^2, <a_m, a_n>, |a_n|^2. It
lies in the half of [0, 1] next to the heavier centre, where the function has one
maximum.

m is the centre with the smallest coefficient, the oldest on ties; n, among those with
q > 0, the one with the smallest WD. The search narrows down: `outline` bounds WD from
below for all n, without a branch or a look-up; `horizon` says how near n must be;
`lower_bound` reads a tight bound from a table for those that are left; and the exact
optimum is computed for those that could still win, nearly always one or two. The table
is folded at equal weights and divided by WD's behaviour at its zeros, so it is exact to
0.1 % with 129 x 129 entries.

Where all are far, WD is nearly |a_m|^2 for all, and a bound to 0.1 % says nothing. But
what is saved, 1 - WD / |a_m|^2, then depends on x alone, or nearly so: it is
exp(-2x) (1 + 2x) for a heavy n, more for a lighter one, and at most 1.16 times as much
where x >= 4. For at the best h, with e = 1 - h <= 1/2 next to the heavier n,

- WD falls in q (each h has its own line, of slope 2 (exp(-x) - u v) <= 0), so parallel
  rows save most;
- WD rises in |a_n|: its derivative by |a_n| is 2 |a_n| (1 - u^2) + 2 |a_m| (exp(-x) -
  u v), and e |a_n| u = h |a_m| v there, so that its sign is that of h (1 - u^2) / e -
  u^2 (1 - exp(-2 x e h)), and (1 - exp(-2 x e t)) / t falls in t; so equal weights save
  most;
- with equal weights WD rises in x: its derivative is 2 |a_m|^2 ((u + v) (e^2 u + h^2 v)
  - exp(-x)), and e u = h v makes that v (u - u exp(-2 x e h)) >= 0.

Without such an n the victim is projected on its nearest neighbour.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import maintain
from onkel.compiled.functions import inner, without_nan
from onkel.model.distances import ULPS
from onkel.model.expansion import (
    alike,
    drop,
    merge,
    oldest_smallest,
    row,
    squared_distance,
    squared_norms,
    transfer,
)
from onkel.model.state import Block, Model

CELLS = 128
# The table's relative error is below this; see tests/unit/test_merge.py.
TABLE_ERROR = 1e-3
# Closer than this, centres are one point: coefficients are added.
SAME = 1e-8
# Rows of coefficients with a smaller cosine have none, up to rounding.
RIGHT_ANGLE = 1e-9
# Share of its way from the heavier centre below which a step of Newton's is the last:
# the error that is left is about its square.
NEARLY = 1e-6
# Further than this nothing is saved, to double precision: the best place is the heavier
# centre itself, and the lighter one is lost.
FAR = 20.7
# From here on equal weights save at most so many times what they do in the limit of
# unequal ones; see tests/unit/test_merge.py.
DISTANT, SPREAD = 4.0, 1.16
# Share that is lost with all that are so far.
MOSTLY = 0.99
# Shares of what is lost that rounding may make or take.
ROUNDING = 4e-15


class Meeting(NamedTuple):
    """Where two centres best become one."""

    h: float  # weight of the heavier
    u: float  # kernel value of the heavier with the place
    v: float  # kernel value of the lighter with the place
    loss: float


@inner
def best_meeting(heavy: float, cross: float, light: float, x: float) -> Meeting:
    """Find the best place for two centres with squared norms heavy >= light.

    Newton steps for the root of the derivative by e = 1 - h, which may be tiny, kept in
    the bracket [0, 1/2].

    Examples
    --------
    >>> meeting = best_meeting(1.0, 1.0, 1.0, 0.1)
    >>> round(meeting.h, 6), round(meeting.u, 6)
    (0.5, 0.97531)
    """
    if x < SAME:
        return Meeting(1.0, 1.0, 1.0, 0.0)
    if x > FAR:
        return Meeting(1.0, 1.0, math.exp(-x), light)
    low, high = 0.0, 0.5
    # The middle is a root for equal weights, and may be a minimum: begin beside it.
    share = math.sqrt(light) / (math.sqrt(heavy) + math.sqrt(light))
    e = 0.0 if x > 2.0 else min(share, 0.25 if share > 0.45 else 1.0)
    for _ in range(60):
        h = 1.0 - e
        u, v = math.exp(-x * e * e), math.exp(-x * h * h)
        uu, uv, vv = heavy * u * u, cross * u * v, light * v * v
        slope = uu * e + uv * (e - h) - vv * h
        if slope > 0.0:
            high = e
        else:
            low = e
        curve = (
            uu * (4.0 * x * e * e - 1.0)
            + uv * (2.0 * x * (e - h) ** 2 - 2.0)
            - vv * (1.0 - 4.0 * x * h * h)
        )
        step = slope / curve if curve < 0.0 else 0.5 * (low + high) - e
        # Rounding may take the last step out of the bracket, so it is not asked there.
        if curve < 0.0 and abs(step) <= NEARLY * e:
            e = min(max(e + step, 0.0), 0.5)
            break
        e = e + step if low < e + step < high else 0.5 * (low + high)
    meeting = _lost(heavy, cross, light, x, e)
    # At the end, e = 0, the lighter one is projected on the heavier.
    lost = -light * math.expm1(-2.0 * x)
    return meeting if meeting.loss < lost else Meeting(1.0, 1.0, math.exp(-x), lost)


@inner
def _lost(heavy: float, cross: float, light: float, x: float, e: float) -> Meeting:
    h = 1.0 - e
    a, b = x * e * e, x * h * h
    u, v = math.exp(-a), math.exp(-b)
    # |a_m|^2 (1 - u^2) + ...: each difference in a form that does not cancel
    loss = -heavy * math.expm1(-2.0 * a) - light * math.expm1(-2.0 * b)
    loss += 2.0 * cross * u * v * math.expm1(-2.0 * x * h * e)
    return Meeting(h, u, v, max(loss, 0.0))


@functools.cache
def table() -> np.ndarray:
    """WD / ((a_m + a_n) mu (1 - mu) (1 - kappa))^2 over mu and kappa.

    mu in [1/2, 1] is the share of the heavier coefficient, kappa = k(m, n) in [0, 1].
    """
    # The ends stand for their limits, where the quotient would be 0/0.
    mu = np.minimum(np.linspace(0.5, 1.0, CELLS + 1), 1.0 - 1e-7)[:, None]
    kappa = np.clip(np.linspace(0.0, 1.0, CELLS + 1), 1e-12, 1.0 - 1e-5)[None, :]
    x = -np.log(kappa)
    low = np.full((CELLS + 1, CELLS + 1), 0.5)
    high = np.ones_like(low)
    for _ in range(60):
        h = (low + high) / 2
        rises = mu * (1 - h) * np.exp(-x * (1 - h) ** 2) > (1 - mu) * h * np.exp(
            -x * h * h
        )
        low, high = np.where(rises, h, low), np.where(rises, high, h)
    a, b = x * (1 - low) ** 2, x * low**2
    lost = -(mu**2) * np.expm1(-2 * a) - (1 - mu) ** 2 * np.expm1(-2 * b)
    lost += 2 * mu * (1 - mu) * (np.expm1(-x) - np.expm1(-a - b))
    return (lost / (mu * (1 - mu) * (1 - kappa)) ** 2).astype(np.float32)


@inner
def interpolated(table: Any, mu: float, kappa: float) -> float:
    """Read the table at mu >= 1/2."""
    a, b = (2.0 * mu - 1.0) * CELLS, kappa * CELLS
    # From below, too: whatever rounding makes of its arguments, this reads the table.
    i, j = max(min(int(a), CELLS - 1), 0), max(min(int(b), CELLS - 1), 0)
    p, q = a - i, b - j
    left = table[i, j] + p * (table[i + 1, j] - table[i, j])
    right = table[i, j + 1] + p * (table[i + 1, j + 1] - table[i, j + 1])
    return left + q * (right - left)


@inner
def _parallel(table: Any, one: float, other: float, kappa: float) -> float:
    """WD of coefficients one, other > 0 of one output, from the table."""
    mu = max(one, other) / (one + other)
    factor = one * (1.0 - mu if one > other else mu) * (1.0 - kappa)
    return interpolated(table, mu, kappa) * factor * factor


@inner
def lower_bound(table: Any, p: float, q: float, r: float, kappa: float) -> float:
    """Return what the loss of merging cannot fall below.

    The loss is concave in q (a minimum of linear functions), so it lies above its chord
    between q = 0 and parallel rows, q = sqrt(p r). At q = 0 it is the loss of one
    output with coefficients p, r and kappa^2, in disguise.
    """
    if p == 0.0 or r == 0.0:  # squares that underflowed bound nothing
        return 0.0
    one, other = math.sqrt(p), math.sqrt(r)
    kappa = min(kappa, 1.0)
    parallel = _parallel(table, one, other, kappa)
    share = min(q / (one * other), 1.0)
    if share > 1.0 - 1e-9:
        return parallel * (1.0 - TABLE_ERROR)
    squared = kappa * kappa
    lost = _parallel(table, p, r, squared) * (1.0 - TABLE_ERROR)
    best = math.sqrt(max(p * p + r * r + 2.0 * p * r * squared - lost, 0.0))
    # p + r - best, without cancellation
    apart = (2.0 * p * r * (1.0 - squared) + lost) / (p + r + best)
    return (share * parallel + (1.0 - share) * apart) * (1.0 - TABLE_ERROR)


@inner
def product(model: Any, i: int, j: int) -> float:
    """Return the dot product of two centres' coefficients."""
    total = 0.0
    for o in range(model.coef.shape[0]):
        total += np.float64(model.coef[o, i]) * np.float64(model.coef[o, j])
    return total


@inner
def meet(model: Model, gamma: float, m: int, n: int) -> Meeting:
    """Best meeting of two centres, in double precision."""
    p, r = product(model, m, m), product(model, n, n)
    x = gamma * squared_distance(model, m, n)
    return best_meeting(max(p, r), product(model, m, n), min(p, r), x)


@inner
def kernel_row(model: Model, block: Block, t: int, j: int) -> Any:
    """k(c_j, c_i) for all centres; the newcomer's is known from its prediction."""
    size = model.counters[0].count
    if model.birth[j] == model.counters[0].t:
        return block.kernel[t, :size]
    row(model, block, j, block.second)
    return block.second[:size]


@inner
def nearest(model: Model, values: Any, j: int) -> int:
    """Slot of the largest kernel value with centre j, of the oldest centre on ties."""
    best = -1
    for i in range(model.counters[0].count):
        if i == j:
            continue
        if (
            best < 0
            or values[i] > values[best]
            or (values[i] == values[best] and model.birth[i] < model.birth[best])
        ):
            best = i
    return best


@without_nan
def outline(model: Model, m: int, values: Any, out: Any) -> float:
    """Bound the loss of merging m with each centre from below; return the least bound.

    For one output WD = R ((a_m a_n / (a_m + a_n)) (1 - kappa))^2, where R, the table's
    entry, is at least 1 + kappa, and at least 1 / (mu^2 (1 + kappa)). By the latter WD
    is at least the lighter one's square times (1 - kappa)^2 / (1 + kappa), which is a
    good bound for like weights. Infinite where the signs differ, and for m itself.
    """
    size = model.counters[0].count
    coef = model.coef[0]
    one, never = coef.dtype.type(1), coef.dtype.type(np.inf)
    sign = one if coef[m] > 0 else -one
    own = sign * coef[m]
    for n in range(size):
        a = sign * coef[n]
        # |a|, not a: where the signs differ the sum might be 0
        both, light = own * abs(a) / (own + abs(a)), min(own, abs(a))
        apart, near = max(one - values[n], 0 * one), one + values[n]
        bound = max(both * both * near, light * light / near) * apart * apart
        out[n] = bound if a > 0 else never
    out[m] = never
    least = never
    for n in range(size):
        least = min(least, out[n])
    return least


@inner
def outline_of_rows(model: Model, table: Any, m: int, values: Any, out: Any) -> float:
    """Do what `outline` does, for several outputs, with the bounds of the table."""
    least = np.inf
    p = product(model, m, m)
    for n in range(model.counters[0].count):
        out[n] = np.inf
        q, r = product(model, m, n), product(model, n, n)
        if n != m and q > RIGHT_ANGLE * math.sqrt(p * r):
            out[n] = lower_bound(table, p, q, r, values[n])
            least = min(least, out[n])
    return least


class Match(NamedTuple):
    """The partner, -1 if there is none, and where to meet."""

    n: int
    meeting: Meeting


@inner
def _better(model: Model, gamma: float, m: int, n: int, best: Match) -> Match:
    """Return n as a match of m if it costs less, or as much and is older."""
    meeting = meet(model, gamma, m, n)
    if meeting.loss < best.meeting.loss or (
        meeting.loss == best.meeting.loss and model.birth[n] < model.birth[best.n]
    ):
        return Match(n, meeting)
    return best


@inner
def horizon(lost: float) -> float:
    """Return the x beyond which merging loses more than that share of |a_m|^2.

    Examples
    --------
    >>> round(horizon(1 - 1e-5), 2), horizon(0.5), horizon(1.0)
    (7.2, 4.0, 20.7)
    """
    saved = 1.0 - lost - ROUNDING
    if saved <= 0.0:
        return FAR
    x = FAR
    for _ in range(4):  # each comes nearer to the root, from above
        x = 0.5 * math.log(SPREAD * (1.0 + 2.0 * x) / saved)
    return min(max(x, DISTANT), FAR)


@inner
def _lowest(model: Model, block: Block, m: int, x: float) -> float:
    """Kernel value that no centre within gamma d^2 <= x of m falls below."""
    epsilon = 2.0**-52 if model.coef.itemsize == 8 else 2.0**-23
    norm = block.similarity.gamma * np.float64(model.norms[m])
    error = ULPS * epsilon * (1.0 + 3.0 * norm + 2.0 * x)
    return math.exp(-x) * (1.0 - error) if error < 1.0 else 0.0


@without_nan
def _closest(bound: Any, values: Any) -> int:
    """Place of the highest value of those with a bound."""
    size = len(bound)
    nothing, never = values.dtype.type(-1), bound.dtype.type(np.inf)
    highest = nothing
    for n in range(size):
        highest = max(highest, values[n] if bound[n] < never else nothing)
    for n in range(size):
        if values[n] == highest and bound[n] < never:
            return n
    return 0


@inner
def _oldest(model: Model, bound: Any) -> int:
    """Slot of the oldest centre of those with a bound."""
    oldest = -1
    for n in range(model.counters[0].count):
        if bound[n] < np.inf and (oldest < 0 or model.birth[n] < model.birth[oldest]):
            oldest = n
    return oldest


@inner
def partner(model: Model, block: Block, m: int, values: Any) -> Match:
    """Find the centre whose merging with m costs least."""
    gamma, size, bound = block.similarity.gamma, model.counters[0].count, block.scratch
    single = model.coef.shape[0] == 1
    if single:
        least = outline(model, m, values, bound)
    else:
        least = outline_of_rows(model, block.table, m, values, bound)
    best = Match(-1, Meeting(1.0, 1.0, 0.0, np.inf))
    if not least < np.inf:
        return best
    # The most promising first: hardly any other is then worth a closer look.
    first = 0
    while first < size - 1 and bound[first] > least:
        first += 1
    best = _better(model, gamma, m, first, best)
    all_of_m = product(model, m, m)
    share = best.meeting.loss / all_of_m if all_of_m > 0.0 else 0.0
    if share > MOSTLY:
        best = _better(model, gamma, m, _closest(bound[:size], values), best)
        share = best.meeting.loss / all_of_m
    lowest = _lowest(model, block, m, horizon(share))
    for n in range(size):
        # Near kappa = 1, and in single precision, bounds may be a little too high.
        if values[n] < lowest or bound[n] > best.meeting.loss * (1.0 + TABLE_ERROR):
            continue
        if n == first or n == best.n:
            continue
        if single:
            one, other = abs(model.coef[0, m]), abs(model.coef[0, n])
            p, q, r = one * one, one * other, other * other
            if lower_bound(block.table, p, q, r, values[n]) > best.meeting.loss:
                continue
        best = _better(model, gamma, m, n, best)
    if best.meeting.loss >= all_of_m > 0.0:
        # Nothing is saved with anybody, all are alike.
        best = _better(model, gamma, m, _oldest(model, bound), best)
    return best


@strategy(table=table)
class Merge(NamedTuple):
    """Maintenance by merging."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type


@inner
def lightest(model: Model, block: Block) -> int:
    """Slot of the smallest coefficients, of the oldest centre on ties."""
    squared_norms(model, block.scratch)
    return oldest_smallest(model, block.scratch)


@inner
def join(model: Model, block: Block, t: int, m: int, values: Any, match: Match) -> None:
    """Merge m with its match, or project it on its nearest neighbour."""
    n, meeting = match.n, match.meeting
    if n < 0:
        n = nearest(model, values, m)
        if n >= 0:
            transfer(model, m, n, alike(model, block, m, n))
        drop(model, block, t, m)
        return
    h, u, v = meeting.h, meeting.u, meeting.v
    if meeting.loss == 0.0:
        h, u, v = 1.0, 1.0, 1.0
    elif product(model, n, n) <= product(model, m, m):
        h, u, v = 1.0 - h, v, u
    merge(model, block, t, n, m, h, u, v)


@maintain.register(Merge)
def _maintain(strategy: Merge, model: Model, block: Block, t: int) -> None:
    m = lightest(model, block)
    values = kernel_row(model, block, t, m)
    join(model, block, t, m, values, partner(model, block, m, values))
