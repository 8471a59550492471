"""Expansion: what the model is, and the only ways to change it.

    f(x) = scale * sum_j coef[:, j] k(c_j, x),    scale = factor * base(t)

Phase 2 walks through a block whose kernel values with the centres are known in advance
(`kernel`), and those within the block (`block`) as soon as a row is to become a centre.
The primitives below change the model
and keep `kernel` exact for the rows still to come; nothing else knows the look-ahead,
and nothing here sees a feature: `source` remembers where each slot's features are to
come from, and phase 1 moves them when the block is done.

| primitive | effect on the model                     | cost                       |
|-----------|-----------------------------------------|----------------------------|
| rescale   | every coefficient times c               | 1                          |
| stretch   | each centre's coefficients times its own| outputs x centres          |
| clip      | no centre's coefficients beyond a norm    | outputs x centres          |
| add       | one coefficient changes                 | 1                          |
| insert    | row t becomes a centre                  | rows to come               |
| drop      | centre j leaves, the last takes its slot| rows to come               |
| replace   | drop and insert in one: row t takes slot j | rows to come            |

The kernel values lie as (rows, centres), so a score is one dot product of contiguous
numbers when its row comes up. Keeping running scores of all rows instead would make a
row without update O(1), but phase 1 would pay the same dot product, every change
of many coefficients would cost O(rows x centres), and the kernel column that most
strategies read would be strided.

Strategies read `column` = k(c_j, x_t), and what they declare of `onkel.reads`, which
the primitives keep.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel import reads
from onkel.compiled import inner, primitive, without_nan

HEAD = np.dtype(
    [
        ("count", np.int64),  # centres in use; a record has a `size` of its own
        ("t", np.int64),  # rows seen
        ("updates", np.int64),
        ("maintenance", np.int64),
        ("mistakes", np.int64),
        ("factor", np.float64),
        ("norm2", np.float64),  # squared norm of the raw model, where kept
        ("largest", np.float64),  # largest |y| so far
    ],
    align=True,
)


class Model(NamedTuple):
    """The coefficients of the expansion, in slots; the first `size` are in use."""

    head: Any  # shape (1,), of HEAD
    coef: Any  # shape (outputs, capacity), raw: without scale
    diag: Any  # shape (capacity,): k(c, c)
    birth: Any  # shape (capacity,): the row number at which a centre came
    label: Any  # shape (capacity,): the output that its row moved up
    reads: Any  # one of onkel.reads


class LookAhead(NamedTuple):
    """All kernel values that a block can need, and room to work."""

    kernel: Any  # shape (rows, slots): k(x_t, c_j)
    block: Any  # shape (rows, rows): k(x_t, x_s), s > t, for rows t that are known
    known: Any  # shape (rows,): whether row t of `block` has its values
    diag: Any  # shape (rows,): k(x_t, x_t)
    source: Any  # shape (capacity,): old slot, or ~t for row t of the block
    raw: Any  # shape (outputs,): raw scores of the present row
    scratch: Any  # shape (capacity,), for strategies


class Update(NamedTuple):
    """What the step proposes: raw weight on output `up`, its negative on `down`."""

    up: int
    down: int
    weight: float


def allocate(outputs: int, capacity: int, dtype: Any, kind: type) -> Model:
    """Make an empty model with reads of that kind.

    Examples
    --------
    >>> allocate(1, 8, np.float32, reads.Nothing).coef.shape
    (1, 8)
    """
    head = np.zeros(1, HEAD).view(np.recarray)
    head[0].factor = 1.0
    return Model(
        head=head,
        coef=np.zeros((outputs, capacity), dtype),
        diag=np.zeros(capacity, dtype),
        birth=np.zeros(capacity, np.int64),
        label=np.zeros(capacity, np.int64),
        reads=reads.allocate(kind, outputs, capacity, dtype),
    )


def resized(model: Model, capacity: int) -> Model:
    """Copy a model into one of another capacity."""
    size = int(model.head[0].count)
    new = allocate(len(model.coef), capacity, model.coef.dtype, reads.Nothing)
    new.head[:] = model.head
    new.coef[:, :size] = model.coef[:, :size]
    new.diag[:size] = model.diag[:size]
    new.birth[:size] = model.birth[:size]
    new.label[:size] = model.label[:size]
    return new._replace(reads=model.reads.resized(size, capacity))


def relabelled(model: Model, matrix: Any, labels: Any) -> Model:
    """Map the outputs by a matrix (new x old), and each centre's label likewise.

    `labels` gives the new label of every slot.
    """
    matrix = np.asarray(matrix, model.coef.dtype)
    model.label[:] = labels
    # The norm follows because the new outputs are copies of the old, up to a factor.
    model.head[0].norm2 *= float((matrix**2).sum(axis=0)[0])
    return model._replace(
        coef=np.ascontiguousarray(matrix @ model.coef), reads=model.reads.mapped(matrix)
    )


@primitive
def rescale(model: Model, c: float) -> None:
    """Multiply every coefficient by c."""
    model.head[0].factor *= c


@inner
def fold(model: Model) -> None:
    """Move the factor into the coefficients, before it underflows."""
    head = model.head[0]
    c = model.coef.dtype.type(head.factor)
    for o in range(model.coef.shape[0]):
        for j in range(head.count):
            model.coef[o, j] *= c
    reads.rescale_scores(model.reads, c, head.count)
    head.norm2 *= head.factor * head.factor
    head.factor = 1.0


@inner
def stretch(model: Model, factors: Any) -> None:
    """Multiply the coefficients of each centre by a factor of its own."""
    head = model.head[0]
    for o in range(model.coef.shape[0]):
        for j in range(head.count):
            model.coef[o, j] *= factors[j]
    head.norm2 = reads.refresh(model.reads, model.coef, head.count, head.norm2)


@without_nan
def clip(model: Model, norm: float, scratch: Any) -> None:
    """Shorten each centre's coefficients to a raw norm, where they are longer."""
    size = model.head[0].count
    highest = model.coef.dtype.type(norm)
    if model.coef.shape[0] == 1:
        coef = model.coef[0]
        for j in range(size):
            coef[j] = min(max(coef[j], -highest), highest)
        head = model.head[0]
        head.norm2 = reads.refresh(model.reads, model.coef, head.count, head.norm2)
        return
    squared_norms(model, scratch)
    for j in range(size):
        length = math.sqrt(scratch[j])
        scratch[j] = highest / length if length > highest else 1
    stretch(model, scratch)


@primitive
def add(model: Model, output: int, j: int, weight: float) -> None:
    """Change one coefficient by a raw weight."""
    head = model.head[0]
    head.norm2 += reads.change(model.reads, output, j, weight, head.count)
    model.coef[output, j] += weight


@primitive
def column(model: Model, ahead: LookAhead, t: int) -> Any:
    """k(c_j, x_t) for all centres."""
    return ahead.kernel[t, : model.head[0].count]


@inner
def squared_norms(model: Model, out: Any) -> None:
    """|coef[:, j]|^2 for all centres."""
    size = model.head[0].count
    for j in range(size):
        out[j] = model.coef[0, j] * model.coef[0, j]
    for o in range(1, model.coef.shape[0]):
        for j in range(size):
            out[j] += model.coef[o, j] * model.coef[o, j]


@without_nan
def oldest_smallest(model: Model, cost: Any) -> int:
    """Slot of the smallest cost, of the oldest centre on ties.

    Three plain minima, each of which runs on vectors, instead of one loop with the
    conditions inside.
    """
    size = model.head[0].count
    smallest = cost[0]
    for j in range(1, size):
        smallest = min(smallest, cost[j])
    never = np.iinfo(np.int64).max
    oldest = never
    for j in range(size):
        oldest = min(oldest, model.birth[j] if cost[j] == smallest else never)
    slot = never
    for j in range(size):
        slot = min(slot, j if model.birth[j] == oldest else never)
    # A cost that is not a number equals nothing; a slot there must be.
    return slot if slot < size else 0


@primitive
def _occupy(model: Model, ahead: LookAhead, t: int, j: int, update: Update) -> None:
    head = model.head[0]
    kxx = ahead.diag[t]
    for o in range(model.coef.shape[0]):
        model.coef[o, j] = 0
    model.coef[update.up, j] = update.weight
    head.norm2 += update.weight * (2.0 * ahead.raw[update.up] + update.weight * kxx)
    if update.down >= 0:
        model.coef[update.down, j] = -update.weight
        head.norm2 += update.weight * (
            update.weight * kxx - 2.0 * ahead.raw[update.down]
        )
    model.diag[j] = kxx
    model.birth[j] = head.t
    model.label[j] = update.up
    ahead.source[j] = ~t
    reads.enter(
        model.reads,
        model.coef,
        j,
        update,
        ahead.kernel[t, : head.count],
        ahead.raw,
        kxx,
    )
    ahead.kernel[t, j] = kxx
    for s in range(t + 1, ahead.kernel.shape[0]):
        ahead.kernel[s, j] = ahead.block[t, s]


@primitive
def _vacate(model: Model, ahead: LookAhead, t: int, j: int) -> None:
    head = model.head[0]
    for o in range(model.coef.shape[0]):
        ahead.raw[o] -= model.coef[o, j] * ahead.kernel[t, j]
    head.norm2 += reads.leave(model.reads, model.coef, j, head.count)


@primitive
def insert(model: Model, ahead: LookAhead, t: int, update: Update) -> None:
    """Row t becomes a centre."""
    _occupy(model, ahead, t, model.head[0].count, update)
    model.head[0].count += 1


@primitive
def replace(model: Model, ahead: LookAhead, t: int, j: int, update: Update) -> None:
    """Row t becomes a centre in the slot of centre j, which leaves."""
    _vacate(model, ahead, t, j)
    _occupy(model, ahead, t, j, update)


@primitive
def drop(model: Model, ahead: LookAhead, t: int, j: int) -> None:
    """Centre j leaves; the last centre takes its slot."""
    _vacate(model, ahead, t, j)
    head = model.head[0]
    head.count -= 1
    last = head.count
    if j == last:
        return
    for o in range(model.coef.shape[0]):
        model.coef[o, j] = model.coef[o, last]
    model.diag[j] = model.diag[last]
    model.birth[j] = model.birth[last]
    model.label[j] = model.label[last]
    ahead.source[j] = ahead.source[last]
    reads.move(model.reads, j, last)
    for s in range(t, ahead.kernel.shape[0]):
        ahead.kernel[s, j] = ahead.kernel[s, last]
