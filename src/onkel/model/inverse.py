"""Inverse: the inverse of the Gram matrix of the centres, edited in O(centres^2).

Kept as a square root, K^-1 = R R', with a row of R for each centre:

    append x      d = K^-1 k_x,  r2 = k(x, x) - <k_x, d>,  s = r2 + jitter,
                  R <- [[R, -d / sqrt(s)], [0, 1 / sqrt(s)]]
    take out p    R <- R H, H the reflection that turns row p into (0, ..., 0, rho);
                  then row p and the last column leave

d is the projection of phi(x) on the centres, r2 the squared norm of what is left.
-K^-1[:, p] / K^-1[p, p] is the projection of centre p on the others, and 1/K^-1[p, p]
the squared norm of what that leaves. The entries of R are of the order of the square
root of those of K^-1, and reflections keep errors in proportion to them: edits of K^-1
itself lose all digits when two close centres part.

Gram matrices of close centres have no inverse to speak of. K therefore has
JITTER k(c, c) added on its diagonal, and a row with r2 <= 2 JITTER k(x, x), such as a
duplicate, counts as one in the span of the centres: it is not appended. All is in
double precision, also the kernel values, whatever the precision of the model.

The root lies in memory column by column: a column of it is a direction of the space
that the centres span, and to project a row is to ask for its part in each of them.

It is too large for the nearer caches, so what takes long is to read it. Where centres
come and go, a row is projected and represented, and the diagonal of K^-1 found, while a
few directions are at hand; and the column of a centre that is projected out is all that
its reflection needs.

Every CHECK_EVERY appended rows one column of K K^-1 is compared with the identity, and
R computed afresh if they differ by more than DRIFT; `status.repairs` counts.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, shared
from onkel.model import center_cache, rows_ahead
from onkel.model.expansion import spread
from onkel.model.rows import between_centers, copy, copy_row
from onkel.model.rows_ahead import dot
from onkel.model.state import Block, Model, Update
from onkel.problem.kernels import between

JITTER = 1e-8
CHECK_EVERY = 100
DRIFT = 1e-7

STATUS = np.dtype(
    [
        ("residual", np.float64),  # of the row projected last
        ("kxx", np.float64),  # its k(x, x); a record has a `diagonal` of its own
        ("edits", np.int64),
        ("repairs", np.int64),
    ],
    align=True,
)


class Inverse(NamedTuple):
    """Declares the inverse Gram matrix."""

    values: Any  # shape (capacity, capacity), float64: k(c_i, c_j)
    root: Any  # shape (capacity, capacity), float64: K^-1 = root root', with a jitter;
    # in Fortran's order
    column: Any  # shape (capacity,), float64: k(c_j, x) of the row projected last
    shares: Any  # shape (capacity,), float64: its projection on the centres, or the
    # column of K^-1 that was asked for last
    work: Any  # shape (capacity,), float64: the diagonal of K^-1 once a row has been
    # projected on centres that come and go, until a column is asked for
    status: Any  # shape (1,), of STATUS

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Inverse":
        """Make the cache of an empty model."""
        square, line = (capacity, capacity), capacity
        return cls(
            *(np.zeros(square), np.zeros(square, order="F")),
            *(np.zeros(line), np.zeros(line), np.zeros(line)),
            np.zeros(1, STATUS).view(np.recarray),
        )

    def resized(self, size: int, capacity: int) -> "Inverse":
        """Copy into another capacity."""
        new = Inverse.empty(1, capacity, np.float64)
        new.values[:size, :size] = self.values[:size, :size]
        new.root[:size, :size] = self.root[:size, :size]
        new.status[:] = self.status
        return new

    def mapped(self, matrix: np.ndarray) -> "Inverse":
        """Return the same: outputs share their centres."""
        return self


@inner
def project_row(model: Model, block: Block, t: int) -> float:
    """Project row t on the centres; return the squared norm of what is left."""
    cache, status, size = model.cache, model.cache.status[0], model.counters[0].count
    column, shares = cache.column[:size], cache.shares[:size]
    copy_row(block.rows, t, block.point)
    between_centers(block.similarity, model.points, block.point, column)
    status.kxx = between(block.similarity, block.point, block.point)
    covered = _project(cache.root.T[:size], column, shares, cache.work[:size])
    status.residual = max(status.kxx - covered, 0.0)
    return status.residual


@inner
def project_row_ahead(model: Model, block: Block, t: int) -> float:
    """As `project_row`, but together with rows to come; for centres that never leave.

    The root is a triangle then, and only half of it is read. Most rows need no more
    than what is left; `represent_row` finds the projection itself.
    """
    cache, status, size = model.cache, model.cache.status[0], model.counters[0].count
    ahead, turned = block.ahead, cache.root.T[:size]
    kernel, points = block.similarity, model.points
    rows_ahead.follow(ahead, status.repairs)
    place = rows_ahead.place_of(ahead, t)
    if place < 0:
        place = 0
        rows_ahead.project_ahead(ahead, kernel, block.rows, points, turned, True, t)
    rows_ahead.catch_up(ahead, kernel, points, turned, place)
    copy(ahead.columns[place, :size], cache.column)
    copy(ahead.projected[place, :size], cache.work)
    status.kxx = ahead.kxx[place]
    status.residual = max(status.kxx - dot(cache.work, cache.work, size), 0.0)
    return status.residual


@inner
def represent_row(cache: Inverse, size: int) -> None:
    """Find the shares of the centres in the row projected last on a triangle."""
    _apply(cache.root.T[:size], cache.work[:size], cache.shares[:size], True)


# Compiled on their own, because within a walk loops over a matrix come out slower. Four
# directions at a time: what they have in common is then read once.
@shared
def _project(turned: Any, column: Any, shares: Any, diagonal: Any) -> float:
    """Compute root root' column and the diagonal of root root' in one pass.

    Return |root' column|^2.
    """
    size, covered = len(column), 0.0
    full = size - size % 4
    shares[:] = 0.0
    diagonal[:] = 0.0
    for k in range(0, full, 4):
        first, second = turned[k, :size], turned[k + 1, :size]
        third, fourth = turned[k + 2, :size], turned[k + 3, :size]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(size):
            a += first[i] * column[i]
            b += second[i] * column[i]
            c += third[i] * column[i]
            d += fourth[i] * column[i]
        covered += a * a + b * b + (c * c + d * d)
        for i in range(size):
            w, x, y, z = first[i], second[i], third[i], fourth[i]
            shares[i] += a * w + b * x + (c * y + d * z)
            diagonal[i] += w * w + x * x + (y * y + z * z)
    for k in range(full, size):
        own = turned[k, :size]
        a = dot(own, column, size)
        covered += a * a
        for i in range(size):
            shares[i] += a * own[i]
            diagonal[i] += own[i] * own[i]
    return covered


@shared
def _apply(turned: Any, vector: Any, out: Any, triangular: bool) -> None:
    """Compute root vector."""
    size = len(out)
    full = size - size % 4
    out[:] = 0.0
    for k in range(0, full, 4):
        end = k + 4 if triangular else size
        some = out[:end]
        first, second = turned[k, :end], turned[k + 1, :end]
        third, fourth = turned[k + 2, :end], turned[k + 3, :end]
        a, b, c, d = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        for i in range(len(some)):
            some[i] += a * first[i] + b * second[i] + (c * third[i] + d * fourth[i])
    for k in range(full, size):
        value, own = vector[k], turned[k]
        for i in range(size):
            out[i] += value * own[i]


@inner
def inverse_column(cache: Inverse, p: int, size: int) -> None:
    """Let the shares be K^-1[:, p], and `work` row p of the root, which tells so."""
    known = True
    for k in range(size):
        part = cache.root[p, k]
        known &= cache.work[k] == part
        cache.work[k] = part
    if not known:
        _apply(cache.root.T[:size], cache.work[:size], cache.shares[:size], False)


@shared
def inverse_diagonal(cache: Inverse, size: int, out: Any) -> None:
    """K^-1[p, p] of all centres."""
    turned, full = cache.root.T, size - size % 4
    out[:size] = 0.0
    for k in range(0, full, 4):
        a, b, c, d = turned[k], turned[k + 1], turned[k + 2], turned[k + 3]
        for i in range(size):
            out[i] += a[i] * a[i] + b[i] * b[i] + (c[i] * c[i] + d[i] * d[i])
    for k in range(full, size):
        own = turned[k]
        for i in range(size):
            out[i] += own[i] * own[i]


@inner
def row_in_span(model: Model) -> bool:
    """Whether the row projected last is in the span of the centres."""
    status = model.cache.status[0]
    return status.residual <= 2.0 * JITTER * status.kxx


@inner
def add_to_centers(model: Model, update: Update) -> None:
    """Add the update of the row represented last to the centres."""
    spread(model, update.up, update.weight, model.cache.shares)
    if update.down >= 0:
        spread(model, update.down, -update.weight, model.cache.shares)


@center_cache.enter.register(Inverse)
def _append(
    cache: Inverse, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    status, size = cache.status[0], len(known)
    scale = 1.0 / math.sqrt(status.residual + JITTER * status.kxx)
    for i in range(size):
        part = -scale * cache.shares[i]
        cache.root[i, j] = part
        cache.root[j, i] = 0.0
        cache.work[i] += part * part
        cache.values[i, j] = cache.column[i]
        cache.values[j, i] = cache.column[i]
    cache.root[j, j] = scale
    cache.work[j] = scale * scale
    cache.values[j, j] = status.kxx
    status.edits += 1
    if status.edits % CHECK_EVERY == 0:
        column = status.edits // CHECK_EVERY % (size + 1)
        if deviation(cache, column, size + 1) > DRIFT:
            repair(cache, size + 1)
            status.repairs += 1
        inverse_diagonal(cache, size + 1, cache.work)


@center_cache.leave.register(Inverse)
def _take_out(cache: Inverse, coef: Any, j: int, size: int) -> float:
    inverse_column(cache, j, size)
    _reflect(cache.root.T[:size], cache.work[:size], cache.shares[:size])
    return 0.0


@shared
def _reflect(turned: Any, mirror: Any, image: Any) -> None:
    """Let only the last direction have a part of a centre.

    `mirror` is the centre's row of the root, `image` its column of K^-1, the root times
    that row. Both are used up.
    """
    size, last = len(mirror), len(mirror) - 1
    length = math.copysign(math.sqrt(dot(mirror, mirror, size)), mirror[last])
    mirror[last] += length
    scale = 2.0 / dot(mirror, mirror, size)
    final = turned[last]
    for i in range(size):
        image[i] += length * final[i]
    for k in range(size):
        own, share = turned[k], scale * mirror[k]
        for i in range(size):
            own[i] -= share * image[i]


@center_cache.move.register(Inverse)
def _move(cache: Inverse, j: int, last: int) -> None:
    for i in range(last):
        cache.values[j, i] = cache.values[last, i]
        cache.values[i, j] = cache.values[last, i]
        cache.root[j, i] = cache.root[last, i]
    cache.values[j, j] = cache.values[last, last]


@inner
def deviation(cache: Inverse, column: int, size: int) -> float:
    """Largest entry of K K^-1 - I in one column."""
    inverse_column(cache, column, size)
    largest = 0.0
    for i in range(size):
        total = dot(cache.values[i], cache.shares, size)
        total += JITTER * cache.values[i, i] * cache.shares[i]
        largest = max(largest, abs(total - (1.0 if i == column else 0.0)))
    return largest


@inner
def repair(cache: Inverse, size: int) -> None:
    """Compute the root afresh, in O(size^3)."""
    matrix = cache.values[:size, :size].copy()
    for i in range(size):
        matrix[i, i] *= 1.0 + JITTER
    fresh = np.linalg.inv(np.linalg.cholesky(matrix))
    for i in range(size):
        for k in range(size):
            cache.root[i, k] = fresh[k, i]


@center_cache.refresh.register(Inverse)
def _find_norm(cache: Inverse, coef: Any, size: int, norm2: float) -> float:
    norm2 = 0.0
    for o in range(len(coef)):
        for j in range(size):
            total = 0.0
            for i in range(size):
                total += coef[o, i] * cache.values[j, i]
            norm2 += coef[o, j] * total
    return norm2


@center_cache.lacks_norm.register(Inverse)
def _lacks_norm(cache: Inverse) -> bool:
    return True
