"""A second learner on the centres of KRLS: equal to its oracle, and no burden to it."""

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_limits

from onkel.engine import posterior
from onkel.engine.learner import Learner, Shape
from onkel.engine.recipe import Recipe
from onkel.engine.recursive_plan import RecursivePlan, Repair
from onkel.problem import kernels, losses, rates, steps
from tests.exact import bpa, repairs
from tests.exact.kernels import gram

GAMMA, EPSILON, ROWS = 0.5, 0.1, 200
TASKS = {"binary": 2, "multiclass": 3, "regression": None}
# Full after a few rows, after two thirds of them, and never.
EARLY, LATE, NEVER = 12, 60, 300
# For what is compared: threads mostly wait for each other over matrices this small.
one_thread = threadpool_limits.wrap(limits=1)
GIVEN: dict[str, Any] = {
    "gamma": GAMMA,
    "budget": EARLY,
    "C": 0.5,
    "noise": 0.1,
    "forgetting": 1.0,
    "faster": None,
    "threshold": 0.01,
    "pruning": "value",
}


def stream(task: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows that single precision has, too; some come again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3)).astype(np.float32).astype(np.float64)
    X[50::20] = X[40:-10:20]
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=ROWS)
    classes = TASKS[task]
    if classes is None:
        return X, f
    return X, np.searchsorted(np.quantile(f, np.arange(1, classes) / classes), f)


def outputs(task: str) -> int:
    return TASKS[task] if task == "multiclass" else 1


@one_thread
def wanted(task: str, X: Any, y: np.ndarray, **own: Any) -> repairs.Repairs:
    given = {**GIVEN, "epsilon": EPSILON, **own}
    return repairs.run(X, y, TASKS[task], **given)


def made(task: str, dtype: Any = np.float64, both: bool = True, **own: Any) -> Learner:
    given = {**GIVEN, **own}
    regression, twice = task == "regression", given["faster"] is not None
    loss = losses.make("epsilon_insensitive" if regression else "hinge", EPSILON)
    plan = RecursivePlan(
        kernels.make("rbf", given["gamma"], 1, 0.0),
        losses.make("squared_error"),
        rates.constant(),
        False,
        given["noise"],
        given["forgetting"],
        given["threshold"],
        labels=not regression,
        by_norm=given["pruning"] == "norm",
        repair=Repair(loss, steps.passive_aggressive(given["C"]), both),
        **({"faster": given["faster"]} if twice else {}),
    )
    shape = Shape((1 + twice + both) * outputs(task), 3, dtype)
    recipe = Recipe(plan, posterior.make(given["budget"], memories=1 + twice))
    return Learner(recipe, shape, np.random.default_rng(0))


def learn(
    learner: Learner,
    task: str,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    block_size: int = 64,
) -> np.ndarray:
    """Progressive scores, shape (rows, outputs of all who learn)."""
    told = np.asarray(2 * y - 1 if task == "binary" else y, dtype=np.float64)
    weight = np.ones(len(y)) if weight is None else weight
    return np.concatenate(list(learner.learn(X, told, weight, None, block_size)))


@one_thread
def assert_same(
    task: str,
    learner: Learner,
    scores: np.ndarray,
    expected: repairs.Repairs,
    Z: np.ndarray,
) -> None:
    """All who learn gave these scores, and have the centres and functions wanted.

    They are KRLS, its second memory if it has one, and who repairs if it is there.
    """
    np.testing.assert_array_equal(
        np.unique(learner.points.astype(np.float64), axis=0),
        np.unique(expected.centers, axis=0),
    )
    assert len(learner.points) == len(expected.centers)
    found = gram(Z, learner.points, gamma=GAMMA) @ learner.coef.T
    own = gram(Z, expected.centers, gamma=GAMMA)
    of_krls = [expected.krls]
    if expected.krls.faster is not None:
        of_krls.append(expected.krls.faster)
    # Coefficients of the other are kept, so Q magnifies no errors of values at centres.
    told = [*((of, 2e-6) for of in of_krls), (expected, 1e-9)]
    count = outputs(task)
    found, scores = (a.reshape(len(a), -1, count) for a in (found, scores))
    present = scores.shape[1]
    assert found.shape[1] == present >= len(of_krls)
    for part, (of, atol) in enumerate(told[:present]):
        atol = atol if learner.dtype == np.float64 else 1e-3
        atol *= max(1.0, np.abs(of.scores).max())
        np.testing.assert_allclose(scores[:, part], of.scores, rtol=0, atol=atol)
        np.testing.assert_allclose(found[:, part], own @ of.coef.T, rtol=0, atol=atol)


# ---- the oracle


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_is_passive_aggressive_while_every_row_is_a_centre(
    task: str,
) -> None:
    X, y = stream(task)
    X, y = X[:50], y[:50]
    own = {"gamma": GAMMA, "C": 0.5, "epsilon": EPSILON, "budget": None}
    plain = bpa.run(X, y, n_classes=TASKS[task], **own)
    found = wanted(task, X, y, budget=None, threshold=0.0)
    assert len(found.centers) == 50
    np.testing.assert_allclose(found.scores, plain.scores, rtol=0, atol=1e-12)
    assert plain.n_updates > 20


# ---- the engine


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("budget", [EARLY, LATE, NEVER])
def test_every_score_is_the_oracles(task: str, budget: int) -> None:
    X, y = stream(task)
    for pruning, (forgetting, C) in itertools.product(
        ("value", "norm"), ((1.0, 0.5), (0.98, 5.0))
    ):
        own = {"budget": budget, "pruning": pruning, "forgetting": forgetting, "C": C}
        expected = wanted(task, X, y, **own)
        for block_size in (1, 7, 64):
            learner = made(task, **own)
            scores = learn(learner, task, X, y, block_size=block_size)
            assert_same(task, learner, scores, expected, X)


@pytest.mark.parametrize("task", TASKS)
def test_weights_and_the_form_of_the_rows(task: str) -> None:
    X, y = stream(task, seed=1)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=ROWS)
    weight[0] = 0.0
    own = {"budget": 20, "forgetting": 0.98}
    expected = wanted(task, X, y, sample_weight=weight, **own)
    for dtype, sparse, block_size in itertools.product(
        (np.float64, np.float32), (False, True), (1, 7, 64)
    ):
        rows: Any = (scipy.sparse.csr_array(X) if sparse else X).astype(dtype)
        learner = made(task, dtype, **own)
        scores = learn(learner, task, rows, y, weight, block_size)
        assert scores.dtype == dtype
        assert_same(task, learner, scores, expected, X)


@pytest.mark.parametrize("task", TASKS)
def test_rows_that_hardly_any_centre_knows(task: str) -> None:
    # Their projections are short, so a step may be long, or there is nothing to move.
    X, y = stream(task)
    X = X.copy()
    X[30::10] += np.arange(17)[:, None]
    # Of two rows of equal weight and norm it would be a tie who leaves a budget of 1.
    weight = np.random.default_rng(2).uniform(0.5, 1.5, size=ROWS)
    for threshold, budget in ((2.0, 5), (0.999, 5), (0.0, 1), (0.0, 2)):
        for C in (0.1, 1e3):
            own = {"threshold": threshold, "budget": budget, "C": C}
            expected = wanted(task, X, y, sample_weight=weight, **own)
            learner = made(task, **own)
            scores = learn(learner, task, X, y, weight, block_size=7)
            assert_same(task, learner, scores, expected, X)
            if threshold > 1:
                assert not scores.any()


@pytest.mark.parametrize("task", TASKS)
def test_krls_is_what_it_is_without_the_second(task: str) -> None:
    X, y = stream(task)
    count = outputs(task)
    for own in ({"budget": EARLY}, {"budget": LATE, "forgetting": 0.98}):
        learner, alone = made(task, **own), made(task, both=False, **own)
        scores = learn(learner, task, X, y)
        apart = learn(alone, task, X, y)
        assert apart.shape == (ROWS, count)
        np.testing.assert_allclose(scores[:, :count], apart, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(learner.points, alone.points)
        np.testing.assert_allclose(
            learner.coef[:count], alone.coef, rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("task", TASKS)
def test_how_the_rows_are_cut_does_not_matter_to_a_copy(task: str) -> None:
    X, y = stream(task)
    for budget, cut in itertools.product((EARLY, LATE), (1, 90)):
        whole, first = made(task, budget=budget), made(task, budget=budget)
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
