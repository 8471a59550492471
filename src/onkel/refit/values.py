"""Kernel values of all rows with some centres, again and again.

They are computed tile by tile, in single precision, and as many as there is room for
are kept. Whoever needs them gives a task, which gets a tile at a time; tiles are shared
out over threads.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from onkel.engine import block
from onkel.engine.learner import blas, norms_of, order_for, rows_of
from onkel.engine.threads import Team
from onkel.kernels import Kernel, Kind

# Kernel values that are kept, 1 GiB of them.
KEPT = 2**28
# Kernel values of a tile: the second-level cache should hold most of them.
TILE = 2**19
FEWEST_ROWS = 64
# A kernel value next to which 1 is all that single precision sees.
NOTHING = np.float32(2.0**-24)


class Values:
    """k(x, c) for rows x and centres c.

    Parameters
    ----------
    kernel, X, points
        The kernel, the rows (dense or CSR), and the centres.
    n_jobs
        Threads.
    kept
        Most kernel values that are kept.
    """

    def __init__(
        self, kernel: Kernel, X: Any, points: np.ndarray, n_jobs: int, kept: int = KEPT
    ) -> None:
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.points = np.asarray(points, X.dtype, order=order_for(X))
        self.norms = norms_of(kernel, np.ascontiguousarray(self.points))
        self.rows = max(TILE // max(len(points), 1), FEWEST_ROWS)
        room = min(X.shape[0], kept // max(len(points), 1))
        room -= 0 if room == X.shape[0] else room % self.rows
        self._kept = np.empty((room, len(points)), np.float32)
        self._known = np.zeros(-(-room // self.rows), bool)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def exact(self, X: Any) -> np.ndarray:
        """Values of any rows in their own precision, shape (rows, centres)."""
        out = np.empty((X.shape[0], len(self.points)), self.X.dtype)
        rows = rows_of(X, self.X.dtype)
        block.kernel_values(self.kernel, rows, self.points, self.norms, out)
        return out

    def of(self, X: Any) -> np.ndarray:
        """Values of any rows, shape (rows, centres)."""
        values = self.exact(X).astype(np.float32, copy=False)
        if self.kernel.kind in (Kind.RBF, Kind.LAPLACIAN):
            # Products of values this small are not normal numbers, which are slow.
            np.copyto(values, 0.0, where=values < NOTHING)
        return values

    def tile(self, first: int) -> np.ndarray:
        """Values of the tile of rows that begins there."""
        last = min(first + self.rows, len(self))
        if last > len(self._kept):
            return self.of(self.X[first:last])
        number = first // self.rows
        if not self._known[number]:
            self._kept[first:last] = self.of(self.X[first:last])
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

        with blas().limit(limits=1), ExitStack() as stack:
            if self.n_jobs == 1 or len(starts) < self.n_jobs:
                share((0, len(starts)))
            else:
                stack.enter_context(Team(self.n_jobs)).share(len(starts), share)
        return [totals[key] for key in sorted(totals)]

    def _of_some(self, rows: np.ndarray) -> np.ndarray:
        if self._known.all() and rows.max() < len(self._kept):
            return self._kept[rows]
        return self.of(self.X[rows])
