"""Expansion: how strategies may change the model, and what they read of it.

    f(x) = scale * sum_j coef[:, j] k(c_j, x),    scale = factor * base(t)

Phase 2 walks through a block whose kernel values with the centres are known in advance
(`kernel`). The primitives below change the model; nothing else knows the block,
and strategies see kernel values, never features.

| primitive | effect on the model                     | cost                       |
|-----------|-----------------------------------------|----------------------------|
| rescale   | every coefficient times c               | 1                          |
| stretch   | each centre's coefficients times its own| outputs x centres          |
| clip      | no centre's coefficients beyond a norm  | outputs x centres          |
| spread    | a multiple of a vector is added to one output's coefficients | centres |
| add       | one coefficient changes                 | 1                          |
| transfer  | a centre takes over a share of another's coefficients | outputs      |
| transfer_to_features | features take over what a centre stands for | outputs x them |
| insert    | row t becomes a centre                  | features x rows to come    |
| drop      | centre j leaves, the last takes its slot| features + rows to come    |
| replace   | drop and insert in one: row t takes slot j | features x rows to come |
| merge     | two centres become one between them     | features x rows to come    |

A new or moved centre's kernel values with the rows to come are computed once, by
`fill_later_rows`, when the strategy is done: a newcomer that is merged or dropped at
once never needs them.

The first slots of a model with a feature map (`onkel.features`) belong to the features,
which never leave: where a kernel value would be there is the value of a feature.

Strategies read `column` = k(c_j, x_t), `row` = k(c_i, c_j), `alike` (one such value, in
double precision), and what they declare of `onkel.model.center_cache`, which the
primitives keep.
"""

import math
from typing import Any

import numpy as np

from onkel.compiled.functions import inlined, inner, ordered, without_nan
from onkel.model import averages, center_cache
from onkel.model.rows import (
    between_center,
    copy_point,
    copy_row,
    set_point,
    squared_gap,
    values_of_centers,
    values_with,
)
from onkel.model.state import Block, Model, Update


@inlined
def rescale(model: Model, c: float) -> None:
    """Multiply every coefficient by c."""
    model.counters[0].factor *= c


@inner
def fold(model: Model) -> None:
    """Move the factor into the coefficients, before it underflows."""
    counters = model.counters[0]
    averages.settle(model.average, model.coef, counters.count)
    c = model.coef.dtype.type(counters.factor)
    for o in range(model.coef.shape[0]):
        for j in range(counters.count):
            model.coef[o, j] *= c
    center_cache.rescale_scores(model.cache, c, counters.count)
    counters.norm2 *= counters.factor * counters.factor
    counters.factor = 1.0


@inner
def stretch(model: Model, factors: Any) -> None:
    """Multiply the coefficients of each centre by a factor of its own."""
    counters = model.counters[0]
    averages.settle(model.average, model.coef, counters.count)
    for o in range(model.coef.shape[0]):
        for j in range(counters.count):
            model.coef[o, j] *= factors[j]
    counters.norm2 = center_cache.refresh(
        model.cache, model.coef, counters.count, counters.norm2
    )


@without_nan
def clip(model: Model, norm: float, scratch: Any) -> None:
    """Shorten each centre's coefficients to a raw norm, where they are longer."""
    size = model.counters[0].count
    highest = model.coef.dtype.type(norm)
    if model.coef.shape[0] == 1:
        averages.settle(model.average, model.coef, size)
        coef = model.coef[0]
        for j in range(size):
            coef[j] = min(max(coef[j], -highest), highest)
        counters = model.counters[0]
        counters.norm2 = center_cache.refresh(
            model.cache, model.coef, counters.count, counters.norm2
        )
        return
    squared_norms(model, scratch)
    for j in range(size):
        length = math.sqrt(scratch[j])
        scratch[j] = highest / length if length > highest else 1
    stretch(model, scratch)


@inlined
def add(model: Model, output: int, j: int, weight: float) -> None:
    """Change one coefficient by a raw weight."""
    counters = model.counters[0]
    counters.norm2 += center_cache.change(
        model.cache, output, j, weight, counters.count
    )
    model.coef[output, j] += weight
    averages.note_change(model.average, output, j, weight)


@inner
def transfer(model: Model, p: int, j: int, share: float) -> None:
    """Centre j takes over a share of what centre p, about to leave, stands for."""
    counters = model.counters[0]
    for o in range(model.coef.shape[0]):
        weight = share * model.coef[o, p]
        counters.norm2 += center_cache.change(model.cache, o, j, weight, counters.count)
        model.coef[o, j] += weight
    averages.note_transfer(model.average, model.coef, p, j, share)


@inlined
def spread(model: Model, output: int, weight: float, vector: Any) -> None:
    """Add a multiple of a vector to one output's coefficients.

    The squared norm is not followed: only strategies spread whose cache computes it.
    """
    size = model.counters[0].count
    averages.settle(model.average, model.coef, size)
    _add_multiple(model.coef[output, :size], weight, vector)


@inner
def _add_multiple(coef: Any, weight: float, vector: Any) -> None:
    for j in range(len(coef)):
        coef[j] += weight * vector[j]


@inner
def transfer_to_features(model: Model, p: int, shares: Any) -> None:
    """The features take over shares of what centre p, about to leave, stands for.

    The squared norm is not followed, as with `spread`.
    """
    for o in range(model.coef.shape[0]):
        _add_multiple(model.coef[o, : len(shares)], model.coef[o, p], shares)
    for i in range(len(shares)):
        averages.note_transfer(model.average, model.coef, p, i, shares[i])


@inlined
def column(model: Model, block: Block, t: int) -> Any:
    """Values of row t for all slots: its features, then k(c_j, x_t)."""
    return block.kernel[t, : model.counters[0].count]


@inner
def row(model: Model, block: Block, j: int, out: Any) -> None:
    """k(c_i, c_j) for all centres c_i.

    From the features, for the price of one prediction. To keep a Gram matrix would
    cost a strided write per centre and insertion; few strategies read rows that often.
    """
    known = out[: model.counters[0].count]
    copy_point(model.points, j, block.other)
    values_of_centers(
        block.similarity, model.points, block.other, model.norms[j], model.norms, known
    )
    known[j] = model.diag[j]


@inner
def alike(model: Model, block: Block, i: int, j: int) -> float:
    """k(c_i, c_j) in double precision."""
    copy_point(model.points, i, block.other)
    return between_center(block.similarity, model.points, j, block.other)


@inner
def squared_distance(model: Model, i: int, j: int) -> float:
    """|c_i - c_j|^2 in double precision, without cancellation."""
    return squared_gap(model.points, i, j)


@inner
def squared_norms(model: Model, out: Any) -> None:
    """|coef[:, j]|^2 for all centres."""
    size = model.counters[0].count
    for j in range(size):
        out[j] = model.coef[0, j] * model.coef[0, j]
    for o in range(1, model.coef.shape[0]):
        for j in range(size):
            out[j] += model.coef[o, j] * model.coef[o, j]


@inner
def oldest_smallest(model: Model, cost: Any) -> int:
    """Slot of the smallest cost, of the oldest centre on ties."""
    size = model.counters[0].count
    return first_smallest(cost[:size], model.birth[:size])


@without_nan
def first_smallest(cost: Any, birth: Any) -> int:
    """Place of the smallest cost, of the earliest birth on ties.

    Three plain minima, each of which runs on vectors, instead of one loop with the
    conditions inside. Costs are not negative.
    """
    size = len(cost)
    order = ordered(cost)
    least = order[0]
    for j in range(1, size):
        least = min(least, order[j])
    never = np.iinfo(np.int64).max
    oldest = never
    for j in range(size):
        oldest = min(oldest, birth[j] if order[j] == least else never)
    slot = never
    for j in range(size):
        slot = min(slot, j if birth[j] == oldest else never)
    # A cost that is not a number equals nothing; a slot there must be.
    return slot if slot < size else 0


@inlined
def _occupy(model: Model, block: Block, t: int, j: int, update: Update) -> None:
    counters = model.counters[0]
    kxx = block.diag[t]
    for o in range(model.coef.shape[0]):
        model.coef[o, j] = 0
    model.coef[update.up, j] = update.weight
    counters.norm2 += update.weight * (2.0 * block.raw[update.up] + update.weight * kxx)
    if update.down >= 0:
        model.coef[update.down, j] = -update.weight
        counters.norm2 += update.weight * (
            update.weight * kxx - 2.0 * block.raw[update.down]
        )
    copy_row(block.rows, t, block.point)
    _settle(model, block, j, block.norms[t])
    model.diag[j] = kxx
    model.birth[j] = counters.t
    model.label[j] = update.up
    center_cache.enter(
        model.cache,
        model.coef,
        j,
        update,
        block.kernel[t, : counters.count],
        block.raw,
        kxx,
    )
    averages.note_entry(model.average, model.coef, j)
    block.kernel[t, j] = kxx


@inlined
def _settle(model: Model, block: Block, j: int, norm: Any) -> None:
    """Slot j now holds `block.point`; what that means for later rows can wait."""
    set_point(model.points, j, block.point)
    model.norms[j] = norm
    block.pending[0] = j


@inlined
def _vacate(model: Model, block: Block, t: int, j: int) -> None:
    counters = model.counters[0]
    averages.note_exit(model.average, model.coef, model.points, model.norms, j)
    for o in range(model.coef.shape[0]):
        block.raw[o] -= model.coef[o, j] * block.kernel[t, j]
    counters.norm2 += center_cache.leave(model.cache, model.coef, j, counters.count)


@inlined
def fill_later_rows(model: Model, block: Block, t: int) -> None:
    """Compute the kernel values of a new centre with the rows after t."""
    j = block.pending[0]
    if j < 0:
        return
    block.pending[0] = -1
    first = t + 1
    later = block.later[: len(block.kernel) - first]
    if len(later) == 0:
        return
    norm = model.norms[j]
    values_with(
        block.similarity,
        block.rows,
        first,
        block.point,
        norm,
        block.norms[first:],
        later,
    )
    for s in range(len(later)):
        block.kernel[first + s, j] = later[s]


@inlined
def insert(model: Model, block: Block, t: int, update: Update) -> None:
    """Row t becomes a centre."""
    _occupy(model, block, t, model.counters[0].count, update)
    model.counters[0].count += 1


@inlined
def replace(model: Model, block: Block, t: int, j: int, update: Update) -> None:
    """Row t becomes a centre in the slot of centre j, which leaves."""
    _vacate(model, block, t, j)
    _occupy(model, block, t, j, update)


@inlined
def drop(model: Model, block: Block, t: int, j: int) -> None:
    """Centre j leaves; the last centre takes its slot."""
    _vacate(model, block, t, j)
    _close_ranks(model, block, t, j)


@inner
def _close_ranks(model: Model, block: Block, t: int, j: int) -> None:
    """Move the last centre into slot j, which nobody needs any more."""
    counters = model.counters[0]
    counters.count -= 1
    last = counters.count
    if block.pending[0] == j:
        block.pending[0] = -1
    if j == last:
        return
    if block.pending[0] == last:
        block.pending[0] = j
    for o in range(model.coef.shape[0]):
        model.coef[o, j] = model.coef[o, last]
    copy_point(model.points, last, block.other)
    set_point(model.points, j, block.other)
    model.norms[j] = model.norms[last]
    model.diag[j] = model.diag[last]
    model.birth[j] = model.birth[last]
    model.label[j] = model.label[last]
    center_cache.move(model.cache, j, last)
    averages.note_move(model.average, j, last)
    for s in range(t, block.kernel.shape[0]):
        block.kernel[s, j] = block.kernel[s, last]


@inner
def merge(
    model: Model, block: Block, t: int, i: int, j: int, h: float, u: float, v: float
) -> None:
    """Centres i and j become one, h c_i + (1 - h) c_j, in slot i; for rbf.

    Its coefficients are u times those of i plus v times those of j, u and v being the
    kernel values of i and j with it. It has the birth of the older, and no label.
    """
    if block.pending[0] != i and block.pending[0] != j:
        fill_later_rows(model, block, t)
    counters = model.counters[0]
    averages.note_exit(model.average, model.coef, model.points, model.norms, i)
    averages.note_exit(model.average, model.coef, model.points, model.norms, j)
    counters.norm2 += center_cache.leave(model.cache, model.coef, i, counters.count)
    norm = model.norms.dtype.type(0)
    copy_point(model.points, i, block.other)
    copy_point(model.points, j, block.point)
    for k in range(len(block.point)):
        block.point[k] = h * block.other[k] + (1.0 - h) * block.point[k]
        norm += block.point[k] * block.point[k]
    for o in range(model.coef.shape[0]):
        # What i had is no longer in the cache, j will take its own share along.
        block.raw[o] = u * model.coef[o, i] + v * model.coef[o, j]
        model.coef[o, i] = 0
    counters.norm2 += center_cache.leave(model.cache, model.coef, j, counters.count)
    for o in range(model.coef.shape[0]):
        model.coef[o, j] = 0
    _settle(model, block, i, norm)
    if center_cache.follows_points(model.cache):
        row(model, block, i, block.scratch)
        center_cache.replace_row(
            model.cache, model.coef, i, block.scratch[: counters.count]
        )
    for o in range(model.coef.shape[0]):
        counters.norm2 += center_cache.change(
            model.cache, o, i, block.raw[o], counters.count
        )
        model.coef[o, i] = block.raw[o]
    averages.note_merge(model.average, model.coef, i, j, u, v)
    model.birth[i] = min(model.birth[i], model.birth[j])
    model.label[i] = -1
    _close_ranks(model, block, t, j)
