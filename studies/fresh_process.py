"""A process of its own for a measurement: its memory is that of the work alone."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def in_fresh_process(measure: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of a module gives in a fresh process."""
    # A fork would begin with the free memory of this process, and hide growth.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *given).result()
