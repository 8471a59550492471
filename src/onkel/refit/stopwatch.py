"""Stopwatch: how long each kind of work took."""

import contextlib
import time
from collections.abc import Callable, Iterator
from enum import StrEnum


class Work(StrEnum):
    """Kinds of work in a re-fit."""

    SEARCH = "search"
    MERGING = "merging"
    SOLVING = "solving"
    MOVES = "moves"


class Stopwatch:
    """Counts every second once: work within work stops the clock of the outer.

    Examples
    --------
    >>> hours = iter(range(10))
    >>> stopwatch = Stopwatch(lambda: next(hours))
    >>> with stopwatch.of(Work.MOVES):
    ...     with stopwatch.of(Work.SOLVING):
    ...         pass
    >>> print(stopwatch)
    moves 2.0 s, solving 1.0 s
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[Work, float] = {}
        self._running: list[Work] = []
        self._since = 0.0

    @contextlib.contextmanager
    def of(self, kind: Work) -> Iterator[None]:
        """Count what is done within as of that kind."""
        self._count()
        self.seconds.setdefault(kind, 0.0)
        self._running.append(kind)
        try:
            yield
        finally:
            self._count()
            self._running.pop()

    def _count(self) -> None:
        now = self.clock()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def __str__(self) -> str:
        return ", ".join(f"{kind} {took:.1f} s" for kind, took in self.seconds.items())


def left(done: int, of: int, took: float) -> str:
    """Say how much time it takes to the end, if everything takes as long as so far.

    Examples
    --------
    >>> left(1, 4, 20.0), left(0, 4, 0.0)
    (', at most 60 s left', '')
    """
    if not done:
        return ""
    return f", at most {took * (of - done) / done:.0f} s left"
