"""Inverse: the inverse of the Gram matrix of the centres, edited in O(centres^2).

    append x      d = K^-1 k_x,  r2 = k(x, x) - <k_x, d>,
                  K^-1 <- [[K^-1 + d d'/s, -d/s], [-d'/s, 1/s]],  s = r2 + jitter
    take out p    K^-1 <- K^-1 - K^-1[:, p] K^-1[p, :] / K^-1[p, p], without p

d is the projection of phi(x) on the centres, r2 the squared norm of what is left.
-K^-1[:, p] / K^-1[p, p] is the projection of centre p on the others, and 1/K^-1[p, p]
the squared norm of what that leaves.

Gram matrices of close centres have no inverse to speak of. K therefore has
JITTER k(c, c) added on its diagonal, and a row with r2 <= 2 JITTER k(x, x) lies in the
span of the centres: it may not be appended. All is in double precision, also the kernel
values, whatever the precision of the model.

Rounding adds up, so every CHECK_EVERY edits one column of K K^-1 is compared with the
identity, and the inverse computed afresh if they differ by more than DRIFT.
"""

from typing import Any

import numpy as np

from onkel.compiled import inner
from onkel.expansion import LookAhead, Model, Update, spread
from onkel.kernels import between
from onkel.reads import Inverse, enters, leaves, moves
from onkel.rows import spread_out

JITTER = 1e-8
CHECK_EVERY = 100
DRIFT = 1e-6


@inner
def lean(model: Model, ahead: LookAhead, t: int) -> float:
    """Project row t on the centres; return the squared norm of what is left."""
    reads, book, size = model.reads, model.reads.book[0], model.head[0].count
    spread_out(ahead.rows, t, ahead.point)
    for j in range(size):
        reads.column[j] = between(ahead.similarity, model.points[j], ahead.point)
    book.diagonal = between(ahead.similarity, ahead.point, ahead.point)
    residual = book.diagonal
    for j in range(size):
        total = 0.0
        for i in range(size):
            total += reads.inverse[j, i] * reads.column[i]
        reads.shares[j] = total
        residual -= reads.column[j] * total
    book.residual = max(residual, 0.0)
    return book.residual


@inner
def in_span(model: Model) -> bool:
    """Whether the row that leans is represented by the centres."""
    book = model.reads.book[0]
    return book.residual <= 2.0 * JITTER * book.diagonal


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
    scale = 1.0 / (book.residual + JITTER * book.diagonal)
    for i in range(size):
        share = reads.shares[i] * scale
        for k in range(size):
            reads.inverse[i, k] += share * reads.shares[k]
        reads.inverse[i, j] = -share
        reads.inverse[j, i] = -share
        reads.values[i, j] = reads.column[i]
        reads.values[j, i] = reads.column[i]
    reads.inverse[j, j] = scale
    reads.values[j, j] = book.diagonal
    _count_edit(reads, size + 1)


@leaves(Inverse)
def _take_out(reads: Inverse, coef: Any, j: int, size: int) -> float:
    own = reads.inverse[j]
    scale = 1.0 / own[j]
    for i in range(size):
        if i != j:
            share = reads.inverse[i, j] * scale
            for k in range(size):
                reads.inverse[i, k] -= share * own[k]
    return 0.0


@moves(Inverse)
def _move(reads: Inverse, j: int, last: int) -> None:
    for matrix in (reads.values, reads.inverse):
        own = matrix[last, last]
        for i in range(last):
            matrix[j, i] = matrix[last, i]
            matrix[i, j] = matrix[last, i]
        matrix[j, j] = own


@inner
def _count_edit(reads: Inverse, size: int) -> None:
    book = reads.book[0]
    book.edits += 1
    if book.edits % CHECK_EVERY:
        return
    if deviation(reads, book.edits // CHECK_EVERY % size, size) > DRIFT:
        repair(reads, size)
        book.repairs += 1


@inner
def deviation(reads: Inverse, column: int, size: int) -> float:
    """Largest entry of K K^-1 - I in one column."""
    largest = 0.0
    known = reads.inverse[column]
    for i in range(size):
        total = 0.0
        for k in range(size):
            total += reads.values[i, k] * known[k]
        total += JITTER * reads.values[i, i] * known[i]
        largest = max(largest, abs(total - (1.0 if i == column else 0.0)))
    return largest


@inner
def repair(reads: Inverse, size: int) -> None:
    """Compute the inverse afresh, in O(size^3)."""
    matrix = reads.values[:size, :size].copy()
    for i in range(size):
        matrix[i, i] *= 1.0 + JITTER
    fresh = np.linalg.inv(matrix)
    for i in range(size):
        for k in range(size):
            reads.inverse[i, k] = 0.5 * (fresh[i, k] + fresh[k, i])
