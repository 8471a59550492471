"""Merge the least centre with several others at once (rbf kernel; multi-merge).

As `onkel.budget.merge`, but one search finds the M - 1 centres whose merging with the
victim costs least, and all of them become one, a pair at a time, the cheapest first. So
M - 1 slots are free again, and the next M - 2 newcomers need no search: maintenance is
as much rarer, and a little coarser, since partners after the first were chosen for the
victim, not for what it has become (Qaadan and Glasmachers, 2018).

With several outputs a partner may be at a right angle to what the victim has become, or
beyond; it is passed over.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import maintain
from onkel.budget.merge import (
    RIGHT_ANGLE,
    TABLE_ERROR,
    Match,
    Meeting,
    join,
    kernel_row,
    lightest,
    lower_bound,
    meet,
    outline,
    outline_of_rows,
    product,
    table,
)
from onkel.compiled.functions import inner
from onkel.model.ranges import WORK
from onkel.model.state import Block, Model


@strategy(table=table, ranges={"partners": WORK, "losses": WORK})
class MergeSeveral(NamedTuple):
    """Maintenance by merging more than two; `make` is the constructor."""

    partners: Any  # shape (M - 1,), int64: their slots
    losses: Any  # shape (M - 1,), float64: of merging each with the victim


def make(size: int) -> MergeSeveral:
    """Make the strategy that lets so many centres become one.

    Examples
    --------
    >>> make(4).partners.shape
    (3,)
    """
    return MergeSeveral(np.zeros(size - 1, np.int64), np.zeros(size - 1))


@inner
def _rank(strategy: MergeSeveral, model: Model, count: int, n: int, loss: float) -> int:
    """Enter n among the best so far, the cheapest and oldest first; return how many."""
    partners, losses = strategy.partners, strategy.losses
    place = count
    while place > 0 and (
        loss < losses[place - 1]
        or (
            loss == losses[place - 1]
            and model.birth[n] < model.birth[partners[place - 1]]
        )
    ):
        place -= 1
    if place == len(partners):
        return count
    count = min(count + 1, len(partners))
    for i in range(count - 1, place, -1):
        partners[i], losses[i] = partners[i - 1], losses[i - 1]
    partners[place], losses[place] = n, loss
    return count


@inner
def choose(
    strategy: MergeSeveral, model: Model, block: Block, m: int, values: Any
) -> int:
    """Find the partners whose merging with m costs least; return how many there are."""
    gamma, bound, most = block.similarity.gamma, block.scratch, len(strategy.partners)
    single, p = model.coef.shape[0] == 1, product(model, m, m)
    if single:
        outline(model, m, values, bound)
    else:
        outline_of_rows(model, block.table, m, values, bound)
    count = 0
    for n in range(model.counters[0].count):
        if not bound[n] < np.inf:
            continue
        if count == most:
            # Near kappa = 1, and in single precision, bounds may be a little too high.
            worst = strategy.losses[most - 1] * (1.0 + TABLE_ERROR)
            if bound[n] > worst:
                continue
            q, r = product(model, m, n), product(model, n, n)
            if single and lower_bound(block.table, p, q, r, values[n]) > worst:
                continue
        count = _rank(strategy, model, count, n, meet(model, gamma, m, n).loss)
    return count


@maintain.register(MergeSeveral)
def _maintain(strategy: MergeSeveral, model: Model, block: Block, t: int) -> None:
    m = lightest(model, block)
    values = kernel_row(model, block, t, m)
    count, partners = choose(strategy, model, block, m, values), strategy.partners
    if count == 0:
        nobody = Match(-1, Meeting(1.0, 1.0, 0.0, np.inf))
        join(model, block, t, m, values, nobody)
    for i in range(count):
        n = partners[i]
        p, q, r = product(model, m, m), product(model, m, n), product(model, n, n)
        if q <= RIGHT_ANGLE * math.sqrt(p * r):
            continue
        meeting = meet(model, block.similarity.gamma, m, n)
        last = model.counters[0].count - 1
        join(model, block, t, m, values, Match(n, meeting))
        # What they have become is in n's slot, and the last centre in m's.
        for k in range(i + 1, count):
            if partners[k] == last:
                partners[k] = m
        if n != last:
            m = n
