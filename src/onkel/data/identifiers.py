"""Identifiers: columns that number or name their rows, and say nothing about them."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

# In fewer rows a column may well have different values by chance.
FEWEST_ROWS = 20
# Values that are compared with each other, at most: of more, those whose scrambled bits
# end in zeros. A value that comes twice is among them both times or never.
MOST_KEPT = 1 << 16
# What makes an identifier of integers that are all different, though in no order.
_NAMES = re.compile(
    r"(^|.*[^a-z])(id|key|uuid|guid)|index|unnamed: \d+|", re.IGNORECASE
)
_CAMEL = re.compile(r".*[a-z]I[dD]")


class _Distinct:
    """Tells whether all values of a column are different, in bounded memory."""

    def __init__(self) -> None:
        self._rows = 0
        self._are_distinct = True
        self._kept = np.empty(0, np.uint64)
        self._zeros = 0  # at the end of the bits of those that are kept

    @property
    def holds(self) -> bool:
        """Whether it is an identifier, of all rows so far."""
        return self._are_distinct and self._rows >= FEWEST_ROWS

    def _compare(self, scrambled: np.ndarray) -> None:
        fresh = self._chosen(scrambled)
        both = np.concatenate([self._kept, fresh])
        self._kept = np.unique(both)
        self._are_distinct = len(self._kept) == len(both)
        while len(self._kept) > MOST_KEPT:
            self._zeros += 1
            self._kept = self._chosen(self._kept)

    def _chosen(self, scrambled: np.ndarray) -> np.ndarray:
        mask = np.uint64((1 << self._zeros) - 1)
        return scrambled[(scrambled & mask) == 0]


class Numbering(_Distinct):
    """Tells whether a column of numbers is an identifier.

    It is if all are different integers, and they grow by one step from row to row, or
    fill at least half of the range that they lie in, or the column is called one.

    Examples
    --------
    >>> ids, heights = Numbering("patient"), Numbering("height")
    >>> ids.see(np.arange(100.0)), heights.see(np.linspace(1, 2, 100))
    (None, None)
    >>> ids.holds, heights.holds
    (True, False)
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._named = bool(_NAMES.fullmatch(name) or _CAMEL.fullmatch(name))
        self._least, self._greatest = np.inf, -np.inf
        self._last, self._step = np.empty(0), None
        self._even = True

    def see(self, numbers: np.ndarray) -> None:
        """Take rows into account; NaN is what is missing."""
        if not self._are_distinct or not len(numbers):
            return
        # Integers beyond 2^53 are not told apart.
        if not np.all((np.floor(numbers) == numbers) & (abs(numbers) < 2**53)):
            self._are_distinct = False
            return
        self._compare(_scrambled(numbers.astype(np.int64).view(np.uint64)))
        self._rows += len(numbers)
        self._least = min(self._least, numbers.min())
        self._greatest = max(self._greatest, numbers.max())
        steps = np.diff(np.concatenate([self._last, numbers]))
        if len(steps):
            self._step = steps[0] if self._step is None else self._step
            self._even &= bool(np.all(steps == self._step))
        self._last = numbers[-1:]

    @property
    def holds(self) -> bool:
        """Whether it is an identifier, of all rows so far."""
        dense = self._greatest - self._least < 2 * self._rows
        return super().holds and (self._even or dense or self._named)


class Naming(_Distinct):
    """Tells whether a column of texts is an identifier: all are different.

    Examples
    --------
    >>> names = Naming()
    >>> names.see([f"box {i}" for i in range(50)], rows=50)
    >>> names.holds
    True
    """

    def see(self, texts: Sequence[str], rows: int) -> None:
        """Take the different texts of some rows into account."""
        self._rows += rows
        self._are_distinct &= len(texts) == rows
        if self._are_distinct:
            digests = [
                hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts
            ]
            self._compare(np.frombuffer(b"".join(digests), np.uint64))


def _scrambled(bits: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit integers, each to another one (splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
