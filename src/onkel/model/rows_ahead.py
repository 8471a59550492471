"""Rows ahead: those that will want to be projected, several at a time.

To project one row on the centres reads half of a square matrix, for two operations a
number: what takes long is memory. Where centres only come and never leave, the root of
`onkel.model.inverse` is a triangle that only gains columns, so rows of the block to
come may as well be projected at the same time; a centre that comes meanwhile adds one
number to each.

Which rows will want it is a guess of the walk, `Block.expected`, from scores before the
block. One that was not expected is projected when it comes, with those after it.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, shared
from onkel.model.rows import (
    TILE,
    Points,
    Rows,
    between_center,
    between_points,
    copy_row,
)
from onkel.problem.kernels import Kernel, between

AT_ONCE = 4


class Ahead(NamedTuple):
    """What is known of the rows that were projected together; `empty` makes it."""

    rows: Any  # shape (at once,), int64: their numbers in the block, -1 for none
    sizes: Any  # shape (at once,), int64: how many centres they were projected on
    kxx: Any  # shape (at once,), float64
    points: Any  # shape (at once, features), float64: themselves
    tile: Any  # shape (features, TILE), float64, to work in
    columns: Any  # shape (at once, capacity), float64: k(c_j, x)
    projected: Any  # shape (at once, capacity), float64: root' of that


def empty(capacity: int, features: int, count: int = AT_ONCE) -> Ahead:
    """Make room for some rows.

    Examples
    --------
    >>> empty(64, features=2).projected.shape
    (4, 64)
    """
    square = count, capacity
    return Ahead(
        rows=np.full(count, -1),
        sizes=np.zeros(count, np.int64),
        kxx=np.zeros(count),
        points=np.zeros((count, features)),
        tile=np.zeros((features if count else 0, TILE)),
        columns=np.zeros(square),
        projected=np.zeros(square),
    )


@inner
def forget(ahead: Ahead) -> None:
    """Begin anew: another block, or another root."""
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
    expected: Any,  # shape (rows,)
    points: Points,
    turned: Any,  # shape (centres, capacity): root', a triangle
    t: int,
) -> None:
    """Project row t of the block, and the next that are expected to want it."""
    count, size = 0, len(turned)
    forget(ahead)
    for s in range(t, len(expected)):
        if s > t and not expected[s]:
            continue
        point = ahead.points[count]
        copy_row(rows, s, point)
        ahead.kxx[count] = between(kernel, point, point)
        ahead.rows[count], ahead.sizes[count] = s, size
        count += 1
        if count == len(ahead.rows):
            break
    columns, X = ahead.columns[:count], ahead.points[:count]
    between_points(kernel, points, size, X, ahead.tile, columns)
    _apply(turned, columns, ahead.projected[:count])


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
def dot(a: Any, b: Any, size: int) -> float:
    """Sum of the first products."""
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


# Compiled on its own, because within a walk loops over a matrix come out slower. Four
# rows of the triangle with two columns: eight sums, which stay in registers.
@shared
def _apply(turned: Any, columns: Any, out: Any) -> None:
    """Multiply a triangle by several columns, which share what is read of it."""
    size, count = len(turned), len(columns)
    full, even = size - size % 4, count - count % 2
    for k in range(0, full, 4):
        last = k + 4
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
            out[r, k] = dot(turned[k], columns[r], k + 1)
