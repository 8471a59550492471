"""Threads: ours do not fight with those of BLAS, and none stay behind."""

import threading
from typing import Any

import numpy as np
import threadpoolctl

from onkel.engine.threads import Team, blas_in_one_thread
from onkel.refit.held_out import Targets
from onkel.refit.machine import Request, fit
from tests.unit.test_refit_machine import find, simulate


def blas_threads() -> set[int]:
    info = threadpoolctl.threadpool_info()
    return {found["num_threads"] for found in info if found["user_api"] == "blas"}


def test_blas_has_one_thread_in_all_of_a_fit() -> None:
    X, task = simulate(7000, "binary", 0)
    seen: set[int] = set()

    def looking(X: Any, task: Targets, gamma: float, budget: int) -> np.ndarray:
        seen.update(blas_threads())
        return find(X, task, gamma, budget)

    def announce(text: str) -> None:
        seen.update(blas_threads())

    with threadpoolctl.threadpool_limits(2):
        before, running = blas_threads(), threading.active_count()
        fit(
            looking,
            X,
            task,
            Request(30, n_jobs=2),
            0.5,
            np.random.default_rng(0),
            announce,
        )
        assert blas_threads() == before
    assert seen == {1}
    assert threading.active_count() == running


def test_whoever_leaves_last_gives_the_threads_of_blas_back() -> None:
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        inside, leave = threading.Event(), threading.Event()

        def other() -> None:
            with blas_in_one_thread:
                inside.set()
                leave.wait()

        thread = threading.Thread(target=other)
        with blas_in_one_thread:
            thread.start()
            inside.wait()
        assert blas_threads() == {1}
        leave.set()
        thread.join()
        assert blas_threads() == before


def test_a_team_of_one_needs_no_thread() -> None:
    running, parts = threading.active_count(), []
    with Team(1) as team:
        team.share(5, parts.append)
        assert threading.active_count() == running
    assert parts == [(0, 5)]
