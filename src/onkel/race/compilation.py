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
from onkel.race.entrants import Entrant

# Seconds of a warm-up beyond which a system was not in the cache.
CACHED = 3.0


def compiled(
    entrants: Sequence[Entrant],
    X: Any,
    y: np.ndarray,
    announce: Callable[[str], None] = lambda name: None,
) -> Iterator[Entrant]:
    """Let all contestants learn a few rows, and hand each on when it has.

    Their order is that in which they are ready; `announce` is told who comes up.
    """
    if not numba.config.DISABLE_JIT and compile_cache.is_empty():
        # All wait for the compiler but references, who race meanwhile. Who takes
        # longest begins, so that others are compiled while it races.
        ours = [entrant for entrant in entrants if not entrant.is_reference]
        ours.sort(key=lambda entrant: not entrant.takes_longest)
        ready = _shared(ours, X, y)
        others = [entrant for entrant in entrants if entrant.is_reference]
        yield from _tried(others, X, y, announce)
        yield from _tried(ready, X, y, announce)
        return
    for place, entrant in enumerate(entrants):
        announce(entrant.name)
        start = time.perf_counter()
        _try(entrant, X, y)
        took = time.perf_counter() - start
        yield entrant
        if took > CACHED:
            ready = _shared(entrants[place + 1 :], X, y)
            yield from _tried(ready, X, y, announce)
            return


def _tried(
    entrants: Iterable[Entrant], X: Any, y: np.ndarray, announce: Callable[[str], None]
) -> Iterator[Entrant]:
    for entrant in entrants:
        announce(entrant.name)
        _try(entrant, X, y)
        yield entrant


def _try(entrant: Entrant, X: Any, y: np.ndarray) -> str:
    try:
        entrant.warm_up(X, y)
    except ValueError:
        pass  # the race will tell
    return entrant.name


def _shared(entrants: Sequence[Entrant], X: Any, y: np.ndarray) -> Iterator[Entrant]:
    """Let several processes fill the cache, from now on; whom they have compiled."""
    jobs = min(joblib.cpu_count(), len(entrants))
    if jobs < 2:
        return iter(entrants)
    known = {entrant.name: entrant for entrant in entrants}
    work = (joblib.delayed(_try)(entrant, X, y) for entrant in entrants)
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    names = parallel(work)

    def ready() -> Iterator[Entrant]:
        yield from (known[name] for name in names)
        # Nobody needs the processes any more; they hold a compiler each.
        get_reusable_executor().shutdown(wait=False)

    return ready()
