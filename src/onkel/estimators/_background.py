"""Background: work that goes on beside a stream, in a thread of its own.

What is learnt must not depend on how fast a machine is. So such work is a function of
what it was given alone, and its result is asked for at a row that was settled before it
began: whoever is not done by then is waited for.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

# One thread for all models of a process, which is begun when there is work.
_threads: dict[int, ThreadPoolExecutor] = {}


class Background:
    """Some work, begun; `result` waits for it.

    Examples
    --------
    >>> Background(lambda: 6 * 7).result()
    42
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        # After a fork there is no thread, and its number is another's.
        self.process, self.work = os.getpid(), work
        if self.process not in _threads:
            _threads[self.process] = ThreadPoolExecutor(1, "onkel")
        self.future: Future = _threads[self.process].submit(work)

    def result(self) -> Any:
        """Return what came out, or raise what went wrong."""
        if self.process == os.getpid():
            return self.future.result()
        return self.work()
