"""A fit that is given up when its time is over, of what learns all rows at once.

Compiled solvers do not look at the clock, so that only another process can be stopped.
The time is that of its processor: others work on the same machine.
"""

import multiprocessing
import os
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

LOOKS = 0.2  # seconds between two looks at the clock
TIME_IS_OVER = 75  # exit code


class Fitted(NamedTuple):
    """A model that has learnt, and the seconds of processor time that it took."""

    model: Any
    seconds: float


def _watch(deadline: float) -> None:
    while time.process_time() < deadline:
        time.sleep(LOOKS)
    os._exit(TIME_IS_OVER)


def _fit(limit: float, model: Any, X: Any, y: np.ndarray, answer: Connection) -> None:
    start = time.process_time()
    threading.Thread(target=_watch, args=(start + limit,), daemon=True).start()
    model.fit(X, y)
    answer.send(Fitted(model, time.process_time() - start))


def fit_within(limit: float, model: Any, X: Any, y: np.ndarray) -> Fitted:
    """Fit a model in a process of its own.

    Parameters
    ----------
    limit
        Seconds of processor time.
    model
        Unfitted; it is left so. Its solver lets other threads run.
    X, y
        Rows to learn.

    Raises
    ------
    TimeoutError
        If it takes longer.
    """
    known = multiprocessing.get_all_start_methods()
    if multiprocessing.get_start_method(allow_none=True) not in (None, *known):
        # A worker of joblib's names its own method, which a new process does not know.
        multiprocessing.set_start_method("spawn", force=True)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    given = (limit, model, X, y, there)
    process = context.Process(target=_fit, args=given, daemon=True)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError as error:
        process.join()
        if process.exitcode == TIME_IS_OVER:
            raise TimeoutError(f"needs more than {limit:.0f} s") from error
        name = type(model).__name__
        raise RuntimeError(f"{name} ended with code {process.exitcode}") from error
    finally:
        process.terminate()
        process.join()
