"""Reads: what a strategy may know of the centres beyond their coefficients.

A strategy declares one of these; the primitives keep it up to date, and what is not
declared is neither stored nor compiled.

Nothing   coefficients and the column k(c_j, x_t) only
Later     raw scores of the centres, counting only what was inserted after each
Gram      the Gram matrix of the centres and their full raw scores
Nearest   the same, and each centre's nearest neighbour
Inverse   the inverse of the Gram matrix, in double precision
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import choice, inner

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
# Whether the reads must know when a centre moves to another place ...
follow, follows = choice(position=0)
# ... and what then happens: centre j, without coefficients, has the new kernel row.
shift, shifts = choice(position=0)
# Whether the squared norm is not kept, and `refresh` has to find it each time.
forgetful, forgetfuls = choice(position=0)


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


class Nearest(NamedTuple):
    """Declares what Gram does, and nearest neighbours: the largest kernel values."""

    scores: Any  # shape (outputs, capacity)
    values: Any  # shape (capacity, capacity)
    nearest: Any  # shape (capacity,): slot of the nearest centre, -1 if there is none
    since: Any  # shape (capacity,): entries so far when a centre entered, for ties
    clock: Any  # shape (1,): entries so far

    def resized(self, size: int, capacity: int) -> "Nearest":
        """Copy into another capacity."""
        scores, values = Gram(self.scores, self.values).resized(size, capacity)
        nearest, since = np.full(capacity, -1), np.zeros(capacity, np.int64)
        nearest[:size], since[:size] = self.nearest[:size], self.since[:size]
        return Nearest(scores, values, nearest, since, self.clock)

    def mapped(self, matrix: np.ndarray) -> "Nearest":
        """Map the outputs by a matrix."""
        return self._replace(scores=np.ascontiguousarray(matrix @ self.scores))


BOOK = np.dtype(
    [
        ("residual", np.float64),  # of the row that leans on the centres
        ("kxx", np.float64),  # its k(x, x); a record has a `diagonal` of its own
        ("edits", np.int64),
        ("repairs", np.int64),
    ],
    align=True,
)


class Inverse(NamedTuple):
    """Declares the inverse Gram matrix; `onkel.model.inverse` works with it."""

    values: Any  # shape (capacity, capacity), float64: k(c_i, c_j)
    root: Any  # shape (capacity, capacity), float64: K^-1 = root root', with a jitter
    column: Any  # shape (capacity,), float64: k(c_j, x) of the row that leans
    shares: Any  # shape (capacity,), float64: its projection on the centres
    work: Any  # shape (capacity,), float64
    book: Any  # shape (1,), of BOOK

    def resized(self, size: int, capacity: int) -> "Inverse":
        """Copy into another capacity."""
        new: Inverse = allocate(Inverse, 1, capacity, np.float64)
        new.values[:size, :size] = self.values[:size, :size]
        new.root[:size, :size] = self.root[:size, :size]
        new.book[:] = self.book
        return new

    def mapped(self, matrix: np.ndarray) -> "Inverse":
        """Return the same: outputs share their centres."""
        return self


def allocate(kind: type, outputs: int, capacity: int, dtype: Any) -> Any:
    """Make the reads of that kind for an empty model.

    Examples
    --------
    >>> allocate(Gram, 1, 4, np.float32).values.shape
    (4, 4)
    """
    if kind is Nothing:
        return Nothing()
    if kind is Inverse:
        return Inverse(
            np.zeros((capacity, capacity)),
            np.zeros((capacity, capacity)),
            np.zeros(capacity),
            np.zeros(capacity),
            np.zeros(capacity),
            np.zeros(1, BOOK).view(np.recarray),
        )
    scores = np.zeros((outputs, capacity), dtype)
    if kind is Later:
        return Later(scores)
    values = np.zeros((capacity, capacity), dtype)
    if kind is Gram:
        return Gram(scores, values)
    since, clock = np.zeros(capacity, np.int64), np.zeros(1, np.int64)
    return Nearest(scores, values, np.full(capacity, -1), since, clock)


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


@enters(Nearest)
def _enter_nearest(
    reads: Nearest, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    gram = Gram(reads.scores, reads.values)
    enter(gram, coef, j, update, known, raw, kxx)
    size = max(len(known), j + 1)
    reads.since[j] = reads.clock[0]
    reads.clock[0] += 1
    for i in range(size):
        other = reads.nearest[i]
        # The newcomer is the youngest, so on ties it is not the one.
        if i != j and (other < 0 or known[i] > reads.values[i, other]):
            reads.nearest[i] = j
    _look_around(reads, j, size, j)


@inner
def _look_around(reads: Nearest, i: int, size: int, absent: int) -> None:
    """Find the nearest neighbour of centre i; `absent` is about to leave."""
    best, row = -1, reads.values[i]
    for k in range(size):
        if k == i or k == absent:
            continue
        if (
            best < 0
            or row[k] > row[best]
            or (row[k] == row[best] and reads.since[k] < reads.since[best])
        ):
            best = k
    reads.nearest[i] = best


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


@leaves(Nearest)
def _leave_nearest(reads: Nearest, coef: Any, j: int, size: int) -> float:
    for i in range(size):
        if i != j and reads.nearest[i] == j:
            _look_around(reads, i, size, j)
    return leave(Gram(reads.scores, reads.values), coef, j, size)


@changes(Nothing)
@changes(Inverse)
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


@changes(Nearest)
def _change_nearest(
    reads: Nearest, output: int, j: int, weight: float, size: int
) -> float:
    return change(Gram(reads.scores, reads.values), output, j, weight, size)


@moves(Nothing)
def _move_nothing(reads: Nothing, j: int, last: int) -> None:
    pass


@moves(Later)
def _move_later(reads: Later, j: int, last: int) -> None:
    for o in range(len(reads.scores)):
        reads.scores[o, j] = reads.scores[o, last]


@moves(Nearest)
def _move_nearest(reads: Nearest, j: int, last: int) -> None:
    move(Gram(reads.scores, reads.values), j, last)
    reads.nearest[j], reads.since[j] = reads.nearest[last], reads.since[last]
    for i in range(last):
        if reads.nearest[i] == last:
            reads.nearest[i] = j


@moves(Gram)
def _move_gram(reads: Gram, j: int, last: int) -> None:
    move(Later(reads.scores), j, last)
    own = reads.values[last, last]
    for i in range(last):
        reads.values[j, i] = reads.values[last, i]
        reads.values[i, j] = reads.values[last, i]
    reads.values[j, j] = own


@rescales_scores(Nothing)
@rescales_scores(Inverse)
def _rescale_nothing(reads: Any, c: Any, size: int) -> None:
    pass


@rescales_scores(Later)
def _rescale_later(reads: Later, c: Any, size: int) -> None:
    for o in range(len(reads.scores)):
        for j in range(size):
            reads.scores[o, j] *= c


@rescales_scores(Gram)
@rescales_scores(Nearest)
def _rescale_gram(reads: Any, c: Any, size: int) -> None:
    rescale_scores(Later(reads.scores), c, size)


@refreshes(Nothing)
@refreshes(Later)
def _refresh_nothing(reads: Any, coef: Any, size: int, norm2: float) -> float:
    return norm2


@refreshes(Gram)
@refreshes(Nearest)
def _refresh_gram(reads: Any, coef: Any, size: int, norm2: float) -> float:
    norm2 = 0.0
    for o in range(len(coef)):
        for j in range(size):
            total = coef.dtype.type(0)
            for i in range(size):
                total += coef[o, i] * reads.values[j, i]
            reads.scores[o, j] = total
            norm2 += coef[o, j] * total
    return norm2


@refreshes(Inverse)
def _find_norm(reads: Inverse, coef: Any, size: int, norm2: float) -> float:
    norm2 = 0.0
    for o in range(len(coef)):
        for j in range(size):
            total = 0.0
            for i in range(size):
                total += coef[o, i] * reads.values[j, i]
            norm2 += coef[o, j] * total
    return norm2


@follows(Nothing)
@follows(Later)
@follows(Inverse)
@follows(Nearest)
@forgetfuls(Nothing)
@forgetfuls(Later)
@forgetfuls(Nearest)
@forgetfuls(Gram)
def _no(reads: Any) -> bool:
    return False


@follows(Gram)
@forgetfuls(Inverse)
def _yes(reads: Any) -> bool:
    return True


@shifts(Nothing)
@shifts(Later)
@shifts(Inverse)
@shifts(Nearest)  # whose one user never moves a centre
def _shift_unnoticed(reads: Any, coef: Any, j: int, known: Any) -> None:
    pass


@shifts(Gram)
def _shift_gram(reads: Gram, coef: Any, j: int, known: Any) -> None:
    for i in range(len(known)):
        reads.values[j, i] = known[i]
        reads.values[i, j] = known[i]
    for o in range(len(coef)):
        total = coef.dtype.type(0)
        for i in range(len(known)):
            total += coef[o, i] * known[i]
        reads.scores[o, j] = total
