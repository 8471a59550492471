"""Baselines: what one would get without looking at a single feature."""

import math
from collections import Counter
from typing import Any

import numpy as np

# Of the changes from row to row that a random order would have, so small a part that
# the rows must be sorted, or nearly so. Among streams in time elec2, whose labels are
# known to repeat, has 0.3.
SORTED = 0.1
# Changes that a random order must have to tell.
ENOUGH = 10


class Baselines:
    """Targets in the order in which they come: their best constant, and the last one.

    Examples
    --------
    >>> baselines = Baselines(is_regression=False)
    >>> baselines.add(np.array(["no"] * 60 + ["yes"] * 40))
    >>> baselines.constant, baselines.constant_error, round(baselines.last_error, 2)
    ('no', 0.4, 0.01)
    >>> baselines.warning[:41]
    'the rows come sorted by label, or nearly '
    """

    def __init__(self, is_regression: bool) -> None:
        self.is_regression = is_regression
        self.rows = 0
        self._counts: Counter = Counter()
        # Sums are taken from the first target on: squares of large ones would have
        # no digits left for their differences.
        self._origin = self._total = self._squared = 0.0
        self._changed = 0.0
        self._last: Any = None

    def add(self, y: np.ndarray) -> None:
        """Take the next targets into account."""
        if not len(y):
            return
        before = y[:1] if self._last is None else self._last
        row = np.concatenate([before, y])
        if self.is_regression:
            if self._last is None:
                self._origin = float(y[0])
            moved = y - self._origin
            self._total += float(moved.sum())
            self._squared += float(moved @ moved)
            self._changed += float(np.sum(np.diff(row) ** 2))
        else:
            labels, counts = np.unique(y, return_counts=True)
            self._counts.update(
                dict(zip(labels.tolist(), counts.tolist(), strict=True))
            )
            self._changed += int(np.sum(row[1:] != row[:-1]))
        self._last = y[-1:]
        self.rows += len(y)

    @property
    def shares(self) -> dict[Any, float]:
        """Share of each label, from the most frequent on."""
        return {label: n / self.rows for label, n in self._counts.most_common()}

    @property
    def constant(self) -> Any:
        """The most frequent label, or the mean."""
        if self.is_regression:
            return self._origin + self._total / self.rows
        return next(iter(self.shares))

    @property
    def constant_error(self) -> float:
        """Mistakes per row, or the root mean squared error, of always the constant."""
        if self.is_regression:
            return math.sqrt(self._variance)
        return (self.rows - self._counts[self.constant]) / self.rows

    @property
    def last_error(self) -> float:
        """The same of repeating the target of the row before."""
        changed = self._changed / max(self.rows - 1, 1)
        return math.sqrt(changed) if self.is_regression else changed

    @property
    def _variance(self) -> float:
        mean = self._total / self.rows
        return max(self._squared / self.rows - mean**2, 0.0)

    @property
    def is_sorted(self) -> bool:
        """Whether neighbours are far more alike than chance would have them."""
        return self.rows > ENOUGH and self._changed < SORTED * self._by_chance

    @property
    def _by_chance(self) -> float:
        """Changes from row to row that a random order would have."""
        if self.is_regression:
            return 2.0 * self._variance * self.rows
        changes = self.rows * (1.0 - sum(p**2 for p in self.shares.values()))
        return changes if changes >= ENOUGH else 0.0

    @property
    def warning(self) -> str | None:
        """What is to be said of the order of the rows, if anything is."""
        if not self.is_sorted:
            return None
        if self.is_regression:
            return (
                "neighbouring rows have nearly the same target, as if the file were "
                "sorted: repeating that of the row before has a root mean squared "
                f"error of {self.last_error:.4g}, the mean one of "
                f"{self.constant_error:.4g}"
            )
        changes = int(self._changed)
        return (
            f"the rows come sorted by label, or nearly so: {changes:,} "
            f"change{'s' * (changes != 1)} from row to row, where a random order would "
            f"have about {self._by_chance:,.0f}. Repeating the label of the row before "
            f"would be right for {1.0 - self.last_error:.2%}"
        )
