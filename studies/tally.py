"""Tally: progressive error and ranking of one predictor, in bounded memory."""

import numpy as np

WINDOWS = 100  # of a curve, about
# Of the scores, on a scale that has room for any: two scores that share a bin count as
# equal, which at this number moves the area by less than it is printed with.
BINS = 2**16


class Tally:
    """Counts mistakes by window, and scores by bin and class.

    The length of the stream sets the windows; fewer rows may come.

    Examples
    --------
    >>> tally = Tally(rows=4)
    >>> tally.add(np.array([-1.0, 0.5]), np.array([0, 0]))
    >>> tally.add(np.array([2.0, -3.0]), np.array([1, 0]))
    >>> tally.error, tally.area
    (0.25, 1.0)
    """

    def __init__(self, rows: int) -> None:
        self.window = max(1, rows // WINDOWS)
        self.rows = 0
        self._mistakes = np.zeros(-(-rows // self.window), dtype=np.int64)
        self._scores = np.zeros((2, BINS), dtype=np.int64)

    def add(self, scores: np.ndarray, y: np.ndarray) -> None:
        """Count the scores of the next rows, whose labels are 0 and 1."""
        window = np.arange(self.rows, self.rows + len(y)) // self.window
        wrong = (scores > 0) != (y == 1)
        self._mistakes += np.bincount(window[wrong], minlength=len(self._mistakes))
        squashed = scores / (1 + np.abs(scores))  # keeps the order
        bins = ((squashed + 1) / 2 * (BINS - 1)).astype(int)
        for label in (0, 1):
            self._scores[label] += np.bincount(bins[y == label], minlength=BINS)
        self.rows += len(y)

    @property
    def error(self) -> float:
        """Mistakes per row."""
        return float(self._mistakes.sum() / self.rows)

    @property
    def area(self) -> float:
        """Area under the ROC curve: how often a 1 has a higher score than a 0.

        Ties count half; NaN if only one class has come.
        """
        zeros, ones = self._scores
        pairs = zeros.sum() * ones.sum()
        if pairs == 0:
            return float("nan")
        below = np.cumsum(zeros) - zeros
        return float(ones @ (below + zeros / 2) / pairs)

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows seen at the end of each window, and the mistakes per row in it."""
        starts = np.arange(0, self.rows, self.window)
        ends = np.minimum(starts + self.window, self.rows)
        return ends, self._mistakes[: len(ends)] / (ends - starts)
