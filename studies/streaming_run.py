"""A run of `studies.streaming`: one system on one stream, in a process of its own."""

import itertools
import pickle
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from onkel.measuring.memory import Growth
from onkel.measuring.records import Record
from onkel.race.contestants import StreamedEstimator, in_a_line, small
from onkel.reproduce.online_data import OnlineData
from studies.streaming_systems import NEW, plain, raced, stream

CHUNK = 500
TENTHS = 10
WARM_UP_CHUNKS = 4
# Parameters of the classes themselves, those of the race, and those searched for.
DEFAULTS, RACE, CHOSEN = "defaults", "race", "chosen"


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


def _warm_up(model: Any, work: OnlineData) -> None:
    """Load, or compile, what a run needs; a full budget too."""
    warmed = StreamedEstimator(small(model), classes=2)
    try:
        # Whoever fits itself anew does so after some chunks only.
        for first in range(0, min(WARM_UP_CHUNKS * CHUNK, len(work.y)), CHUNK):
            part = slice(first, first + CHUNK)
            warmed.predict_then_learn(work.X[part], work.y[part])
    except ValueError:
        pass  # an overflow; the run will tell


def run(model: Any, work: OnlineData) -> Record:
    """Walk through a stream, with labels 0 and 1, and measure everything."""
    rows = len(work.y)
    contestant = StreamedEstimator(model, classes=2)
    wrong = np.zeros(rows, dtype=bool)
    seconds: list[float] = []
    pickled: list[int] = []
    growth: Growth | None = None
    ends = np.linspace(0, rows, TENTHS + 1).round().astype(int)
    with threadpool_limits(1), np.errstate(all="ignore"):
        _warm_up(model, work)
        for first in range(0, rows, CHUNK):
            part = slice(first, min(first + CHUNK, rows))
            X, y = work.X[part], work.y[part]
            start = time.process_time()
            try:
                said = contestant.predict_then_learn(X, y)
            except ValueError as fault:
                if "overflow" not in str(fault):
                    raise
                reason = f"overflow by row {first:,}"
                return {"model": in_a_line(model), "failed": reason}
            seconds.append(time.process_time() - start)
            wrong[part] = said != y
            # A chunk of a short stream may reach the end of several tenths.
            for tenth in range(len(pickled), np.count_nonzero(ends[1:] <= part.stop)):
                pickled.append(weigh(model))
                if tenth == 0:
                    growth = Growth()
    grown = None if growth is None else growth.bytes
    return {
        "model": in_a_line(model),
        "error": float(wrong.mean()),
        "tenths": [float(wrong[a:b].mean()) for a, b in itertools.pairwise(ends)],
        "mistakes": [int(wrong[k : k + CHUNK].sum()) for k in range(0, rows, CHUNK)],
        "seconds_per_row": sum(seconds) / rows,
        "slowest_chunk": max(seconds),
        "slowest_at": CHUNK * int(np.argmax(seconds)),
        "size": int(contestant.size),
        "pickled": pickled,
        "growth": grown,
    }


def measure(name: str, system: str, kind: str, gamma: float, own: Record) -> Record:
    """Load a stream and run a system on it."""
    data = stream(name)
    if kind == DEFAULTS:
        work = data.raw if system == NEW else data.scaled
        return run(plain(system, data.problem), work)
    given = {"gamma": gamma} | own
    return run(raced(system, data.problem, **given), data.scaled)
