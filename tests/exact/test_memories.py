"""KRLS with two memories on the same centres: equal to its oracle, and steady."""

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from onkel.engine.learner import Learner
from onkel.model import spread
from onkel.model.inverse import JITTER
from tests.exact.kernels import gram
from tests.exact.repairs import Repairs
from tests.exact.test_repairs import (
    EARLY,
    GAMMA,
    LATE,
    NEVER,
    ROWS,
    TASKS,
    assert_same,
    learn,
    made,
    one_thread,
    outputs,
    stream,
    wanted,
)

# How much of what was known stays from row to row, in the first and in the second.
MEMORIES = ((1.0, 0.98), (0.98, 0.9), (1.0, 1.0))


@one_thread
def assert_same_posterior(learner: Learner, expected: Repairs, atol: float) -> None:
    """Both memories have the covariances wanted.

    The engine has V, that of R^-1 u where (K + jitter)^-1 = R R'.
    """
    size, belief = len(learner.points), learner.budget
    points = learner.points.astype(np.float64)
    root = learner.model.cache.root[:size, :size]
    back = (gram(points, points, gamma=GAMMA) + JITTER * np.eye(size)) @ root
    # Slots of centres that left are taken in another order.
    here, there = np.lexsort(points.T), np.lexsort(expected.centers.T)
    assert expected.krls.faster is not None
    for m, of in enumerate((expected.krls, expected.krls.faster)):
        found = back @ spread.one_of(belief.spread, m).matrix(size) @ back.T
        np.testing.assert_allclose(
            found[np.ix_(here, here)],
            of.covariance[np.ix_(there, there)],
            rtol=0,
            atol=atol,
        )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("budget", [EARLY, LATE, NEVER])
def test_every_score_is_the_oracles(task: str, budget: int) -> None:
    X, y = stream(task)
    for pruning, (forgetting, faster) in itertools.product(("value", "norm"), MEMORIES):
        own = {
            "budget": budget,
            "pruning": pruning,
            "forgetting": forgetting,
            "faster": faster,
        }
        expected = wanted(task, X, y, **own)
        for repairs, block_size in itertools.product((False, True), (1, 7, 64)):
            learner = made(task, both=repairs, **own)
            scores = learn(learner, task, X, y, block_size=block_size)
            assert scores.shape == (ROWS, (2 + repairs) * outputs(task))
            assert_same(task, learner, scores, expected, X)
            assert_same_posterior(learner, expected, 1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_weights_and_the_form_of_the_rows(task: str) -> None:
    X, y = stream(task, seed=1)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=ROWS)
    weight[0] = 0.0
    for forgetting, faster in MEMORIES:
        own = {"budget": 20, "forgetting": forgetting, "faster": faster}
        expected = wanted(task, X, y, sample_weight=weight, **own)
        for dtype, sparse, repairs, block_size in itertools.product(
            (np.float64, np.float32), (False, True), (False, True), (1, 7, 64)
        ):
            rows: Any = (scipy.sparse.csr_array(X) if sparse else X).astype(dtype)
            learner = made(task, dtype, repairs, **own)
            scores = learn(learner, task, rows, y, weight, block_size)
            assert scores.dtype == dtype
            assert_same(task, learner, scores, expected, X)
            atol = 1e-6 if dtype is np.float64 else 1e-3
            assert_same_posterior(learner, expected, atol)


@pytest.mark.parametrize("task", TASKS)
def test_rows_that_hardly_any_centre_knows(task: str) -> None:
    # Nothing but forgetting happens to the rest where a row is far from all of it.
    X, y = stream(task)
    X = X.copy()
    X[30::10] += np.arange(17)[:, None]
    # Of two rows of equal weight and norm it would be a tie who leaves a budget of 1.
    weight = np.random.default_rng(2).uniform(0.5, 1.5, size=ROWS)
    for threshold, budget in ((2.0, 5), (0.999, 5), (0.0, 1), (0.0, 2)):
        own = {"threshold": threshold, "budget": budget}
        own |= {"forgetting": 0.99, "faster": 0.7}
        expected = wanted(task, X, y, sample_weight=weight, **own)
        learner = made(task, **own)
        scores = learn(learner, task, X, y, weight, block_size=7)
        assert_same(task, learner, scores, expected, X)
        if threshold > 1:
            assert not scores.any()


@pytest.mark.parametrize("task", TASKS)
def test_memories_that_forget_alike_are_one(task: str) -> None:
    X, y = stream(task)
    count = outputs(task)
    for repairs, budget, pruning, lam in itertools.product(
        (False, True), (EARLY, LATE), ("value", "norm"), (1.0, 0.98)
    ):
        own = {"budget": budget, "pruning": pruning, "forgetting": lam}
        both = made(task, both=repairs, faster=lam, **own)
        one = made(task, both=repairs, **own)
        scores, alone = (learn(learner, task, X, y) for learner in (both, one))
        for found, other in ((scores.T, alone.T), (both.coef, one.coef)):
            first, second, rest = np.split(found, [count, 2 * count])
            np.testing.assert_array_equal(first, second)
            np.testing.assert_allclose(first, other[:count], rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(rest, other[count:], rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(both.points, one.points)


@pytest.mark.parametrize("task", TASKS)
def test_memories_do_not_notice_who_repairs(task: str) -> None:
    X, y = stream(task)
    count = 2 * outputs(task)
    for budget, faster in itertools.product((EARLY, LATE), (0.98, 0.8)):
        own = {"budget": budget, "faster": faster}
        learner, alone = made(task, **own), made(task, both=False, **own)
        scores = learn(learner, task, X, y)
        apart = learn(alone, task, X, y)
        np.testing.assert_allclose(scores[:, :count], apart, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(learner.points, alone.points)
        np.testing.assert_allclose(
            learner.coef[:count], alone.coef, rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("task", TASKS)
def test_how_the_rows_are_cut_does_not_matter_to_a_copy(task: str) -> None:
    X, y = stream(task)
    for repairs, budget, cut in itertools.product(
        (False, True), (EARLY, LATE), (1, 90)
    ):
        own = {"budget": budget, "forgetting": 0.98, "faster": 0.9}
        whole, first = (made(task, both=repairs, **own) for _ in range(2))
        scores = learn(whole, task, X, y)
        begun = learn(first, task, X[:cut], y[:cut])
        twin = copy.deepcopy(first)
        rest = learn(twin, task, X[cut:], y[cut:])
        np.testing.assert_allclose(np.vstack([begun, rest]), scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(twin.points, whole.points)
        # The copy's rows were not the other's.
        again = learn(first, task, X[cut:], y[cut:])
        np.testing.assert_array_equal(again, rest)
        np.testing.assert_array_equal(first.coef, twin.coef)


@pytest.mark.parametrize("repairs", [False, True])
@pytest.mark.parametrize("forgetting, faster", [(1.0, 0.999), (0.999, 0.9)])
@pytest.mark.parametrize("gamma", [0.5, 0.01])
def test_both_spreads_stay_covariances(
    forgetting: float, faster: float, gamma: float, repairs: bool
) -> None:
    # A small gamma: all centres are close to each other.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    own = {"budget": EARLY, "threshold": 0.0, "noise": 0.01}
    own |= {"forgetting": forgetting, "faster": faster}
    learner = made("regression", np.float32, repairs, gamma=gamma, **own)
    for first in range(0, len(X), 50_000):
        some = slice(first, first + 50_000)
        scores = learn(learner, "regression", X[some], y[some])
        assert np.isfinite(scores).all()
        size, belief = len(learner.points), learner.budget
        assert size == EARLY
        for m in range(2):
            V = spread.one_of(belief.spread, m).matrix(size)
            eigenvalues = np.linalg.eigvalsh(V)
            assert eigenvalues.min() > 0.0
            assert eigenvalues.max() <= 1.0 + 1e-3
