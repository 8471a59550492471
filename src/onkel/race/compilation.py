"""Compilation: every contestant runs once before the race, so that none pays for it.

A first run on a machine compiles two dozen systems, ten seconds each. What one process
has compiled, others find in the cache on disk: so several share the work.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import joblib
import numba
import numpy as np
from joblib.externals.loky import get_reusable_executor

from onkel.compiled import compile_cache
from onkel.race.contestants import Entry

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
    if not numba.config.DISABLE_JIT and compile_cache.is_empty():
        # All wait for the compiler but references, who race meanwhile. Who takes
        # longest begins, so that others are compiled while it races.
        ours = [entry for entry in entries if not entry.is_reference]
        ours.sort(key=lambda entry: not entry.takes_longest)
        ready = _shared(ours, X, y)
        others = [entry for entry in entries if entry.is_reference]
        yield from _tried(others, X, y, announce)
        yield from _tried(ready, X, y, announce)
        return
    for place, entry in enumerate(entries):
        announce(entry.name)
        start = time.perf_counter()
        _try(entry, X, y)
        took = time.perf_counter() - start
        yield entry
        if took > CACHED:
            ready = _shared(entries[place + 1 :], X, y)
            yield from _tried(ready, X, y, announce)
            return


def _tried(
    entries: Iterable[Entry], X: Any, y: np.ndarray, announce: Callable[[str], None]
) -> Iterator[Entry]:
    for entry in entries:
        announce(entry.name)
        _try(entry, X, y)
        yield entry


def _try(entry: Entry, X: Any, y: np.ndarray) -> str:
    try:
        entry.warm_up(X, y)
    except ValueError:
        pass  # the race will tell
    return entry.name


def _shared(entries: Sequence[Entry], X: Any, y: np.ndarray) -> Iterator[Entry]:
    """Let several processes fill the cache, from now on; whom they have compiled."""
    jobs = min(joblib.cpu_count(), len(entries))
    if jobs < 2:
        return iter(entries)
    known = {entry.name: entry for entry in entries}
    work = (joblib.delayed(_try)(entry, X, y) for entry in entries)
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    names = parallel(work)

    def ready() -> Iterator[Entry]:
        yield from (known[name] for name in names)
        # Nobody needs the processes any more; they hold a compiler each.
        get_reusable_executor().shutdown(wait=False)

    return ready()
