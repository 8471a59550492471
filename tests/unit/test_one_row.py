"""One row at a time is the same walk, and what it cannot take it leaves alone."""

from typing import Any

import numba
import numpy as np
import pytest

import onkel
from onkel.engine import evaluation, passes
from onkel.engine.one_row import OneRow, are_small

ROWS, FEATURES = 80, 3


def begun(**parameters: Any) -> Any:
    """A stream with its first rows; `rest` are those to come."""
    given = {"budget": 12, "gamma": 0.5, "random_state": 0} | parameters
    X, y = rest(0)
    return onkel.RBPClassifier(**given).partial_fit(X[:20], y[:20])


def rest(first: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    return X[first:], (X[:, 0] * X[:, 1] > 0)[first:].astype(int)


def learn(way: OneRow, x: Any, label: int, weight: float = 1.0) -> bool:
    way.x[0] = x
    return way.learn(2.0 * label - 1.0, weight)


def test_rows_are_learnt_and_scored_as_by_the_learner() -> None:
    ours, theirs = begun(), begun()
    way = OneRow(ours._learner)
    for x, label in zip(*rest(20), strict=True):
        way.x[0] = x
        np.testing.assert_array_equal(way.score(), theirs._learner.score(way.x)[0])
        assert learn(way, x, label)
        theirs.partial_fit([x], [label])
    X, _ = rest(0)
    one_by_one = [ours._learner.score(X[t : t + 1])[0] for t in range(ROWS)]
    np.testing.assert_array_equal(way.score_all(X), one_by_one)
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert ours.n_mistakes_ == theirs.n_mistakes_


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled at all")
def test_nothing_is_compiled_anew() -> None:
    model = begun()
    model.predict(rest(0)[0])
    known = [len(code.code.overloads) for code in (passes.learn, evaluation.score)]
    way = OneRow(model._learner)
    learn(way, np.ones(FEATURES), 1)
    way.score()
    now = [len(code.code.overloads) for code in (passes.learn, evaluation.score)]
    assert now == known


def test_a_model_grows_when_it_has_no_room() -> None:
    ours, theirs = begun(budget=10**6), begun(budget=10**6)
    way = OneRow(ours._learner)
    for k in range(100):
        x = np.full(FEATURES, 10.0 * k)  # like no other
        assert learn(way, x, k % 2)
        theirs.partial_fit([x], [k % 2])
    assert ours.model_size_ >= 100  # and the first capacity is 64
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)


@pytest.mark.parametrize("x", [np.nan, np.inf, 1e20, 1e200])
def test_a_row_with_large_numbers_is_left_alone(x: float) -> None:
    model = begun()
    way, before = OneRow(model._learner), model.dual_coef_.copy()
    assert not learn(way, [x, 0.0, 0.0], 1)
    assert not learn(way, [1.0, 0.0, 0.0], 1, weight=np.nan)
    assert not learn(way, [1.0, 0.0, 0.0], 1, weight=-1.0)
    assert not way.learn(np.nan, 1.0)
    assert not way.learn(1e40, 1.0)
    np.testing.assert_array_equal(model.dual_coef_, before)
    assert model.t_ == 20


def test_a_model_with_large_numbers_is_left_alone() -> None:
    model = begun()
    model._learner.model.coef[0, 0] = 1e40
    assert not learn(OneRow(model._learner), np.ones(FEATURES), 1)
    assert not are_small(model._learner.plan._replace(ball=1e40), 1e30)
