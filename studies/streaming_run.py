"""A run of `studies.streaming`: one system on one stream, in a process of its own."""

import pickle
import time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from onkel.measuring.memory import Growth
from onkel.measuring.records import Record
from onkel.race.contestants import StreamedEstimator, in_a_line, small
from onkel.reproduce.online_data import OnlineData
from studies.streaming_references import REFERENCES
from studies.streaming_setup import Setup
from studies.streaming_streams import STREAMS, stream
from studies.streaming_systems import DEFAULTS, NEWCOMERS, plain, raced

TENTHS = 10
WARM_UP_CHUNKS = 4
CHUNK, CHUNK_OF_FEW, FEW = 500, 50, 5000  # rows at a time; of streams of few rows


class Run(NamedTuple):
    """Who runs where, and with which parameters."""

    stream: str
    system: str
    kind: str  # of parameters
    order: int

    @property
    def name(self) -> str:
        """In a ledger."""
        return "/".join(map(str, self))


class Scales:
    """Weighs what is pickled into it, without keeping it.

    Examples
    --------
    >>> weigh(b"x" * 1000) > 1000
    True
    """

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Count some bytes."""
        self.bytes += memoryview(data).nbytes
        return memoryview(data).nbytes


def weigh(model: Any) -> int:
    """Bytes of a pickled model, found without holding them all."""
    scales = Scales()
    pickle.Pickler(scales, pickle.HIGHEST_PROTOCOL).dump(model)
    return scales.bytes


def chunk_of(rows: int) -> int:
    """Rows that come at a time in a stream of so many."""
    return CHUNK if rows > FEW else CHUNK_OF_FEW


def _warm_up(contestant: Any, work: OnlineData, classes: int) -> None:
    """Load, or compile, what a run needs; a full budget too."""
    if not isinstance(contestant, StreamedEstimator):
        return
    warmed, chunk = StreamedEstimator(small(contestant.model), classes), CHUNK
    try:
        # Whoever fits itself anew does so after some chunks only.
        for first in range(0, min(WARM_UP_CHUNKS * chunk, len(work.y)), chunk):
            part = slice(first, first + chunk)
            warmed.predict_then_learn(work.X[part], work.y[part])
    except ValueError:
        pass  # an overflow; the run will tell


def _error(losses: np.ndarray, is_regression: bool) -> float:
    """Share of mistakes, or root of the mean squared error."""
    mean = losses.mean()
    return float(np.sqrt(mean) if is_regression else mean)


def run(contestant: Any, work: OnlineData, classes: int) -> Record:
    """Walk through a stream and measure everything.

    Errors are shares: of mistakes, or of the deviation of the targets.
    """
    rows, unit = len(work.y), work.y.var() if work.is_regression else 1.0
    losses = np.zeros(rows)
    seconds: list[float] = []
    pickled: list[int] = []
    growth: Growth | None = None
    ends = np.linspace(0, rows, TENTHS + 1).round().astype(int)
    chunk = chunk_of(rows)
    with threadpool_limits(1), np.errstate(all="ignore"):
        _warm_up(contestant, work, classes)
        for first in range(0, rows, chunk):
            part = slice(first, min(first + chunk, rows))
            X, y = work.X[part], work.y[part]
            start = time.process_time()
            try:
                said = contestant.predict_then_learn(X, y)
            except ValueError as fault:
                if "overflow" not in str(fault):
                    raise
                return {"failed": f"overflow by row {first:,}"}
            seconds.append(time.process_time() - start)
            wrong = (said - y) ** 2 / unit if work.is_regression else said != y
            losses[part] = wrong
            # A chunk of a short stream may reach the end of several tenths.
            for tenth in range(len(pickled), np.count_nonzero(ends[1:] <= part.stop)):
                pickled.append(weigh(contestant))
                if tenth == 0:
                    growth = Growth()
        stops = [*range(chunk, rows, chunk), rows]
        return {
            "error": _error(losses, work.is_regression),
            "tenths": [
                _error(part, work.is_regression)
                for part in np.split(losses, ends[1:-1])
            ],
            "curve": [_error(losses[:stop], work.is_regression) for stop in stops],
            "seconds_per_row": sum(seconds) / rows,
            "slowest_chunk": max(seconds),
            "size": None if contestant.size is None else int(contestant.size),
            "pickled": pickled,
            "growth": None if growth is None else growth.bytes,
        }


def measure(what: Run, gamma: float, own: Record) -> Record:
    """Load a stream and run a system on it."""
    data = stream(what.stream, what.order)
    problem, work = data.problem, data.scaled
    setup = Setup(problem, STREAMS[what.stream].budget, gamma, what.order)
    if what.system in REFERENCES:
        return run(REFERENCES[what.system](setup), work, problem.classes)
    if what.system in NEWCOMERS:
        work = data.raw
    if what.kind == DEFAULTS:
        model = plain(what.system, setup)
    else:
        model = raced(what.system, setup, **own)
    contestant = StreamedEstimator(model, problem.classes)
    return {"model": in_a_line(model)} | run(contestant, work, problem.classes)
