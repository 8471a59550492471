"""Compilation: every contestant runs once before the race, so that none pays for it.

A first run on a machine compiles two dozen systems, ten seconds each. What one process
has compiled, others find in the cache on disk: so several share the work.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import joblib
import numpy as np

from onkel.experiments.contestants import Entry

# Seconds of a warm-up beyond which a system was not in the cache.
CACHED = 3.0


def compiled(
    entries: Sequence[Entry],
    X: Any,
    y: np.ndarray,
    announce: Callable[[str], None] = lambda name: None,
) -> Iterator[Entry]:
    """Let all contestants learn a few rows, and hand each on when it has.

    Parameters
    ----------
    entries
        The contestants.
    X, y
        Rows to learn.
    announce
        Called with a name when it comes up.

    Yields
    ------
    entry
        One that is compiled; their order is that in which they are ready.
    """
    for place, entry in enumerate(entries):
        announce(entry.name)
        start = time.perf_counter()
        _try(entry, X, y)
        took = time.perf_counter() - start
        yield entry
        if took > CACHED:
            for other in _shared(entries[place + 1 :], X, y):
                announce(other.name)
                _try(other, X, y)  # out of the cache
                yield other
            return


def _try(entry: Entry, X: Any, y: np.ndarray) -> str:
    try:
        entry.warm_up(X, y)
    except ValueError:
        pass  # the race will tell
    return entry.name


def _shared(entries: Sequence[Entry], X: Any, y: np.ndarray) -> Iterator[Entry]:
    """Let several processes fill the cache; yield whom they have compiled."""
    jobs = min(joblib.cpu_count(), len(entries))
    if jobs < 2:
        yield from entries
        return
    known = {entry.name: entry for entry in entries}
    work = (joblib.delayed(_try)(entry, X, y) for entry in entries)
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    for name in parallel(work):
        yield known[name]
