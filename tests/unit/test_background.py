"""Background: what was begun comes out once, in whatever process it is asked for."""

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.estimators import _machine_stream
from onkel.estimators._background import Background

SECONDS = 20  # after which nobody waits any more


def in_a_child(work: Callable[[], bytes]) -> bytes:
    """Return what a forked process comes to; nothing, if it ends in another way."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # That there are threads is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(SECONDS)
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found = file.read()
    os.waitpid(child, 0)
    return found


can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def test_a_result_may_be_asked_for_twice() -> None:
    count: list[int] = []
    background = Background(lambda: count.append(1) or len(count))
    assert (background.result(), background.result()) == (1, 1)


def test_it_is_another_thread_which_all_share() -> None:
    found = {Background(threading.get_ident).result() for _ in range(5)}
    assert len(found) == 1
    assert threading.get_ident() not in found


def test_what_was_begun_first_is_done_first() -> None:
    done: list[int] = []
    works = [Background(lambda k=k: done.append(k)) for k in range(20)]
    works[-1].result()
    assert done == list(range(20))


@pytest.mark.parametrize("error", [ValueError, KeyError, MemoryError])
def test_what_went_wrong_is_raised_where_it_is_asked_for(error: Any) -> None:
    def work() -> None:
        raise error("no luck")

    background = Background(work)
    for _ in range(2):
        with pytest.raises(error, match="no luck"):
            background.result()
    assert Background(lambda: "on").result() == "on"


def test_whoever_is_not_done_is_waited_for() -> None:
    may_end = threading.Event()
    background = Background(lambda: may_end.wait(SECONDS))
    threading.Timer(0.05, may_end.set).start()
    assert background.result() is True


@can_fork
def test_a_child_gets_what_its_parent_began() -> None:
    may_end = threading.Event()
    done = Background(lambda: b"done")
    done.result()
    # The thread that is at work now has no place in the child.
    busy = Background(lambda: may_end.wait(SECONDS) and b"busy")
    waiting = Background(lambda: b"waiting")

    def work() -> bytes:
        may_end.set()
        results = [each.result() for each in (done, busy, waiting)]
        return b" ".join([*results, Background(lambda: b"own").result()])

    found = in_a_child(work)
    may_end.set()
    assert found == b"done busy waiting own"
    assert (busy.result(), waiting.result()) == (b"busy", b"waiting")


@can_fork
def test_what_goes_wrong_in_a_child_is_raised_there() -> None:
    background = Background(lambda: 1 // 0)

    def work() -> bytes:
        with pytest.raises(ZeroDivisionError):
            background.result()
        return b"raised"

    assert in_a_child(work) == b"raised"


# ---- of an estimator -----------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(500, 3))
y = X[:, 0] * X[:, 1] > 0.0


def with_work_under_way(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a machine with a re-fit under way, taken at row 404."""
    monkeypatch.setattr(_machine_stream, "PATIENCE", 6)
    monkeypatch.setattr(_machine_stream, "FIRST_ORDER", 300)
    model = onkel.KernelClassifier(budget=24, memory_size=300, random_state=0)
    model.partial_fit(X[:310], y[:310])
    assert model._order is not None
    assert model._background is not None
    return model


def went_on(model: Any) -> np.ndarray:
    model.partial_fit(X[310:], y[310:])
    assert np.isfinite(model.held_out_score_)  # the re-fit was taken
    return model.decision_function(X)


def test_a_pickle_leaves_the_thread_and_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_begin = threading.Event()
    first = Background(lambda: may_begin.wait(SECONDS))
    # It has to wait for another, so that it is surely under way.
    model = with_work_under_way(monkeypatch)
    before, twin = model._background, pickle.loads(pickle.dumps(model))
    may_begin.set()
    assert first.result() is True
    assert "_background" not in vars(twin)
    np.testing.assert_array_equal(went_on(twin), went_on(model))
    assert model._background is not before


@can_fork
def test_a_model_goes_on_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_work_under_way(monkeypatch)
    # In a child compiled code may still be waited for by a thread that is none.
    model._background.result()
    found = in_a_child(lambda: went_on(model).tobytes())
    assert found == went_on(model).tobytes()
