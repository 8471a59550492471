"""Medians of columns of any length, in bounded memory."""

import warnings

import numpy as np

# Values kept of a column: those of the rows with the smallest random keys. Medians of
# up to so many are exact; of more, half of all values lie within 1 % on either side.
MOST, FEWEST = 1 << 15, 1000
# Values kept of all columns together, above which there are fewer of each.
SHARED = 1 << 20
# Of the keys: one that nobody takes, as rows made from the same one would be drawn by
# their own values.
SEED = int.from_bytes(b"medians")


class Medians:
    """Medians of what is not missing, of a sample where there are many rows.

    The sample is the same for the same rows, however they are cut into batches.

    Examples
    --------
    >>> medians = Medians(2)
    >>> medians.see(np.array([[1.0, np.nan], [5.0, 2.0], [2.0, np.nan]]))
    >>> medians.found().tolist()
    [2.0, 2.0]
    """

    def __init__(self, width: int) -> None:
        self._most = min(MOST, max(FEWEST, SHARED // max(width, 1)))
        self._values = np.empty((0, width))
        self._keys = np.empty((0, width))
        self._bound = np.inf  # of the keys of those that could still be among them
        self._rng = np.random.default_rng(SEED)

    def see(self, numbers: np.ndarray) -> None:
        """Take rows into account; NaN is what is missing."""
        for start in range(0, len(numbers), self._most):
            self._see(numbers[start : start + self._most])

    def _see(self, numbers: np.ndarray) -> None:
        keys = self._rng.random(len(numbers))
        some = keys < self._bound
        numbers, keys = numbers[some], keys[some]
        spread = np.where(np.isnan(numbers), np.inf, keys[:, None])
        self._keys = np.concatenate([self._keys, spread])
        self._values = np.concatenate([self._values, numbers])
        if len(self._keys) > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        """Keep the values with the smallest keys."""
        if len(self._keys) > self._most:
            kept = np.argpartition(self._keys, self._most - 1, axis=0)[: self._most]
            self._keys = np.take_along_axis(self._keys, kept, axis=0)
            self._values = np.take_along_axis(self._values, kept, axis=0)
            self._bound = self._keys.max(initial=0.0)

    def found(self) -> np.ndarray:
        """Return a median for each column; NaN where nothing was seen."""
        self._cut()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of nothing but NaN
            return np.nanmedian(self._values, axis=0)
