"""Sample the victim so that shrinkage stays unbiased, then clip (BOGD, BOGD++).

Victim i0 is drawn from probabilities p. Dividing each survivor by 1 - p_i makes the
expected model after the draw equal to the model before it. Finally no coefficient (with
several outputs: no row norm) may exceed `cap`.

Uniform: p_i = 1/B.
Weighted: p_i = max(0, 1 - s u_i) with u_i = |a_i| sqrt(k_ii) and s such that the p_i
sum to 1 (water-filling). Survivors with p_i > 0 all end with u = 1/s. The paper's
s = (B-1)/sum(u) is what this gives when no p_i would be negative.
AsPrinted: the paper's s. Where a p_i is negative it counts as 0, and the others are
divided by their sum.
"""

import math
from typing import Any, NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws, uniform
from onkel.compiled.functions import inner
from onkel.model.expansion import clip, insert, replace, rescale, squared_norms, stretch
from onkel.model.state import Block, Model, Update


@strategy()
class Uniform(NamedTuple):
    """A hard budget, every centre equally likely to leave."""

    limit: int
    cap: float


@strategy()
class Weighted(NamedTuple):
    """A hard budget, small coefficients more likely to leave (BOGD++)."""

    limit: int
    cap: float


@strategy()
class AsPrinted(NamedTuple):
    """As weighted, with the probabilities that the paper prints, cut at 0."""

    limit: int
    cap: float


@inner
def _lengths(model: Model, out: Any) -> None:
    """Norms of what each centre adds to the model, without the scale."""
    if model.coef.shape[0] == 1:
        for j in range(model.counters[0].count):
            out[j] = abs(model.coef[0, j])
    else:
        squared_norms(model, out)
        for j in range(model.counters[0].count):
            out[j] = math.sqrt(out[j])
    for j in range(model.counters[0].count):
        out[j] *= math.sqrt(model.diag[j])


@inner
def clipped(update: Update, cap: float) -> Update:
    """Shorten an update to a raw norm, if it is longer."""
    norm = abs(update.weight) * (1.0 if update.down < 0 else math.sqrt(2.0))
    if norm <= cap:
        return update
    return Update(update.up, update.down, update.weight * cap / norm)


@inner
def waterfill(u: Any, size: int) -> float:
    """Return s such that the sum of max(0, 1 - s u_i) is 1.

    Entries with s u_i >= 1 get probability 0; leaving them out can only raise s, so
    repeating that until nothing changes ends at the solution, without sorting. Zero
    means that two or more entries are zero: they share the probability.
    """
    count, total, s = size, 0.0, 0.0
    for j in range(size):
        total += u[j]
    while True:
        if total <= 0.0:
            return 0.0
        s = (count - 1) / total
        kept, kept_total = 0, 0.0
        for j in range(size):
            inside = s * u[j] < 1.0
            kept += inside
            kept_total += u[j] if inside else 0.0
        if kept == count or kept < 2:
            return s
        count, total = kept, kept_total


@inner
def _draw(u: Any, size: int, s: float, number: float) -> int:
    if s == 0.0:
        zeros = 0
        for j in range(size):
            zeros += u[j] == 0
        left = int(number * zeros)
        for j in range(size):
            if u[j] == 0:
                if left == 0:
                    return j
                left -= 1
    cumulative = 0.0
    for first in range(0, size, 64):
        # Whole stretches first: a running sum over all entries would be a chain of
        # dependent additions.
        stop = min(first + 64, size)
        total = 0.0
        for j in range(first, stop):
            total += max(0.0, 1.0 - s * u[j])
        if cumulative + total <= number:
            cumulative += total
            continue
        for j in range(first, stop):
            cumulative += max(0.0, 1.0 - s * u[j])
            if cumulative > number:
                return j
    # Rounding left the sum a little below the number: the last that can leave does.
    j = size - 1
    while j > 0 and s * u[j] >= 1.0:
        j -= 1
    return j


@absorb.register(Uniform)
def _absorb_uniform(
    budget: Uniform, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    cap = budget.cap / counters.factor
    update = clipped(update, cap)
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    victim = int(uniform(draws) * counters.count)
    rescale(model, counters.count / (counters.count - 1))
    clip(model, budget.cap / counters.factor, block.scratch)
    # The newcomer's raw weight was meant for the scale before.
    weight = update.weight * (counters.count - 1) / counters.count
    replace(model, block, t, victim, Update(update.up, update.down, weight))
    counters.maintenance += 1


@absorb.register(Weighted)
def _absorb_weighted(
    budget: Weighted, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    cap = budget.cap / counters.factor
    update = clipped(update, cap)
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    u = block.scratch
    _lengths(model, u)
    s = waterfill(u, counters.count)
    victim = _draw(u, counters.count, s, uniform(draws))
    for j in range(counters.count):
        # Magnitude after the draw over magnitude before it, both times sqrt(k_jj).
        after = max(u[j], 1.0 / s) if s > 0.0 else u[j] * 1.0
        after = min(after, cap * math.sqrt(model.diag[j]))
        u[j] = after / u[j] if u[j] > 0 else 1.0
    stretch(model, u)
    replace(model, block, t, victim, update)
    counters.maintenance += 1


@absorb.register(AsPrinted)
def _absorb_as_printed(
    budget: AsPrinted, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    cap = budget.cap / counters.factor
    update = clipped(update, cap)
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    u = block.scratch
    _lengths(model, u)
    total = 0.0
    for j in range(counters.count):
        total += u[j]
    s = (counters.count - 1) / total if total > 0.0 else 0.0
    mass = 0.0
    for j in range(counters.count):
        mass += max(0.0, 1.0 - s * u[j])
    victim = _draw(u, counters.count, s, mass * uniform(draws))
    for j in range(counters.count):
        stays = 1.0 - max(0.0, 1.0 - s * u[j]) / mass
        boost = 1.0 / stays if stays > 0.0 else 1.0  # who surely leaves needs none
        after = min(u[j] * boost, cap * math.sqrt(model.diag[j]))
        u[j] = after / u[j] if u[j] > 0 else 1.0
    stretch(model, u)
    replace(model, block, t, victim, update)
    counters.maintenance += 1
