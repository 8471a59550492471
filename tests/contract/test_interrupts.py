"""Ctrl-C: a call ends in KeyboardInterrupt, and never in a crash."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onkel

CHILDREN = 80

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.arange(60) % 3


def _endlessly(call: Callable[[], Any]) -> None:
    """In a child: call until an interrupt comes; the status says how that ended."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        while True:
            call()
    except KeyboardInterrupt:
        status = 0
    finally:
        os._exit(status)


@pytest.mark.parametrize("what", ["learn", "predict"])
def test_an_interrupt_at_any_moment_is_an_exception(what: str) -> None:
    model = onkel.RBPClassifier(budget=8, random_state=0).partial_fit(X, Y)
    calls: dict[str, Callable[[], Any]] = {
        "learn": lambda: model.partial_fit(X[:1], Y[:1]),
        "predict": lambda: model.predict(X[:1]),
    }
    calls[what]()  # compiled before anyone forks
    for _ in range(CHILDREN):
        # An interrupt waits until the child is ready for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if child == 0:
            _endlessly(calls[what])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        time.sleep(rng.uniform(0.01, 0.04))
        os.kill(child, signal.SIGINT)
        _, status = os.waitpid(child, 0)
        assert status == 0  # neither a signal nor another exception
