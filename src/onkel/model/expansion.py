"""Expansion: what the model is, and how strategies may change it.

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

The kernel values lie as (rows, centres), so a score is one dot product of contiguous
numbers when its row comes up. Keeping running scores of all rows instead would make a
row without update O(1), but phase 1 would pay the same dot product, every change
of many coefficients would cost O(rows x centres), and the kernel column that most
strategies read would be strided.

The first slots of a model with a feature map (`onkel.features`) belong to the features,
which never leave: where a kernel value would be there is the value of a feature.

Strategies read `column` = k(c_j, x_t), `row` = k(c_i, c_j), `alike` (one such value, in
double precision), and what they declare of `onkel.model.center_cache`, which the
primitives keep.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from onkel.compiled.functions import inlined, inner, ordered, shared, without_nan
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.model import averages, center_cache
from onkel.model.rows import (
    Rows,
    beside,
    between_center,
    compare_centers,
    compare_with,
    copy_point,
    copy_row,
    set_point,
    squared_gap,
)
from onkel.problem.kernels import Kernel, transform

COUNTERS = np.dtype(
    [
        ("count", np.int64),  # slots in use; a record has a `size` of its own
        ("t", np.int64),  # rows seen
        ("updates", np.int64),
        ("maintenance", np.int64),
        ("mistakes", np.int64),
        ("halted", np.int64),  # whether the learner has to act before the next row
        ("factor", np.float64),
        ("norm2", np.float64),  # squared norm of the raw model, where kept
        ("largest", np.float64),  # largest |y| so far
    ],
    align=True,
)


class Model(NamedTuple):
    """The expansion, in slots; the first `count` are in use."""

    counters: Any  # shape (1,), of COUNTERS
    coef: Any  # shape (outputs, capacity), raw: without scale
    points: Any  # shape (capacity, features): the centres, in compiled code `Points`;
    # in the slots of explicit features their frequencies, or the landmarks
    norms: Any  # shape (capacity,): theirs, as the kernel keeps them
    diag: Any  # shape (capacity,): k(c, c)
    birth: Any  # shape (capacity,): the row number at which a centre came
    label: Any  # shape (capacity,): what the walk notes of a centre's row
    cache: Any  # one of onkel.model.center_cache
    average: Any  # one of onkel.model.averages
    mapping: Any  # one of onkel.features


class Block(NamedTuple):
    """The block, its kernel values with the centres, and room to work."""

    similarity: Kernel
    rows: Any  # the block, one of onkel.model.rows
    norms: Any  # shape (rows,)
    diag: Any  # shape (rows,): k(x_t, x_t)
    kernel: Any  # shape (rows, slots): features of x_t, and k(x_t, c_j)
    pending: Any  # shape (1,): the slot that `fill_later_rows` has to fill, or -1
    point: Any  # shape (features,): the centre in that slot
    other: Any  # shape (features,), room for another point
    later: Any  # shape (rows,): kernel values with the rows to come
    raw: Any  # shape (outputs,): raw scores of the present row
    f: Any  # shape (outputs,): its scores
    scratch: Any  # shape (capacity,), for strategies
    second: Any  # shape (capacity,), likewise
    table: Any  # what the strategy looks up


class Update(NamedTuple):
    """What the step proposes: raw weight on output `up`, its negative on `down`."""

    up: int
    down: int
    weight: float


def allocate(
    outputs: int,
    capacity: int,
    features: int,
    dtype: Any,
    kind: Any,  # of the cache
    window: averages.Window | None = None,
    mapping: Any = Absent(),  # noqa: B008, a constant
) -> Model:
    """Make an empty model with a cache of that kind, and an average over that window.

    Examples
    --------
    >>> allocate(1, 8, 2, np.float32, center_cache.Nothing).coef.shape
    (1, 8)
    """
    counters = np.zeros(1, COUNTERS).view(np.recarray)
    counters[0].factor = 1.0
    counters[0].count = width(mapping)
    return Model(
        counters=counters,
        coef=np.zeros((outputs, capacity), dtype),
        points=np.zeros((capacity, features), dtype),
        norms=np.zeros(capacity, dtype),
        diag=np.zeros(capacity, dtype),
        birth=np.zeros(capacity, np.int64),
        label=np.zeros(capacity, np.int64),
        cache=kind.empty(outputs, capacity, dtype),
        average=averages.allocate(window, outputs, capacity, features, dtype),
        mapping=mapping,
    )


def resized(model: Model, capacity: int) -> Model:
    """Copy a model into one of another capacity."""
    size = int(model.counters[0].count)
    features, dtype = model.points.shape[1], model.coef.dtype
    new = allocate(len(model.coef), capacity, features, dtype, center_cache.Nothing)
    new.counters[:] = model.counters
    new.coef[:, :size] = model.coef[:, :size]
    new = new._replace(points=np.asarray(new.points, order=order_of(model.points)))
    for name in ("points", "norms", "diag", "birth", "label"):
        getattr(new, name)[:size] = getattr(model, name)[:size]
    return new._replace(
        cache=model.cache.resized(size, capacity),
        average=model.average.resized(size, capacity),
        mapping=model.mapping,
    )


def order_of(points: np.ndarray) -> Literal["C", "F"]:
    """Return the memory order of the centres."""
    return "C" if points.flags.c_contiguous else "F"


def facing(model: Model, rows: Rows) -> Model:
    """Return the model as compiled code takes it beside these rows; nothing is copied.

    The centres must have the order of `onkel.model.rows.order_for`.
    """
    return model._replace(points=beside(rows, model.points))


def relabelled(model: Model, matrix: Any, labels: Any) -> Model:
    """Map the outputs by a matrix (new x old), and each centre's label likewise.

    `labels` gives the new label of every slot.
    """
    matrix = np.asarray(matrix, model.coef.dtype)
    model.label[:] = labels
    # The norm follows because the new outputs are copies of the old, up to a factor.
    model.counters[0].norm2 *= float((matrix**2).sum(axis=0)[0])
    return model._replace(
        coef=np.ascontiguousarray(matrix @ model.coef),
        cache=model.cache.mapped(matrix),
        average=model.average.mapped(matrix),
    )


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
    _compare_centers(
        block.similarity,
        model.points,
        block.other,
        model.norms[j],
        model.norms,
        known,
    )
    known[j] = model.diag[j]


@shared
def _compare_centers(
    kernel: Kernel, points: Any, point: Any, norm: Any, norms: Any, out: Any
) -> None:
    compare_centers(kernel, points, point, out)
    transform(kernel, out, norm, norms)


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
    _compare_with(
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


@shared
def _compare_with(
    kernel: Kernel,
    rows: Rows,
    first: int,
    point: Any,
    norm: Any,
    norms: Any,
    out: Any,
) -> None:
    compare_with(kernel, rows, first, point, norm, out)
    transform(kernel, out, norm, norms)


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
