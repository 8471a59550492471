"""Reservoir: the most recent rows of a stream."""

from typing import Any

import numpy as np
import scipy.sparse

from onkel.model.growing import enlarged

# Chunks after which they are put together, so that single rows are no burden.
MOST_CHUNKS = 64


class Reservoir:
    """Keeps the last rows, with their targets and weights.

    Examples
    --------
    >>> recent = Reservoir(3)
    >>> for k in range(5):
    ...     recent.add(np.full((1, 2), k), np.array([k]), np.ones(1))
    >>> recent.rows()[1].tolist()
    [2, 3, 4]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[tuple[Any, np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return min(sum(len(y) for _, y, _ in self.kept), self.size)

    def add(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Take in rows, and let go of the oldest."""
        if self.kept and isinstance(self.kept[0][0], tuple):
            X = scipy.sparse.csr_array(X)
        elif self.kept and scipy.sparse.issparse(X):
            X = X.toarray()
        last = slice(-self.size, None)
        self.kept.append((_taken(X[last]), y[last].copy(), weight[last].copy()))
        while sum(len(y) for _, y, _ in self.kept[1:]) >= self.size:
            del self.kept[0]
        if len(self.kept) > MOST_CHUNKS:
            X, y, weight = self.rows()
            self.kept = [(_taken(X), y, weight)]

    def rows(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, targets and weights, the oldest first."""
        Xs = [_given(X) for X, _, _ in self.kept]
        X = scipy.sparse.vstack(Xs, "csr") if scipy.sparse.issparse(Xs[0]) else None
        X = np.concatenate(Xs) if X is None else X
        y = np.concatenate([y for _, y, _ in self.kept])
        weight = np.concatenate([weight for _, _, weight in self.kept])
        return X[-self.size :], y[-self.size :], weight[-self.size :]

    def part(self, first: int, stop: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Some rows, counted from the end: the last is from -1 to 0.

        Examples
        --------
        >>> recent = Reservoir(9)
        >>> recent.add(np.zeros((5, 1)), np.arange(5), np.ones(5))
        >>> recent.part(-3, -1)[1].tolist()
        [2, 3]
        """
        some, end = Reservoir(stop - first), 0
        for X, y, weight in reversed(self.kept):
            begin, count = end - len(y), len(y)
            if begin < stop and end > first:
                own = slice(max(first - begin, 0), min(stop - begin, count))
                some.kept.insert(0, (_some(X, own), y[own], weight[own]))
            end = begin
        return some.rows()

    def relabel(self, places: np.ndarray) -> None:
        """Give target k the number places[k]."""
        self.kept = [
            (X, places[y.astype(int)].astype(np.float64), weight)
            for X, y, weight in self.kept
        ]

    def widened(self, features: int) -> "Reservoir":
        """Return another with the same rows, dense ones, of more features, all 0."""
        twin = Reservoir(self.size)
        twin.kept = [
            (enlarged(X, len(X), features), y, weight) for X, y, weight in self.kept
        ]
        return twin

    def copy(self) -> "Reservoir":
        """Return another with the same rows, which never change."""
        twin = Reservoir(self.size)
        twin.kept = list(self.kept)
        return twin


def _taken(X: Any) -> Any:
    """Rows as arrays of their own, which a model file can hold."""
    if scipy.sparse.issparse(X):
        return X.data.copy(), X.indices.copy(), X.indptr.copy(), X.shape[1]
    return np.array(X)


def _some(X: Any, rows: slice) -> Any:
    if not isinstance(X, tuple):
        return X[rows]
    return _taken(_given(X)[rows])


def _given(X: Any) -> Any:
    if isinstance(X, tuple):
        *parts, width = X
        return scipy.sparse.csr_array(tuple(parts), shape=(len(parts[2]) - 1, width))
    return X
