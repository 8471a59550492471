"""Ctrl-C: a call ends in KeyboardInterrupt, and never in a crash."""

import copy
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onkel

CHILDREN, INTERRUPTS = 4, 20

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.arange(60) % 3

CALLS: dict[str, Callable[[Any], Any]] = {
    "learn": lambda model: model.partial_fit(X[:1], Y[:1]),
    "predict": lambda model: model.predict(X[:1]),
}


def _endlessly(call: Callable[[Any], Any], model: Any, told: int) -> None:
    """In a child: call until an interrupt comes, and say so; again and again.

    Forking takes longer than a call, so that a child is interrupted several times.
    """
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for _ in range(INTERRUPTS):
            mine = copy.deepcopy(model)
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
                while True:
                    call(mine)
            except KeyboardInterrupt:
                # Another comes when this one has been told of.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                os.write(told, b".")
        status = 0
    finally:
        os._exit(status)


@pytest.mark.parametrize("what", CALLS)
def test_an_interrupt_at_any_moment_is_an_exception(what: str) -> None:
    model = onkel.RBPClassifier(budget=8, random_state=0).partial_fit(X, Y)
    CALLS[what](model)  # compiled before anyone forks
    for _ in range(CHILDREN):
        heard, told = os.pipe()
        # An interrupt waits until the child is ready for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if child == 0:
            _endlessly(CALLS[what], model, told)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.close(told)
        for _ in range(INTERRUPTS):
            time.sleep(rng.uniform(0.01, 0.04))
            os.kill(child, signal.SIGINT)
            if os.read(heard, 1) != b".":
                break  # it died, and its status says of what
        os.close(heard)
        _, status = os.waitpid(child, 0)
        assert status == 0  # neither a signal nor another exception
