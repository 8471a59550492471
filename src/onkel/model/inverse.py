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
R computed afresh if they differ by more than DRIFT; `book.repairs` counts.
"""

import math
from typing import Any

import numpy as np

from onkel.compiled.functions import inner
from onkel.model.expansion import LookAhead, Model, Update, spread
from onkel.model.reads import Inverse, enters, leaves, moves
from onkel.model.rows import between_center, spread_out
from onkel.problem.kernels import between

JITTER = 1e-8
CHECK_EVERY = 100
DRIFT = 1e-7


@inner
def lean(model: Model, ahead: LookAhead, t: int) -> float:
    """Project row t on the centres; return the squared norm of what is left."""
    reads, book, size = model.reads, model.reads.book[0], model.head[0].count
    spread_out(ahead.rows, t, ahead.point)
    for j in range(size):
        reads.column[j] = between_center(ahead.similarity, model.points, j, ahead.point)
    book.kxx = between(ahead.similarity, ahead.point, ahead.point)
    work = reads.work
    work[:size] = 0.0
    for i in range(size):
        value, own = reads.column[i], reads.root[i]
        for k in range(size):
            work[k] += value * own[k]
    for j in range(size):
        reads.shares[j] = _dot(reads.root[j], work, size)
    book.residual = max(book.kxx - _dot(work, work, size), 0.0)
    return book.residual


@inner
def _dot(a: Any, b: Any, size: int) -> float:
    total = 0.0
    for i in range(size):
        total += a[i] * b[i]
    return total


@inner
def inverse_column(reads: Inverse, p: int, size: int, out: Any) -> None:
    """K^-1[:, p]."""
    own = reads.root[p]
    for i in range(size):
        out[i] = _dot(reads.root[i], own, size)


@inner
def inverse_diagonal(reads: Inverse, p: int, size: int) -> float:
    """K^-1[p, p]."""
    return _dot(reads.root[p], reads.root[p], size)


@inner
def in_span(model: Model) -> bool:
    """Whether the row that leans is represented by the centres."""
    book = model.reads.book[0]
    return book.residual <= 2.0 * JITTER * book.kxx


@inner
def lay_on(model: Model, update: Update) -> None:
    """Lay the update of the row that leans on the centres."""
    spread(model, update.up, update.weight, model.reads.shares)
    if update.down >= 0:
        spread(model, update.down, -update.weight, model.reads.shares)


@enters(Inverse)
def _append(
    reads: Inverse, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    book, size = reads.book[0], len(known)
    scale = 1.0 / math.sqrt(book.residual + JITTER * book.kxx)
    for i in range(size):
        reads.root[i, j] = -scale * reads.shares[i]
        reads.root[j, i] = 0.0
        reads.values[i, j] = reads.column[i]
        reads.values[j, i] = reads.column[i]
    reads.root[j, j] = scale
    reads.values[j, j] = book.kxx
    book.edits += 1
    if book.edits % CHECK_EVERY == 0:
        column = book.edits // CHECK_EVERY % (size + 1)
        if deviation(reads, column, size + 1) > DRIFT:
            repair(reads, size + 1)
            book.repairs += 1


@leaves(Inverse)
def _take_out(reads: Inverse, coef: Any, j: int, size: int) -> float:
    mirror, last = reads.work, size - 1
    for k in range(size):
        mirror[k] = reads.root[j, k]
    length = math.sqrt(_dot(mirror, mirror, size))
    mirror[last] += math.copysign(length, mirror[last])
    scale = 2.0 / _dot(mirror, mirror, size)
    for i in range(size):
        own = reads.root[i]
        share = scale * _dot(own, mirror, size)
        for k in range(size):
            own[k] -= share * mirror[k]
    return 0.0


@moves(Inverse)
def _move(reads: Inverse, j: int, last: int) -> None:
    for i in range(last):
        reads.values[j, i] = reads.values[last, i]
        reads.values[i, j] = reads.values[last, i]
        reads.root[j, i] = reads.root[last, i]
    reads.values[j, j] = reads.values[last, last]


@inner
def deviation(reads: Inverse, column: int, size: int) -> float:
    """Largest entry of K K^-1 - I in one column."""
    inverse_column(reads, column, size, reads.work)
    largest = 0.0
    for i in range(size):
        total = _dot(reads.values[i], reads.work, size)
        total += JITTER * reads.values[i, i] * reads.work[i]
        largest = max(largest, abs(total - (1.0 if i == column else 0.0)))
    return largest


@inner
def repair(reads: Inverse, size: int) -> None:
    """Compute the root afresh, in O(size^3)."""
    matrix = reads.values[:size, :size].copy()
    for i in range(size):
        matrix[i, i] *= 1.0 + JITTER
    fresh = np.linalg.inv(np.linalg.cholesky(matrix))
    for i in range(size):
        for k in range(size):
            reads.root[i, k] = fresh[k, i]
