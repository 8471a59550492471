"""A fit that is given up when its time is over, of what learns all rows at once.

Compiled solvers do not look at the clock, so that only another process can be stopped.
"""

import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np


class Fitted(NamedTuple):
    """A model that has learnt, and the seconds of processor time that it took."""

    model: Any
    seconds: float


def _fit(model: Any, X: Any, y: np.ndarray, answer: Connection) -> None:
    start = time.process_time()
    model.fit(X, y)
    answer.send(Fitted(model, time.process_time() - start))


def fit_within(limit: float, model: Any, X: Any, y: np.ndarray) -> Fitted:
    """Fit a model in a process of its own.

    Parameters
    ----------
    limit
        Seconds.
    model
        Unfitted; it is left so.
    X, y
        Rows to learn.

    Raises
    ------
    TimeoutError
        If it takes longer.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_fit, args=(model, X, y, there), daemon=True)
    process.start()
    there.close()
    try:
        # infinity is more than a poll understands
        if not here.poll(None if np.isinf(limit) else limit):
            raise TimeoutError(f"needs more than {limit:.0f} s")
        return here.recv()
    except EOFError as error:
        process.join()
        name = type(model).__name__
        raise RuntimeError(f"{name} ended with code {process.exitcode}") from error
    finally:
        process.terminate()
        process.join()
