"""Orders in which a data set is raced: all of it permuted, or as it comes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel.data.shuffling import MOST_BYTES, Part, bytes_of, stacked
from onkel.race.settings import RaceSettings

# Of a data set that is loaded; the more rows, the less orders differ.
PERMUTATIONS, OF_MANY, MANY_ROWS = 5, 3, 10_000


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
