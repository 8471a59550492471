"""Reads: what a strategy may know of the centres beyond their coefficients.

A strategy declares one of these; the primitives keep it up to date, and what is not
declared is neither stored nor compiled.

Nothing   coefficients and the column k(c_j, x_t) only
Later     raw scores of the centres, counting only what was inserted after each
Gram      the Gram matrix of the centres and their full raw scores
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import choice

# Edits after which incrementally kept norms and scores are computed afresh.
REFRESH = 4096

# Row t with its kernel column `known` and raw scores `raw` has entered slot j.
enter, enters = choice(position=0)
# Centre j is about to leave; returns the change of the squared norm, where it is known.
leave, leaves = choice(position=0)
# A coefficient of centre j changes; returns the change of the squared norm.
change, changes = choice(position=0)
# The centre of slot `last` moves to slot j.
move, moves = choice(position=0)
# All raw coefficients are multiplied by c.
rescale_scores, rescales_scores = choice(position=0)
# Compute all afresh, against the drift of rounding; returns the squared norm.
refresh, refreshes = choice(position=0)


class Nothing(NamedTuple):
    """Declares nothing."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type

    def resized(self, size: int, capacity: int) -> "Nothing":
        """Return the same for another capacity."""
        return self

    def mapped(self, matrix: np.ndarray) -> "Nothing":
        """Return the same for outputs mapped by a matrix."""
        return self


class Later(NamedTuple):
    """Declares the scores of what came later."""

    scores: Any  # shape (outputs, capacity)

    def resized(self, size: int, capacity: int) -> "Later":
        """Copy into another capacity."""
        scores = np.zeros((len(self.scores), capacity), self.scores.dtype)
        scores[:, :size] = self.scores[:, :size]
        return Later(scores)

    def mapped(self, matrix: np.ndarray) -> "Later":
        """Map the outputs by a matrix."""
        return Later(np.ascontiguousarray(matrix @ self.scores))


class Gram(NamedTuple):
    """Declares the Gram matrix and the scores."""

    scores: Any  # shape (outputs, capacity)
    values: Any  # shape (capacity, capacity): k(c_i, c_j)

    def resized(self, size: int, capacity: int) -> "Gram":
        """Copy into another capacity."""
        values = np.zeros((capacity, capacity), self.values.dtype)
        values[:size, :size] = self.values[:size, :size]
        return Gram(Later(self.scores).resized(size, capacity).scores, values)

    def mapped(self, matrix: np.ndarray) -> "Gram":
        """Map the outputs by a matrix."""
        return self._replace(scores=np.ascontiguousarray(matrix @ self.scores))


def allocate(kind: type, outputs: int, capacity: int, dtype: Any) -> Any:
    """Make the reads of that kind for an empty model.

    Examples
    --------
    >>> allocate(Gram, 1, 4, np.float32).values.shape
    (4, 4)
    """
    if kind is Nothing:
        return Nothing()
    scores = np.zeros((outputs, capacity), dtype)
    if kind is Later:
        return Later(scores)
    return Gram(scores, np.zeros((capacity, capacity), dtype))


@enters(Nothing)
def _enter_nothing(
    reads: Nothing, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    pass


@enters(Later)
def _enter_later(
    reads: Later, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    weight = coef.dtype.type(update.weight)
    for i in range(len(known)):
        reads.scores[update.up, i] += weight * known[i]
    if update.down >= 0:
        for i in range(len(known)):
            reads.scores[update.down, i] -= weight * known[i]
    for o in range(len(coef)):
        reads.scores[o, j] = coef[o, j] * kxx


@enters(Gram)
def _enter_gram(
    reads: Gram, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    enter(Later(reads.scores), coef, j, update, known, raw, kxx)
    for o in range(len(coef)):
        reads.scores[o, j] += raw[o]
    for i in range(len(known)):
        reads.values[j, i] = known[i]
        reads.values[i, j] = known[i]
    reads.values[j, j] = kxx


@leaves(Nothing)
@leaves(Later)
def _leave_unnoticed(reads: Any, coef: Any, j: int, size: int) -> float:
    return 0.0


@leaves(Gram)
def _leave_gram(reads: Gram, coef: Any, j: int, size: int) -> float:
    change = 0.0
    row = reads.values[j]
    for o in range(len(coef)):
        q, scores = coef[o, j], reads.scores[o]
        change += q * (q * row[j] - 2.0 * scores[j])
        for i in range(size):
            scores[i] -= q * row[i]
    return change


@changes(Nothing)
@changes(Later)  # which its one user, first in first out, never asks for
def _change_unnoticed(
    reads: Any, output: int, j: int, weight: float, size: int
) -> float:
    return 0.0


@changes(Gram)
def _change_gram(reads: Gram, output: int, j: int, weight: float, size: int) -> float:
    row, scores = reads.values[j], reads.scores[output]
    gained = weight * (2.0 * scores[j] + weight * row[j])
    for i in range(size):
        scores[i] += weight * row[i]
    return gained


@moves(Nothing)
def _move_nothing(reads: Nothing, j: int, last: int) -> None:
    pass


@moves(Later)
def _move_later(reads: Later, j: int, last: int) -> None:
    for o in range(len(reads.scores)):
        reads.scores[o, j] = reads.scores[o, last]


@moves(Gram)
def _move_gram(reads: Gram, j: int, last: int) -> None:
    move(Later(reads.scores), j, last)
    own = reads.values[last, last]
    for i in range(last):
        reads.values[j, i] = reads.values[last, i]
        reads.values[i, j] = reads.values[last, i]
    reads.values[j, j] = own


@rescales_scores(Nothing)
def _rescale_nothing(reads: Nothing, c: Any, size: int) -> None:
    pass


@rescales_scores(Later)
def _rescale_later(reads: Later, c: Any, size: int) -> None:
    for o in range(len(reads.scores)):
        for j in range(size):
            reads.scores[o, j] *= c


@rescales_scores(Gram)
def _rescale_gram(reads: Gram, c: Any, size: int) -> None:
    rescale_scores(Later(reads.scores), c, size)


@refreshes(Nothing)
@refreshes(Later)
def _refresh_nothing(reads: Any, coef: Any, size: int, norm2: float) -> float:
    return norm2


@refreshes(Gram)
def _refresh_gram(reads: Gram, coef: Any, size: int, norm2: float) -> float:
    norm2 = 0.0
    for o in range(len(coef)):
        for j in range(size):
            total = coef.dtype.type(0)
            for i in range(size):
                total += coef[o, i] * reads.values[j, i]
            reads.scores[o, j] = total
            norm2 += coef[o, j] * total
    return norm2
