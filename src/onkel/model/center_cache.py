"""Cache: what a strategy may know of the centres beyond their coefficients.

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

from onkel.compiled.functions import (
    inner,
    never_inlined,
    ordered,
    typedispatch,
)
from onkel.model.growing import enlarged

# Edits after which incrementally kept norms and scores are computed afresh.
REFRESH = 4096


@typedispatch(optional=True)
def enter(
    cache: Any, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    """A row, with its kernel column `known` and raw scores `raw`, is in slot j now."""


@typedispatch(optional=True)
def leave(cache: Any, coef: Any, j: int, size: int) -> float:
    """Centre j is about to leave; return the change of the squared norm, if known."""
    return 0.0


@typedispatch(optional=True)
def change(cache: Any, output: int, j: int, weight: float, size: int) -> float:
    """A coefficient of centre j changes; return the change of the squared norm."""
    return 0.0


@typedispatch(optional=True)
def move(cache: Any, j: int, last: int) -> None:
    """The centre of slot `last` moves to slot j."""


@typedispatch(optional=True)
def rescale_scores(cache: Any, c: Any, size: int) -> None:
    """All raw coefficients are multiplied by c."""


@typedispatch(optional=True)
def refresh(cache: Any, coef: Any, size: int, norm2: float) -> float:
    """Compute all afresh, against the drift of rounding; return the squared norm."""
    return norm2


@typedispatch(optional=True)
def follows_points(cache: Any) -> bool:
    """Whether the cache must know when a centre becomes another point."""
    return False


@typedispatch(optional=True)
def replace_row(cache: Any, coef: Any, j: int, known: Any) -> None:
    """Centre j, now another point and without coefficients, has that kernel row."""


@typedispatch(optional=True)
def lacks_norm(cache: Any) -> bool:
    """Whether the squared norm is not kept, and `refresh` has to find it each time."""
    return False


class Nothing(NamedTuple):
    """Declares nothing."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Nothing":
        """Make the cache of an empty model."""
        return cls()

    def resized(self, size: int, capacity: int) -> "Nothing":
        """Return the same for another capacity."""
        return self

    def mapped(self, matrix: np.ndarray) -> "Nothing":
        """Return the same for outputs mapped by a matrix."""
        return self


class Later(NamedTuple):
    """Declares the scores of what came later."""

    scores: Any  # shape (outputs, capacity)

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Later":
        """Make the cache of an empty model."""
        return cls(np.zeros((outputs, capacity), dtype))

    def resized(self, size: int, capacity: int) -> "Later":
        """Copy into another capacity."""
        outputs = len(self.scores)
        return Later(enlarged(self.scores[:, :size], outputs, capacity))

    def mapped(self, matrix: np.ndarray) -> "Later":
        """Map the outputs by a matrix."""
        return Later(np.ascontiguousarray(matrix @ self.scores))


class Gram(NamedTuple):
    """Declares the Gram matrix and the scores."""

    scores: Any  # shape (outputs, capacity)
    values: Any  # shape (capacity, capacity): k(c_i, c_j)

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Gram":
        """Make the cache of an empty model.

        Examples
        --------
        >>> Gram.empty(1, 4, np.float32).values.shape
        (4, 4)
        """
        scores = np.zeros((outputs, capacity), dtype)
        return cls(scores, np.zeros((capacity, capacity), dtype))

    def resized(self, size: int, capacity: int) -> "Gram":
        """Copy into another capacity."""
        values = enlarged(self.values[:size, :size], capacity, capacity)
        return Gram(*Later(self.scores).resized(size, capacity), values)

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

    @classmethod
    def empty(cls, outputs: int, capacity: int, dtype: Any) -> "Nearest":
        """Make the cache of an empty model."""
        since, clock = np.zeros(capacity, np.int64), np.zeros(1, np.int64)
        gram = Gram.empty(outputs, capacity, dtype)
        return cls(*gram, np.full(capacity, -1), since, clock)

    def resized(self, size: int, capacity: int) -> "Nearest":
        """Copy into another capacity."""
        gram = Gram(self.scores, self.values)
        nearest, since = np.full(capacity, -1), enlarged(self.since[:size], capacity)
        nearest[:size] = self.nearest[:size]
        return Nearest(*gram.resized(size, capacity), nearest, since, self.clock)

    def mapped(self, matrix: np.ndarray) -> "Nearest":
        """Map the outputs by a matrix."""
        return self._replace(scores=np.ascontiguousarray(matrix @ self.scores))


@enter.register(Later)
def _enter_later(
    cache: Later, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    weight = coef.dtype.type(update.weight)
    for i in range(len(known)):
        cache.scores[update.up, i] += weight * known[i]
    if update.down >= 0:
        for i in range(len(known)):
            cache.scores[update.down, i] -= weight * known[i]
    for o in range(len(coef)):
        cache.scores[o, j] = coef[o, j] * kxx


@enter.register(Gram)
def _enter_gram(
    cache: Gram, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    enter(Later(cache.scores), coef, j, update, known, raw, kxx)
    for o in range(len(coef)):
        cache.scores[o, j] += raw[o]
    for i in range(len(known)):
        cache.values[j, i] = known[i]
        cache.values[i, j] = known[i]
    cache.values[j, j] = kxx


@enter.register(Nearest)
def _enter_nearest(
    cache: Nearest, coef: Any, j: int, update: Any, known: Any, raw: Any, kxx: Any
) -> None:
    gram = Gram(cache.scores, cache.values)
    enter(gram, coef, j, update, known, raw, kxx)
    size = max(len(known), j + 1)
    cache.since[j] = cache.clock[0]
    cache.clock[0] += 1
    for i in range(size):
        other = cache.nearest[i]
        # The newcomer is the youngest, so on ties it is not the one.
        if i != j and (other < 0 or known[i] > cache.values[i, other]):
            cache.nearest[i] = j
    _look_around(cache, j, size, j)


@inner
def _look_around(cache: Nearest, i: int, size: int, absent: int) -> None:
    """Find the nearest neighbour of centre i; `absent` is about to leave."""
    row = cache.values[i]
    own, gone = row[i], row[absent]
    row[i], row[absent] = -np.inf, -np.inf
    best = _first_largest(row[:size], cache.since[:size])
    row[absent], row[i] = gone, own
    cache.nearest[i] = -1 if best == i or best == absent else best


@never_inlined
def _first_largest(values: Any, since: Any) -> int:
    """Place of the largest value, of the least `since` on ties.

    Plain minima and maxima, each of which runs on vectors. Of floating-point numbers
    they would not; their bits, below zero all but the sign inverted, have their order.
    """
    size, bits = len(values), ordered(values)
    sign, rest = 8 * values.itemsize - 1, np.iinfo(bits.dtype).max
    largest = np.iinfo(bits.dtype).min
    for k in range(size):
        largest = max(largest, bits[k] ^ ((bits[k] >> sign) & rest))
    never = np.iinfo(np.int64).max
    first = never
    for k in range(size):
        is_largest = bits[k] ^ ((bits[k] >> sign) & rest) == largest
        first = min(first, since[k] if is_largest else never)
    place = never
    for k in range(size):
        place = min(place, k if since[k] == first else never)
    return place


@leave.register(Gram)
def _leave_gram(cache: Gram, coef: Any, j: int, size: int) -> float:
    change = 0.0
    row = cache.values[j]
    for o in range(len(coef)):
        q, scores = coef[o, j], cache.scores[o]
        change += q * (q * row[j] - 2.0 * scores[j])
        for i in range(size):
            scores[i] -= q * row[i]
    return change


@leave.register(Nearest)
def _leave_nearest(cache: Nearest, coef: Any, j: int, size: int) -> float:
    for i in range(size):
        if i != j and cache.nearest[i] == j:
            _look_around(cache, i, size, j)
    return leave(Gram(cache.scores, cache.values), coef, j, size)


@change.register(Gram)
@change.register(Nearest)
def _change_gram(cache: Any, output: int, j: int, weight: float, size: int) -> float:
    row, scores = cache.values[j], cache.scores[output]
    gained = weight * (2.0 * scores[j] + weight * row[j])
    for i in range(size):
        scores[i] += weight * row[i]
    return gained


@move.register(Later)
def _move_later(cache: Later, j: int, last: int) -> None:
    for o in range(len(cache.scores)):
        cache.scores[o, j] = cache.scores[o, last]


@move.register(Nearest)
def _move_nearest(cache: Nearest, j: int, last: int) -> None:
    move(Gram(cache.scores, cache.values), j, last)
    cache.nearest[j], cache.since[j] = cache.nearest[last], cache.since[last]
    for i in range(last):
        if cache.nearest[i] == last:
            cache.nearest[i] = j


@move.register(Gram)
def _move_gram(cache: Gram, j: int, last: int) -> None:
    move(Later(cache.scores), j, last)
    own = cache.values[last, last]
    for i in range(last):
        cache.values[j, i] = cache.values[last, i]
        cache.values[i, j] = cache.values[last, i]
    cache.values[j, j] = own


@rescale_scores.register(Later)
@rescale_scores.register(Gram)
@rescale_scores.register(Nearest)
def _rescale(cache: Any, c: Any, size: int) -> None:
    for o in range(len(cache.scores)):
        for j in range(size):
            cache.scores[o, j] *= c


@refresh.register(Gram)
@refresh.register(Nearest)
def _refresh_gram(cache: Any, coef: Any, size: int, norm2: float) -> float:
    norm2 = 0.0
    for o in range(len(coef)):
        for j in range(size):
            total = coef.dtype.type(0)
            for i in range(size):
                total += coef[o, i] * cache.values[j, i]
            cache.scores[o, j] = total
            norm2 += coef[o, j] * total
    return norm2


@follows_points.register(Gram)
def _yes(cache: Gram) -> bool:
    return True


@replace_row.register(Gram)
def _replace_row_of_gram(cache: Gram, coef: Any, j: int, known: Any) -> None:
    for i in range(len(known)):
        cache.values[j, i] = known[i]
        cache.values[i, j] = known[i]
    for o in range(len(coef)):
        total = coef.dtype.type(0)
        for i in range(len(known)):
            total += coef[o, i] * known[i]
        cache.scores[o, j] = total
