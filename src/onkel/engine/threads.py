"""Our threads, and those of BLAS, of which there is never more than one beside ours.

Phase 1 works in several threads; phase 2 stays in one. Compiled code holds no lock, so
plain threads do. Each call into it costs some tens of microseconds, which is why
`passes.learn` keeps to itself if there is one thread only.
"""

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from typing import Any

import scipy.linalg.cython_blas  # noqa: F401, loads the BLAS that is to be found
from threadpoolctl import OpenBLASController, ThreadpoolController

from onkel.compiled.draws import Draws
from onkel.engine import evaluation, passes
from onkel.engine.evaluation import Task, Workspace
from onkel.engine.passes import Batch, Limits, part_of
from onkel.engine.plan import slots_for
from onkel.model.averages import has_room
from onkel.model.rows import Rows, rows_of
from onkel.model.state import Model

# Rows handed to compiled code at a time; larger blocks would not be faster.
CHUNK = 16384
# Kernel values times features of a row below which a second thread costs more than it
# saves: waking it takes longer than half a block.
WORTHWHILE = 200_000


def split(rows: int, parts: int) -> list[tuple[int, int]]:
    """Cut a number of rows into parts of nearly equal size.

    Examples
    --------
    >>> split(5, 2)
    [(0, 2), (2, 5)]
    """
    return list(itertools.pairwise(rows * i // parts for i in range(parts + 1)))


@cache
def _libraries() -> ThreadpoolController:
    """Handle on the threads of other libraries: looking for them takes long."""
    return ThreadpoolController()


class _OneThread:
    """While somebody is inside, BLAS works in the thread that calls it.

    Threads of its own would fight with ours, and wait for work by spinning, long after
    the last product. Their number belongs to the whole process: the first who enters
    sets it, and the last who leaves sets it back, whichever thread that is.
    """

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_child)

    def _begin_child(self) -> None:
        """Go on after a fork, without the threads that were inside or held the lock."""
        self.lock = threading.Lock()
        if self.inside:
            self.inside = 0
            self.limit.restore_original_limits()

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.limit = _libraries().limit(limits=1)
                _let_others_limit()
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.limit.restore_original_limits()
                _let_others_limit()


def _let_others_limit() -> None:
    """From threadpoolctl 3.8 on, whoever has set a limit is the only one who can."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread()


blas_in_one_thread = _OneThread()


def _enter() -> None:
    """Begin a thread: OpenMP counts for each of ours by itself."""
    _libraries().select(user_api="openmp").limit(limits=1)


class Team:
    """Threads that share the rows of a task; of one, the caller's own."""

    def __init__(self, size: int) -> None:
        self.size = size
        # It begins no thread before there is work, and none that was idle spins.
        self.pool = ThreadPoolExecutor(max(size - 1, 1), initializer=_enter)

    def share(self, rows: int, task: Callable[[tuple[int, int]], Any]) -> None:
        """Run the task on parts of the rows, the first in this thread."""
        own, *others = split(rows, self.size)
        futures = [self.pool.submit(task, part) for part in others]
        task(own)
        for future in futures:
            future.result()

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *error: object) -> None:
        self.pool.shutdown()

    def learn(
        self,
        plan: Any,
        budget: Any,
        model: Model,
        batch: Batch,
        limits: Limits,
        draws: Draws,
        work: Workspace,
        filled: bool,  # never: that is the team's work
    ) -> int:
        """Do what `passes.learn` does."""
        done, count = 0, len(batch.y)
        while done < count:
            last = min(done + limits.block_size, count)
            rows = last - done
            size = int(model.counters[0].count)
            slots = slots_for(size, rows, limits.largest_size)
            if slots > len(model.diag) or not has_room(model.average, rows):
                return done
            some, task = part_of(batch, done, last), Task(slots, limits.foresee)

            def fill(
                share: tuple[int, int], some: Batch = some, task: Task = task
            ) -> None:
                evaluation.fill(plan.kernel, some.rows, share, model, task, work)

            self.share(rows, fill)
            done += passes.learn(plan, budget, model, some, limits, draws, work, True)
            if done < last or model.counters[0].halted:
                return done
        return done


def over_rows(
    X: Any,
    dtype: Any,
    n_jobs: int,
    task: Callable[[Rows, tuple[int, int], int], None],
) -> None:
    """Do something with all rows, some thousand at a time, in several threads.

    Parameters
    ----------
    X
        The rows, dense or sparse.
    dtype
        In which compiled code is to have them.
    n_jobs
        Threads.
    task
        Gets rows, a share (start, stop) of them, and the number of the first in X.
    """
    count = X.shape[0]
    with blas_in_one_thread, ExitStack() as stack:
        team = stack.enter_context(Team(n_jobs)) if n_jobs > 1 else None
        for first in range(0, count, n_jobs * CHUNK):
            stop = min(first + n_jobs * CHUNK, count)
            chunk = rows_of(X[first:stop], dtype)

            def shared(
                share: tuple[int, int], rows: Rows = chunk, first: int = first
            ) -> None:
                task(rows, share, first)

            if team is None:
                shared((0, stop - first))
            else:
                team.share(stop - first, shared)
