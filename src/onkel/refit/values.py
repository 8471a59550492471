"""Kernel values of all rows with some centres, again and again.

They are computed tile by tile, in single precision, and as many as there is room for
are kept. Whoever needs them gives a task, which gets a tile at a time; tiles are shared
out over threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from onkel.engine import evaluation
from onkel.engine.evaluation import norms_of
from onkel.engine.threads import Team, blas_in_one_thread
from onkel.model.rows import beside, order_for, rows_of
from onkel.problem.kernels import Kernel, Kind

# Kernel values that are kept: 384 MiB of them, or twice what the rows take in single
# precision, if that is more, but not more than 1 GiB.
KEPT, KEPT_OF_ROWS, MOST_KEPT = 96 * 2**20, 2, 2**28
# Kernel values of a tile: the second-level cache should hold most of them.
TILE = 2**19
FEWEST_ROWS = 64
# A kernel value next to which 1 is all that single precision sees.
NOTHING = np.float32(2.0**-24)


def weighed(X: Any, relevance: np.ndarray | None) -> Any:
    """Rows whose features count as much as is said.

    Examples
    --------
    >>> weighed(np.ones((1, 2)), np.array([1.0, 3.0]))
    array([[1., 3.]])
    """
    if relevance is None or (relevance == 1.0).all():
        return X
    if not scipy.sparse.issparse(X):
        return X * relevance.astype(X.dtype)
    out = X.copy()
    out.data *= relevance[X.indices].astype(X.dtype)
    return out


def room_for(X: Any) -> int:
    """Most kernel values to keep beside such rows."""
    entries = X.nnz if scipy.sparse.issparse(X) else X.size
    return min(max(KEPT, KEPT_OF_ROWS * int(entries)), MOST_KEPT)


class Values:
    """k(x, c) for rows x (dense or CSR) and centres c.

    At most `kept` values are kept; None for as many as go with the rows. `relevance` is
    how much the features of the rows count; those of the centres are weighed already.
    Rows are weighed a tile at a time, so that there is no second copy of them.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        points: np.ndarray,
        team: Team,
        kept: int | None = None,
        relevance: np.ndarray | None = None,
    ) -> None:
        self.kernel, self.X, self.team = kernel, X, team
        self.relevance = relevance
        self.points = np.asarray(points, X.dtype, order=order_for(X))
        self.norms = norms_of(kernel, np.ascontiguousarray(self.points))
        self.rows = max(TILE // max(len(points), 1), FEWEST_ROWS)
        kept = room_for(X) if kept is None else kept
        room = min(X.shape[0], kept // max(len(points), 1))
        self._room = room - (0 if room == X.shape[0] else room % self.rows)
        self.forget()

    def forget(self) -> None:
        """Make room: whatever is asked for next is computed again."""
        self._kept = np.empty((0, len(self.points)), np.float32)
        self._known = np.zeros(-(-self._room // self.rows), bool)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def exact(self, X: Any) -> np.ndarray:
        """Values of any rows in their own precision, shape (rows, centres)."""
        out = np.empty((X.shape[0], len(self.points)), self.X.dtype)
        rows = rows_of(X, self.X.dtype)
        points = beside(rows, self.points)
        evaluation.kernel_values(self.kernel, rows, points, self.norms, out)
        return out

    def of(self, X: Any) -> np.ndarray:
        """Values of any rows, shape (rows, centres)."""
        values = self.exact(X).astype(np.float32, copy=False)
        if self.kernel.kind in (Kind.RBF, Kind.LAPLACIAN):
            # Products of values this small are not normal numbers, which are slow.
            np.multiply(values, values >= NOTHING, out=values)
        return values

    def tile(self, first: int) -> np.ndarray:
        """Values of the tile of rows that begins there."""
        last = min(first + self.rows, len(self))
        self._take_room()
        if last > self._room:
            return self._computed(slice(first, last))
        number = first // self.rows
        if not self._known[number]:
            self._kept[first:last] = self._computed(slice(first, last))
            self._known[number] = True
        return self._kept[first:last]

    def each(
        self,
        task: Callable[[Any, np.ndarray, Any], None],
        new: Callable[[], Any] = lambda: None,
        rows: np.ndarray | None = None,
    ) -> list[Any]:
        """Call `task(which, values, total)` for tiles of all rows, or of the given.

        Every thread has a total of its own, which `new` makes. They are returned in the
        order of the rows, so that their sum does not depend on who was first.
        """
        starts = range(0, len(self) if rows is None else len(rows), self.rows)
        totals = {}

        def share(part: tuple[int, int]) -> None:
            total = totals[part[0]] = new()
            for first in starts[slice(*part)]:
                if rows is None:
                    last = min(first + self.rows, len(self))
                    task(slice(first, last), self.tile(first), total)
                else:
                    some = rows[first : first + self.rows]
                    task(some, self._of_some(some), total)

        self._take_room()  # before there are several to do so
        with blas_in_one_thread:
            if len(starts) < self.team.size:
                share((0, len(starts)))
            else:
                self.team.share(len(starts), share)
        return [totals[key] for key in sorted(totals)]

    def _take_room(self) -> None:
        if len(self._kept) < self._room:
            self._kept = np.empty((self._room, len(self.points)), np.float32)

    def _of_some(self, rows: np.ndarray) -> np.ndarray:
        if self._known.all() and rows.max() < self._room:
            return self._kept[rows]
        return self._computed(rows)

    def _computed(self, rows: Any) -> np.ndarray:
        return self.of(weighed(self.X[rows], self.relevance))
