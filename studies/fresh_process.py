"""A process of its own for a measurement: its memory is that of the work alone."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def in_fresh_process(measure: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of a module gives in a fresh process."""
    # A fork of this process would begin with its free memory, and hide growth; one of
    # a server that has done nothing but import that module begins at once, and has not.
    context = get_context("forkserver")
    context.set_forkserver_preload([measure.__module__])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, *given).result()
