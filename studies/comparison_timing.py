"""Seconds of work, work that is stopped at a limit, and what it would have needed."""

import math
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

# Of a solver whose exponent is not measured yet: kernel values of all pairs of rows.
QUADRATIC = 2.0
# A power law is drawn through so many of the largest subsamples.
LAST = 3


class Timed(NamedTuple):
    """What a piece of work gave, and its seconds."""

    value: Any
    wall: float
    cpu: float  # of all threads, and of child processes that have ended


class Rung(NamedTuple):
    """A subsample that was worked off within the limit."""

    rows: int
    work: Timed


def cpu_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in (own, children))


def timed(work: Callable[[], Any]) -> Timed:
    """Do it, and take the time."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    value = work()
    return Timed(value, time.perf_counter() - wall, cpu_seconds() - cpu)


def _send(pipe: Any, work: Callable[[], Any], limit: float) -> None:
    # The kernel stops it, since no Python runs while LIBSVM works; and by processor
    # time, which a busy machine does not change.
    bound = math.ceil(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (bound, bound))
    pipe.send(timed(work))


def limited(work: Callable[[], Any], limit: float) -> Timed | None:
    """Do it in a process of its own, for so many seconds of processor time at most.

    None if it was stopped.
    """
    # A fork shares the rows instead of copying them.
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, work, limit))
    process.start()
    sender.close()
    try:
        outcome: Timed | None = receiver.recv()
    except EOFError:
        outcome = None
    process.join()
    if outcome is None and process.exitcode != -signal.SIGKILL:
        raise RuntimeError(f"a limited process ended with {process.exitcode}")
    return outcome


def climb(sizes: Iterable[int], work: Callable[[int], Any], limit: float) -> list[Rung]:
    """Work off ever larger subsamples, until the next would not finish within limit."""
    rungs: list[Rung] = []
    for rows in sizes:
        if rungs and extrapolated(rungs, rows) > limit:
            break
        outcome = limited(lambda rows=rows: work(rows), limit)  # type: ignore[misc]
        if outcome is None:
            break
        rungs.append(Rung(rows, outcome))
    return rungs


def exponent(rungs: Sequence[Rung]) -> float:
    """Of the power law through the last three: processor time against rows.

    Examples
    --------
    >>> steps = [Rung(n, Timed(None, 0.0, 1e-6 * n**2)) for n in (100, 200, 400)]
    >>> round(exponent(steps), 3), round(extrapolated(steps, 4000), 3)
    (2.0, 16.0)
    """
    last = rungs[-LAST:]
    if len(last) < 2:
        return QUADRATIC
    rows, seconds = zip(*((rung.rows, rung.work.cpu) for rung in last), strict=True)
    # A clock of finite resolution may show nothing for the smallest.
    logs = np.log(np.maximum(seconds, 1e-6))
    return float(np.polyfit(np.log(rows), logs, 1)[0])


def extrapolated(rungs: Sequence[Rung], rows: int) -> float:
    """Seconds that so many rows would need by that law, from the last rung on."""
    last = rungs[-1]
    return float(last.work.cpu * (rows / last.rows) ** exponent(rungs))
