"""Deadline: until when work may last, and what was left out to keep it."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Deadline:
    """A moment that travels with the work; whoever repeats something looks at it.

    It is so many seconds from now; None for no end.

    Examples
    --------
    >>> hours = iter([0.0, 9.0, 11.0])
    >>> deadline = Deadline(10.0, lambda: next(hours))
    >>> deadline.left, deadline.left
    (1.0, -1.0)
    >>> Deadline(None).left
    inf
    """

    def __init__(
        self,
        seconds: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self.end = math.inf if seconds is None else clock() + seconds
        self.left_out: list[str] = []

    @property
    def is_set(self) -> bool:
        """Whether there is an end."""
        return self.end < math.inf

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 if it is over."""
        return self.end - self.clock() if self.is_set else math.inf

    def earlier(self, seconds: float) -> "Deadline":
        """Return one that leaves time for what comes afterwards."""
        made = Deadline(None, self.clock)
        made.end, made.left_out = self.end - seconds, self.left_out
        return made

    def share(self, part: float) -> "Deadline":
        """Return one at which so much of the time left is over."""
        return self.earlier((1.0 - part) * self.left) if self.is_set else self

    def aside(self) -> "Deadline":
        """Return one for work that may be cut short without a note."""
        made = self.earlier(0.0)
        made.left_out = []
        return made

    def leave_out(self, what: str) -> None:
        """Take note of what there was no time for."""
        if what not in self.left_out:
            self.left_out.append(what)

    def allows(self, seconds: float, what: str) -> bool:
        """Whether there is time for something; takes note if not."""
        if self.left >= seconds:
            return True
        self.leave_out(what)
        return False

    def each(
        self, items: Iterable[T], what: str, takes: float = 0.0, least: int = 0
    ) -> Iterator[T]:
        """Yield items, so many at least, while there is time for one more.

        One takes as long as the slowest so far, the first as long as is said.
        """
        for place, item in enumerate(items):
            if place >= least and not self.allows(takes, what):
                return
            begun = self.clock()
            yield item
            takes = max(takes, self.clock() - begun)


# For work that may last as long as it does.
ENDLESS = Deadline()
