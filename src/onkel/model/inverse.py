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

Every CHECK_EVERY appended rows one column of K K^-1 is compared with the identity, and
R computed afresh if they differ by more than DRIFT; `status.repairs` counts.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, shared
from onkel.model import center_cache
from onkel.model.expansion import spread
from onkel.model.rows import between_centers, copy_row
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
    root: Any  # shape (capacity, capacity), float64: K^-1 = root root', with a jitter
    column: Any  # shape (capacity,), float64: k(c_j, x) of the row projected last
    shares: Any  # shape (capacity,), float64: its projection on the centres
    work: Any  # shape (capacity,), float64
    status: Any  # shape (1,), of STATUS

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Inverse":
        """Make the cache of an empty model."""
        square, line = (capacity, capacity), capacity
        return cls(
            *(np.zeros(square), np.zeros(square)),
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
def project_row(model: Model, block: Block, t: int, triangular: bool) -> float:
    """Project row t on the centres; return the squared norm of what is left.

    `represent_row` has the projection itself, which costs as much again. Where no
    centre ever leaves, the root is triangular, and only half of it is read.
    """
    cache, status, size = model.cache, model.cache.status[0], model.counters[0].count
    copy_row(block.rows, t, block.point)
    between_centers(block.similarity, model.points, block.point, cache.column[:size])
    status.kxx = between(block.similarity, block.point, block.point)
    work = cache.work[:size]
    _apply_transposed(cache.root[:size], cache.column[:size], work, triangular)
    status.residual = max(status.kxx - _dot(work, work, size), 0.0)
    return status.residual


@inner
def represent_row(cache: Inverse, size: int, triangular: bool) -> None:
    """Find the shares of the centres in the row projected last."""
    _apply(cache.root[:size], cache.work[:size], cache.shares[:size], triangular)


# Compiled on their own, because within a walk loops over a matrix come out slower. Four
# rows at a time: what they have in common is then read once.
@shared
def _apply_transposed(root: Any, column: Any, out: Any, triangular: bool) -> None:
    """Compute root' column."""
    size = len(out)
    full = size - size % 4
    out[:] = 0.0
    for i in range(0, full, 4):
        begin = i if triangular else 0
        some = out[begin:]
        first, second = root[i, begin:size], root[i + 1, begin:size]
        third, fourth = root[i + 2, begin:size], root[i + 3, begin:size]
        a, b, c, d = column[i], column[i + 1], column[i + 2], column[i + 3]
        for k in range(len(some)):
            some[k] += a * first[k] + b * second[k] + (c * third[k] + d * fourth[k])
    for i in range(full, size):
        value, own = column[i], root[i]
        for k in range(size):
            out[k] += value * own[k]


@shared
def _apply(root: Any, vector: Any, out: Any, triangular: bool) -> None:
    """Compute root vector."""
    size = len(out)
    full = size - size % 4
    for i in range(0, full, 4):
        begin = i if triangular else 0
        known = vector[begin:]
        first, second = root[i, begin:size], root[i + 1, begin:size]
        third, fourth = root[i + 2, begin:size], root[i + 3, begin:size]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(len(known)):
            a += first[k] * known[k]
            b += second[k] * known[k]
            c += third[k] * known[k]
            d += fourth[k] * known[k]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(full, size):
        out[i] = _dot(root[i], vector, size)


@inner
def _dot(a: Any, b: Any, size: int) -> float:
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


@inner
def inverse_column(cache: Inverse, p: int, size: int, out: Any) -> None:
    """K^-1[:, p]."""
    _apply(cache.root[:size], cache.root[p, :size], out[:size], False)


@inner
def inverse_diagonal(cache: Inverse, p: int, size: int) -> float:
    """K^-1[p, p]."""
    return _dot(cache.root[p], cache.root[p], size)


@inner
def row_in_span(model: Model) -> bool:
    """Whether the row projected last is in the span of the centres."""
    status = model.cache.status[0]
    return status.residual <= 2.0 * JITTER * status.kxx


@inner
def add_to_centers(model: Model, update: Update, triangular: bool) -> None:
    """Add the update of the row projected last to the centres that represent it."""
    represent_row(model.cache, model.counters[0].count, triangular)
    spread(model, update.up, update.weight, model.cache.shares)
    if update.down >= 0:
        spread(model, update.down, -update.weight, model.cache.shares)


@center_cache.enter.register(Inverse)
def _append(
    cache: Inverse, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    status, size = cache.status[0], len(known)
    represent_row(cache, size, False)
    scale = 1.0 / math.sqrt(status.residual + JITTER * status.kxx)
    for i in range(size):
        cache.root[i, j] = -scale * cache.shares[i]
        cache.root[j, i] = 0.0
        cache.values[i, j] = cache.column[i]
        cache.values[j, i] = cache.column[i]
    cache.root[j, j] = scale
    cache.values[j, j] = status.kxx
    status.edits += 1
    if status.edits % CHECK_EVERY == 0:
        column = status.edits // CHECK_EVERY % (size + 1)
        if deviation(cache, column, size + 1) > DRIFT:
            repair(cache, size + 1)
            status.repairs += 1


@center_cache.leave.register(Inverse)
def _take_out(cache: Inverse, coef: Any, j: int, size: int) -> float:
    mirror, last = cache.work, size - 1
    for k in range(size):
        mirror[k] = cache.root[j, k]
    length = math.sqrt(_dot(mirror, mirror, size))
    mirror[last] += math.copysign(length, mirror[last])
    scale = 2.0 / _dot(mirror, mirror, size)
    for i in range(size):
        own = cache.root[i]
        share = scale * _dot(own, mirror, size)
        for k in range(size):
            own[k] -= share * mirror[k]
    return 0.0


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
    inverse_column(cache, column, size, cache.work)
    largest = 0.0
    for i in range(size):
        total = _dot(cache.values[i], cache.work, size)
        total += JITTER * cache.values[i, i] * cache.work[i]
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
