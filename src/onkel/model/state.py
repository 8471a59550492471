"""State: what a model is, the block that passes it, and what a row proposes.

`onkel.model.expansion` has what may change a model; here is how it is made, how it gets
other sizes, features and outputs, and what of it compiled code takes.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.model import averages
from onkel.model.growing import enlarged
from onkel.model.rows import Rows, beside
from onkel.problem.kernels import Kernel

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
    foreseen: Any  # shape (rows, outputs): raw scores before the block, or none
    ahead: Any  # rows projected before their turn, see `onkel.model.rows_ahead`
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
    >>> from onkel.model.center_cache import Nothing
    >>> allocate(1, 8, 2, np.float32, Nothing).coef.shape
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
    outputs, features = len(model.coef), model.points.shape[1]
    points, order = model.points[:size], order_of(model.points)
    return model._replace(
        counters=model.counters.copy(),
        coef=enlarged(model.coef[:, :size], outputs, capacity),
        points=enlarged(points, capacity, features, order=order),
        norms=enlarged(model.norms[:size], capacity),
        diag=enlarged(model.diag[:size], capacity),
        birth=enlarged(model.birth[:size], capacity),
        label=enlarged(model.label[:size], capacity),
        cache=model.cache.resized(size, capacity),
        average=model.average.resized(size, capacity),
    )


def widened(model: Model, features: int) -> Model:
    """Copy a model into one whose points have further features, all 0."""
    points, order = model.points, order_of(model.points)
    return model._replace(
        points=enlarged(points, len(points), features, order=order),
        average=model.average.widened(features),
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
