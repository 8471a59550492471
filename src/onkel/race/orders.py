"""Orders in which a data set is raced: all of it permuted, or as it comes."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from onkel.race.settings import RaceSettings

# Of a data set that is loaded; the more rows, the less orders differ.
PERMUTATIONS, OF_MANY, MANY_ROWS = 5, 3, 10_000
# What fits is loaded once and permuted; the rest is read anew for each permutation.
MOST_BYTES = 512 * 2**20


class Part(NamedTuple):
    """Some rows, as they are predicted and learnt."""

    X: Any
    y: np.ndarray


def bytes_of(X: Any) -> int:
    """Memory of some rows.

    Examples
    --------
    >>> bytes_of(np.zeros((10, 2), np.float32))
    80
    """
    if scipy.sparse.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def stacked(parts: list[Any]) -> Any:
    """Rows below each other; if one part is sparse, all are.

    Examples
    --------
    >>> stacked([np.zeros((2, 3)), np.zeros((1, 3))]).shape
    (3, 3)
    """
    if len(parts) == 1:
        return parts[0]
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.csr_array(scipy.sparse.vstack(parts, "csr"))
    return np.vstack(parts)


def shuffled(
    data: Any, rows: int, seed: int, most_bytes: float = MOST_BYTES
) -> Iterator[Part]:
    """All rows in random order, as many in memory as allowed, or as a part has.

    What does not fit is read several times, each time for the rows whose turn it is:
    rows that lie far apart in a file would never meet in a buffer.

    Parameters
    ----------
    data
        A data set (see `onkel.data`).
    rows
        Of a part.
    seed
        Of the order.
    most_bytes
        Memory of the rows.

    Examples
    --------
    >>> from onkel.race.streams import digits
    >>> [len(part.y) for part in shuffled(digits(), 1000, seed=0)]
    [1000, 797]
    """
    rng = np.random.default_rng(seed)
    some = bytes_of(next(iter(data.batches(rows))).X)
    whole = some / min(rows, data.n_rows) * data.n_rows
    # Twice, while the rows of a turn are put together.
    turns = 1 if whole <= most_bytes else math.ceil(2 * whole / max(most_bytes, some))
    turn = rng.integers(turns, size=data.n_rows, dtype=np.uint16)
    for number in range(turns):
        if turns == 1:
            X, y = data.load()
        else:
            held = [
                Part(batch.X[mine], batch.y[mine])
                for batch in data.batches(rows)
                for mine in [turn[batch.first : batch.first + len(batch.y)] == number]
            ]
            X = stacked([part.X for part in held])
            y = np.concatenate([part.y for part in held])
        order = rng.permutation(len(y))
        for start in range(0, len(y), rows):
            now = order[start : start + rows]
            yield Part(X[now], y[now])


class Orders:
    """The rows of a data set in several orders, a part in memory at a time.

    Examples
    --------
    >>> from onkel.race.streams import digits
    >>> orders = Orders(digits(), RaceSettings(permutations=2, batch_rows=1000))
    >>> [len(part.y) for part in orders.parts(0)]
    [1000, 797]
    """

    def __init__(self, data: Any, settings: RaceSettings) -> None:
        rows, most_bytes = settings.batch_rows, settings.most_bytes
        self._data, self._rows, self._seed = data, rows, settings.seed
        in_order, permutations = settings.in_order, settings.permutations
        self.in_order = bool(data.in_order if in_order is None else in_order)
        first = next(iter(data.batches(rows)), None)
        if first is None or len(first.y) == 0:
            raise ValueError(f"{data.name} has no labelled rows to race on")
        whole = bytes_of(first.X) / len(first.y) * data.n_rows
        self.is_loaded = whole <= (MOST_BYTES if most_bytes is None else most_bytes)
        self._loaded = Part(*data.load()) if self.is_loaded else None
        if permutations is None:
            one = self.in_order or not self.is_loaded
            many = OF_MANY if data.n_rows > MANY_ROWS else PERMUTATIONS
            permutations = 1 if one else many
        self.permutations = permutations

    def is_natural(self, permutation: int) -> bool:
        """Whether an order is that of the file."""
        return self.in_order and permutation == 0

    @property
    def description(self) -> str:
        """In words."""
        if self.in_order:
            first = "The rows come in their own order, which means something"
            if self.permutations == 1:
                return first + "."
            first += "; from the second run on "
        else:
            first = ""
        if self.is_loaded:
            words = "all rows are shuffled anew for each run."
        else:
            words = (
                "the data are too large to be loaded: their order is that of the file, "
                f"shuffled within each batch of {self._rows:,} only."
            )
        return first + words if first else words[0].upper() + words[1:]

    def parts(self, permutation: int) -> Iterator[Part]:
        """All rows, in the order of a number."""
        rng = np.random.default_rng([self._seed, permutation])
        natural = self.is_natural(permutation)
        if self._loaded is None:
            for batch in self._data.batches(self._rows):
                if natural:
                    yield Part(batch.X, batch.y)
                else:
                    order = rng.permutation(len(batch.y))
                    yield Part(batch.X[order], batch.y[order])
            return
        X, y = self._loaded
        order = np.arange(len(y)) if natural else rng.permutation(len(y))
        for start in range(0, len(y), self._rows):
            some = order[start : start + self._rows]
            yield Part(X[some], y[some])

    def first(self, rows: int) -> Part:
        """The rows with which the first order begins."""
        X, y, found = [], [], 0
        for part in self.parts(0):
            X.append(part.X[: rows - found])
            y.append(part.y[: rows - found])
            found += len(y[-1])
            if found >= rows:
                break
        return Part(stacked(X), np.concatenate(y))
