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

Strategies read `column` = k(c_j, x_t). A strategy may further declare the Gram matrix
of the centres (`row`) and their raw scores (`scores`); the primitives keep both. Scores
declared without the Gram matrix count only what was inserted after the centre itself.
"""

import math
from typing import Any, NamedTuple

import numpy as np

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
    gram: Any  # shape (capacity, capacity), or (0, 0) if not declared
    scores: Any  # shape (outputs, capacity), raw, or (outputs, 0)


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


def allocate(
    outputs: int, capacity: int, dtype: Any, gram: bool, scores: bool
) -> Model:
    """Make an empty model.

    Examples
    --------
    >>> allocate(1, 8, np.float32, gram=False, scores=False).coef.shape
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
        gram=np.zeros((capacity, capacity) if gram else (0, 0), dtype),
        scores=np.zeros((outputs, capacity if scores else 0), dtype),
    )


def resized(model: Model, capacity: int) -> Model:
    """Copy a model into one of another capacity."""
    size = int(model.head[0].count)
    outputs = model.coef.shape[0]
    gram, scores = model.gram.size > 0, model.scores.size > 0
    new = allocate(outputs, capacity, model.coef.dtype, gram, scores)
    new.head[:] = model.head
    new.coef[:, :size] = model.coef[:, :size]
    new.diag[:size] = model.diag[:size]
    new.birth[:size] = model.birth[:size]
    new.label[:size] = model.label[:size]
    if gram:
        new.gram[:size, :size] = model.gram[:size, :size]
    if scores:
        new.scores[:, :size] = model.scores[:, :size]
    return new


def relabelled(model: Model, matrix: Any, labels: Any) -> Model:
    """Map the outputs by a matrix (new x old), and each centre's label likewise.

    `labels` gives the new label of every slot.
    """
    matrix = np.asarray(matrix, model.coef.dtype)
    model.label[:] = labels
    # The norm follows because the new outputs are copies of the old, up to a factor.
    model.head[0].norm2 *= float((matrix**2).sum(axis=0)[0])
    return model._replace(
        coef=np.ascontiguousarray(matrix @ model.coef),
        scores=np.ascontiguousarray(matrix @ model.scores),
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
        for j in range(min(head.count, model.scores.shape[1])):
            model.scores[o, j] *= c
    head.norm2 *= head.factor * head.factor
    head.factor = 1.0


@inner
def stretch(model: Model, factors: Any) -> None:
    """Multiply the coefficients of each centre by a factor of its own."""
    for o in range(model.coef.shape[0]):
        for j in range(model.head[0].count):
            model.coef[o, j] *= factors[j]


@without_nan
def clip(model: Model, norm: float, scratch: Any) -> None:
    """Shorten each centre's coefficients to a raw norm, where they are longer."""
    size = model.head[0].count
    highest = model.coef.dtype.type(norm)
    if model.coef.shape[0] == 1:
        coef = model.coef[0]
        for j in range(size):
            coef[j] = min(max(coef[j], -highest), highest)
        return
    squared_norms(model, scratch)
    for j in range(size):
        length = math.sqrt(scratch[j])
        scratch[j] = highest / length if length > highest else 1
    stretch(model, scratch)


@primitive
def add(model: Model, output: int, j: int, weight: float) -> None:
    """Change one coefficient by a raw weight."""
    model.coef[output, j] += weight


@primitive
def column(model: Model, ahead: LookAhead, t: int) -> Any:
    """k(c_j, x_t) for all centres."""
    return ahead.kernel[t, : model.head[0].count]


@primitive
def row(model: Model, j: int) -> Any:
    """k(c_j, c_i) for all centres; the Gram matrix must be declared."""
    return model.gram[j, : model.head[0].count]


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
    return slot


@primitive
def _occupy(model: Model, ahead: LookAhead, t: int, j: int, update: Update) -> None:
    head = model.head[0]
    dtype = model.coef.dtype
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
    if model.scores.shape[1] > 0:
        weight = dtype.type(update.weight)
        known = ahead.kernel[t]
        for i in range(head.count):
            model.scores[update.up, i] += weight * known[i]
        if update.down >= 0:
            for i in range(head.count):
                model.scores[update.down, i] -= weight * known[i]
        for o in range(model.coef.shape[0]):
            own = model.coef[o, j] * kxx
            if model.gram.shape[0] > 0:
                own += dtype.type(ahead.raw[o])
            model.scores[o, j] = own
    if model.gram.shape[0] > 0:
        for i in range(head.count):
            model.gram[j, i] = ahead.kernel[t, i]
            model.gram[i, j] = ahead.kernel[t, i]
        model.gram[j, j] = kxx
    ahead.kernel[t, j] = kxx
    for s in range(t + 1, ahead.kernel.shape[0]):
        ahead.kernel[s, j] = ahead.block[t, s]


@primitive
def _vacate(model: Model, ahead: LookAhead, t: int, j: int) -> None:
    head = model.head[0]
    for o in range(model.coef.shape[0]):
        ahead.raw[o] -= model.coef[o, j] * ahead.kernel[t, j]
    if model.gram.shape[0] > 0:
        for o in range(model.coef.shape[0]):
            q = model.coef[o, j]
            head.norm2 += q * (q * model.diag[j] - 2.0 * model.scores[o, j])
            for i in range(head.count):
                model.scores[o, i] -= q * model.gram[j, i]


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
    if model.scores.shape[1] > 0:
        for o in range(model.coef.shape[0]):
            model.scores[o, j] = model.scores[o, last]
    if model.gram.shape[0] > 0:
        for i in range(head.count):
            model.gram[j, i] = model.gram[last, i]
            model.gram[i, j] = model.gram[last, i]
        model.gram[j, j] = model.gram[last, last]
    for s in range(t, ahead.kernel.shape[0]):
        ahead.kernel[s, j] = ahead.kernel[s, last]


@inner
def refresh(model: Model) -> None:
    """Recompute scores and norm from the Gram matrix, against the drift of rounding."""
    head = model.head[0]
    head.norm2 = 0.0
    for o in range(model.coef.shape[0]):
        for j in range(head.count):
            total = model.coef.dtype.type(0)
            for i in range(head.count):
                total += model.coef[o, i] * model.gram[j, i]
            model.scores[o, j] = total
            head.norm2 += model.coef[o, j] * total
