"""Spread: a covariance in the coordinates of the root, edited in O(centres^2).

V is the covariance of a function's coordinates in the space that the centres span (see
`onkel.model.inverse` for the root that has them), I before the first row. It changes by

    hold      V <- keep V + (1 - keep) I - shrink g g'      a row is learnt
    widen     V <- [[V, 0], [0, 1]]                         its own coordinate comes
    reflect   V <- H V H, whose last row and column leave   a centre is taken out
    follow    V <- T V T'                                   the root is repaired

It is too large for the nearer caches, so what takes long is to read it. Only its lower
triangle is read, where a number stands for two. What rows change of it is held back, a
few rows long, until somebody asks for its products with the rows to come, a few at a
time: `answer` reads and writes it once for all of that. Whoever learns a row meanwhile
corrects the products of those to come, which is an operation a centre for each.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inlined, inner, shared
from onkel.model.growing import enlarged
from onkel.model.rows import copy
from onkel.model.rows_ahead import dot

# Rows that can be held back.
TOGETHER = 4
# Variances in a model file: above the prior's only by rounding.
WIDEST = 1.0 + 1e-3

HELD = np.dtype(
    [
        ("rows", np.int64),  # that are held back
        ("turned", np.int64),  # whether a reflection is, after these
        ("keep", np.float64),  # what they leave of V, in all
    ],
    align=True,
)


class Spread(NamedTuple):
    """The covariance, and what is held back of it.

    Several are kept in a pile, whose arrays have one dimension more: `piled` makes it,
    `one_of` is one of them.
    """

    values: Any  # shape (capacity, capacity), float64: V; of all that is above the
    # diagonal only what is in the squares of four on it
    waiting: Any  # g, shape (TOGETHER, capacity), float64
    shrink: Any  # shape (TOGETHER,), float64; 0 for none
    mirror: (
        Any  # shape (capacity,), float64: H V H is V - mirror image' - image mirror'
    )
    image: Any  # likewise
    held: Any  # shape (1,), of HELD

    @classmethod
    def empty(cls, capacity: int) -> "Spread":
        """Make that of no coordinates."""
        held = np.zeros(1, HELD).view(np.recarray)
        held.keep = 1.0
        return cls(
            np.zeros((capacity, capacity)),
            *(np.zeros((TOGETHER, capacity)), np.zeros(TOGETHER)),
            *(np.zeros(capacity), np.zeros(capacity), held),
        )

    def resized(self, size: int, capacity: int) -> "Spread":
        """Copy into another capacity; nothing must be held back."""
        values = enlarged(self.values[:size, :size], capacity, capacity)
        return Spread.empty(capacity)._replace(values=values)

    def matrix(self, size: int) -> np.ndarray:
        """Return V, all of it; nothing must be held back."""
        low = np.tril(self.values[:size, :size], -1)
        return low + low.T + np.diag(np.diagonal(self.values)[:size])

    def refuse_nonsense(self, size: int) -> None:
        """Raise ValueError if it cannot be what rows have left."""
        variances = np.diagonal(self.values)[:size]
        if not ((variances > 0.0) & (variances <= WIDEST)).all():
            raise ValueError("Spread.values has a variance that rows cannot have left")


def piled(spreads: Sequence[Spread]) -> Spread:
    """Return some, of the same capacity, one upon the other.

    Examples
    --------
    >>> piled([Spread.empty(8), Spread.empty(8)]).values.shape
    (2, 8, 8)
    """
    pile = Spread(*map(np.stack, zip(*spreads, strict=True)))
    return pile._replace(held=pile.held.ravel().view(np.recarray))


@inlined
def one_of(pile: Spread, m: int) -> Spread:
    """Return number m of a pile."""
    return Spread(
        pile.values[m],
        pile.waiting[m],
        pile.shrink[m],
        pile.mirror[m],
        pile.image[m],
        pile.held[m : m + 1],
    )


# Four rows of the triangle at a time, which share what is read besides. On the diagonal
# they end in a square, all of which is kept; where the last one reaches beyond the
# coordinates that there are, all is 0. These loops are most of what a row costs.
FOUR = 4


@inlined
def _shrink(spread: Spread, k: int, own: Any) -> None:
    keep, shrink, waiting = spread.held[0].keep, spread.shrink, spread.waiting
    first, second, third, fourth = waiting[0], waiting[1], waiting[2], waiting[3]
    p, q = shrink[0] * first[k], shrink[1] * second[k]
    r, s = shrink[2] * third[k], shrink[3] * fourth[k]
    for i in range(len(own)):
        part = p * first[i] + q * second[i] + (r * third[i] + s * fourth[i])
        own[i] = keep * own[i] - part


@inlined
def _turn_four(spread: Spread, k: int, a: Any, b: Any, c: Any, d: Any) -> None:
    mirror, image = spread.mirror, spread.image
    p, q, r, s = mirror[k], mirror[k + 1], mirror[k + 2], mirror[k + 3]
    t, u, v, w = image[k], image[k + 1], image[k + 2], image[k + 3]
    for i in range(len(a)):
        m, n = mirror[i], image[i]
        a[i] -= p * n + t * m
        b[i] -= q * n + u * m
        c[i] -= r * n + v * m
        d[i] -= s * n + w * m


@inlined
def _multiply_four(k: int, a: Any, b: Any, c: Any, d: Any, z: Any, out: Any) -> None:
    p, q, r, s = z[k], z[k + 1], z[k + 2], z[k + 3]
    t, u, v, w = 0.0, 0.0, 0.0, 0.0
    for i in range(k):
        part = z[i]
        t += a[i] * part
        u += b[i] * part
        v += c[i] * part
        w += d[i] * part
        out[i] += a[i] * p + b[i] * q + (c[i] * r + d[i] * s)
    for i in range(k, k + FOUR):
        part = z[i]
        t += a[i] * part
        u += b[i] * part
        v += c[i] * part
        w += d[i] * part
    out[k], out[k + 1], out[k + 2], out[k + 3] = t, u, v, w


@inner
def _clear(spread: Spread, size: int, wide: int, rows: Any) -> None:
    """Let all be 0 between the last coordinate and the end of its square."""
    for k in range(size, wide):
        for i in range(wide):
            spread.values[k, i] = 0.0
        for i in range(wide - FOUR, wide):
            spread.values[i, k] = 0.0
        for n in range(TOGETHER):
            spread.waiting[n, k] = 0.0
        spread.mirror[k] = spread.image[k] = 0.0
        for r in range(len(rows)):
            rows[r, k] = 0.0


@shared
def answer(spread: Spread, size: int, rows: Any, out: Any) -> None:
    """Find the products of V with some rows; nothing is held back any more.

    `rows` and `out` have the shape (some, capacity).
    """
    held, values, wide = spread.held[0], spread.values, -(-size // FOUR) * FOUR
    is_changed = held.rows > 0 or held.keep != 1.0
    _clear(spread, size, wide, rows)
    for k in range(0, wide, FOUR):
        end = k + FOUR
        a, b = values[k, :end], values[k + 1, :end]
        c, d = values[k + 2, :end], values[k + 3, :end]
        if is_changed:
            for i in range(k, end):
                _shrink(spread, i, values[i, :end])
            for i in range(k, min(end, size)):
                values[i, i] += 1.0 - held.keep
        if held.turned:
            _turn_four(spread, k, a, b, c, d)
        for r in range(len(rows)):
            _multiply_four(k, a, b, c, d, rows[r], out[r])
    spread.shrink[:] = 0.0
    held.rows, held.turned, held.keep = 0, 0, 1.0


@inner
def hold(spread: Spread, size: int, keep: float, shrink: float, g: Any) -> None:
    """Let V be keep V + (1 - keep) I - shrink g g', later."""
    held = spread.held[0]
    for n in range(held.rows):
        spread.shrink[n] *= keep
    held.keep *= keep
    copy(g[:size], spread.waiting[held.rows])
    spread.shrink[held.rows] = shrink
    held.rows += 1


@inner
def widen(spread: Spread, size: int) -> None:
    """Let there be one more coordinate, with the variance of the prior."""
    for i in range(size):
        spread.values[size, i] = 0.0
    for i in range(size // FOUR * FOUR, size):
        spread.values[i, size] = 0.0
    spread.values[size, size] = 1.0
    for n in range(spread.held[0].rows):
        spread.waiting[n, size] = 0.0


@shared
def _multiply(values: Any, z: Any, out: Any) -> None:
    """Compute the product of a triangle, which stands for a matrix, with z."""
    out[:] = 0.0
    for k in range(len(z)):
        own, part, total = values[k, :k], z[k], 0.0
        for i in range(k):
            total += own[i] * z[i]
            out[i] += own[i] * part
        out[k] = total + values[k, k] * part


@inner
def reflect(spread: Spread, size: int, mirror: Any, scale: float) -> None:
    """Reflect V at a mirror, the square of whose length is 2/`scale`, later.

    The last of `size` coordinates leaves.
    """
    own, image, held = spread.mirror[:size], spread.image[:size], spread.held[0]
    copy(mirror[:size], own)
    _multiply(spread.values, own, image)
    for i in range(size):
        image[i] = held.keep * image[i] + (1.0 - held.keep) * own[i]
    for n in range(held.rows):
        part = spread.shrink[n] * dot(spread.waiting[n], own, size)
        for i in range(size):
            image[i] -= part * spread.waiting[n, i]
    half = 0.5 * scale * dot(own, image, size)
    for i in range(size):
        image[i] = scale * (image[i] - half * own[i])
    held.turned = 1


@shared
def follow(spread: Spread, turn: Any) -> None:
    """Turn V into other coordinates; nothing must be held back."""
    size = len(turn)
    known = spread.values[:size, :size].copy()
    for i in range(size):
        for k in range(i):
            known[k, i] = known[i, k]
    known = np.dot(np.dot(turn, known), np.ascontiguousarray(turn.T))
    for i in range(size):
        for k in range(size):
            spread.values[i, k] = 0.5 * (known[i, k] + known[k, i])
