"""Rows ahead: those that will want to be projected, several at a time.

To project one row on the centres reads half of a square matrix, for two operations a
number: what takes long is memory. Where centres only come and never leave, the root of
`onkel.model.inverse` is a triangle that only gains columns, so rows of the block to
come may as well be projected at the same time; a centre that comes meanwhile adds one
number to each.

Which rows will want it is a guess of the walk by the model as it is when the first of
them comes (`Ahead.wanted`). One that was not expected is projected when it comes.

Where centres leave, too, the root is no triangle, and whoever lets them come and leave
says so at once (`note_entry`, `note_exit`): that is an operation a centre for each row
to come, where to project it anew would be one an entry of the root.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, shared, typedispatch
from onkel.model.rows import (
    Points,
    Rows,
    between_center,
    between_points,
    coordinate,
    copy_row,
)
from onkel.problem.kernels import Kernel, between

AT_ONCE = 8


class Alone(NamedTuple):
    """No row is projected before its turn."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type


class Ahead(NamedTuple):
    """What is known of the rows that were projected together; `empty` makes it."""

    wanted: Any  # shape (at once,), int64: rows of the block that may want it, or -1
    f: Any  # shape (outputs,), float64: scores of a row to come
    rows: Any  # shape (at once,), int64: their numbers in the block, -1 for none
    sizes: Any  # shape (at once,), int64: how many centres they were projected on
    kxx: Any  # shape (at once,), float64
    points: Any  # shape (at once, features), float64: themselves
    turned: Any  # shape (features, capacity), float64: the centres, feature by feature
    known: Any  # shape (1,), int64: how many of them
    repairs: Any  # shape (1,), int64: those of the root that the rows were projected on
    columns: Any  # shape (at once, capacity), float64: k(c_j, x)
    projected: Any  # shape (at once, capacity), float64: root' of that


def empty(outputs: int, capacity: int, features: int) -> Ahead:
    """Make room for some rows.

    Examples
    --------
    >>> empty(1, capacity=64, features=2).projected.shape
    (8, 64)
    """
    square = AT_ONCE, capacity
    return Ahead(
        wanted=np.full(AT_ONCE, -1),
        f=np.zeros(outputs),
        rows=np.full(AT_ONCE, -1),
        sizes=np.zeros(AT_ONCE, np.int64),
        kxx=np.zeros(AT_ONCE),
        points=np.zeros((AT_ONCE, features)),
        turned=np.zeros((features, capacity)),
        known=np.zeros(1, np.int64),
        repairs=np.zeros(1, np.int64),
        columns=np.zeros(square),
        projected=np.zeros(square),
    )


@typedispatch(optional=True)
def start(ahead: Any) -> None:
    """Begin a pass: what is known of centres may be of another model."""


@start.register(Ahead)
def _start(ahead: Ahead) -> None:
    ahead.known[0] = 0


@typedispatch(optional=True)
def forget(ahead: Any) -> None:
    """Begin anew: another block."""


@forget.register(Ahead)
def _forget(ahead: Ahead) -> None:
    for i in range(len(ahead.rows)):
        ahead.rows[i] = -1
        ahead.wanted[i] = -1


@inner
def _turn(ahead: Ahead, points: Points, size: int) -> None:
    """Let the turned centres be as many as there are."""
    for j in range(ahead.known[0], size):
        for k in range(len(ahead.turned)):
            ahead.turned[k, j] = coordinate(points, j, k)
    ahead.known[0] = size


@inner
def follow(ahead: Ahead, repairs: int) -> None:
    """Forget what was projected, too, if the root has been computed afresh since."""
    if ahead.repairs[0] != repairs:
        ahead.repairs[0] = repairs
        for i in range(len(ahead.rows)):
            ahead.rows[i] = -1


@inner
def place_of(ahead: Ahead, t: int) -> int:
    """Where row t of the block is, -1 if it was not projected."""
    for i in range(len(ahead.rows)):
        if ahead.rows[i] == t:
            return i
    return -1


@inner
def project_ahead(
    ahead: Ahead,
    kernel: Kernel,
    rows: Rows,
    points: Points,
    turned: Any,  # shape (centres, capacity): root'
    triangular: bool,  # whether it is a triangle
    t: int,
) -> None:
    """Project row t of the block, and those after it that may want it."""
    count, size = 0, len(turned)
    for i in range(len(ahead.rows)):
        ahead.rows[i] = -1
    for i in range(-1, len(ahead.rows) - 1):
        s = t if i < 0 else ahead.wanted[i]
        if s < t or (s == t and i >= 0):
            continue
        point = ahead.points[count]
        copy_row(rows, s, point)
        ahead.kxx[count] = between(kernel, point, point)
        ahead.rows[count], ahead.sizes[count] = s, size
        count += 1
    columns, X = ahead.columns[:count], ahead.points[:count]
    _turn(ahead, points, size)
    between_points(kernel, ahead.turned, size, X, columns)
    _apply(turned, columns, ahead.projected[:count], triangular)


@inner
def catch_up(
    ahead: Ahead,
    kernel: Kernel,
    points: Points,
    turned: Any,  # shape (centres, capacity): root', a triangle
    place: int,
) -> None:
    """Project a row on the centres that have come since it was projected, too."""
    size, column = len(turned), ahead.columns[place]
    for j in range(ahead.sizes[place], size):
        column[j] = between_center(kernel, points, j, ahead.points[place])
        ahead.projected[place, j] = dot(turned[j], column, j + 1)
    ahead.sizes[place] = size


@inner
def note_entry(ahead: Ahead, kernel: Kernel, t: int, size: int, tip: float) -> None:
    """Project rows to come on row t, too, which is about to be centre `size`.

    `tip` is what is new in it: its last coordinate, now that it is a centre.
    """
    here, points = place_of(ahead, t), ahead.points
    own = ahead.projected[here]
    for i in range(len(ahead.rows)):
        if ahead.rows[i] > t:
            value = between(kernel, points[i], points[here])
            covered = dot(ahead.projected[i], own, size)
            ahead.columns[i, size] = value
            ahead.projected[i, size] = (value - covered) / tip
            ahead.sizes[i] = size + 1
    if ahead.known[0] == size:
        for k in range(len(ahead.turned)):
            ahead.turned[k, size] = points[here, k]
        ahead.known[0] = size + 1


@inner
def note_exit(
    ahead: Ahead, t: int, p: int, size: int, mirror: Any, scale: float
) -> None:
    """Follow the exit of centre p of `size`, whose slot the last one takes.

    The root has been reflected at the mirror, the square of whose length is 2/`scale`,
    and its last column has left.
    """
    last = size - 1
    for i in range(len(ahead.rows)):
        if ahead.rows[i] > t:
            projected = ahead.projected[i]
            part = scale * dot(mirror, projected, size)
            for k in range(last):
                projected[k] -= part * mirror[k]
            ahead.columns[i, p] = ahead.columns[i, last]
            ahead.sizes[i] = last
    for k in range(len(ahead.turned)):
        ahead.turned[k, p] = ahead.turned[k, last]
    ahead.known[0] = min(ahead.known[0], last)


@inner
def dot(a: Any, b: Any, size: int) -> float:
    """Sum of the first products."""
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


# Compiled on its own, because within a walk loops over a matrix come out slower. Four
# rows of the matrix with two columns: eight sums, which stay in registers.
@shared
def _apply(turned: Any, columns: Any, out: Any, triangular: bool) -> None:
    """Multiply a matrix by several columns, which share what is read of it."""
    size, count = len(turned), len(columns)
    full, even = size - size % 4, count - count % 2
    for k in range(0, full, 4):
        last = k + 4 if triangular else size
        a, b = turned[k, :last], turned[k + 1, :last]
        c, d = turned[k + 2, :last], turned[k + 3, :last]
        for r in range(0, even, 2):
            x, z = columns[r], columns[r + 1]
            ax, bx, cx, dx = 0.0, 0.0, 0.0, 0.0
            az, bz, cz, dz = 0.0, 0.0, 0.0, 0.0
            for i in range(last):
                ax += a[i] * x[i]
                az += a[i] * z[i]
                bx += b[i] * x[i]
                bz += b[i] * z[i]
                cx += c[i] * x[i]
                cz += c[i] * z[i]
                dx += d[i] * x[i]
                dz += d[i] * z[i]
            out[r, k], out[r, k + 1], out[r, k + 2], out[r, k + 3] = ax, bx, cx, dx
            r += 1
            out[r, k], out[r, k + 1], out[r, k + 2], out[r, k + 3] = az, bz, cz, dz
        if even < count:
            x = columns[even]
            ax, bx, cx, dx = 0.0, 0.0, 0.0, 0.0
            for i in range(last):
                ax += a[i] * x[i]
                bx += b[i] * x[i]
                cx += c[i] * x[i]
                dx += d[i] * x[i]
            r = even
            out[r, k], out[r, k + 1], out[r, k + 2], out[r, k + 3] = ax, bx, cx, dx
    for k in range(full, size):
        for r in range(count):
            out[r, k] = dot(turned[k], columns[r], k + 1 if triangular else size)
