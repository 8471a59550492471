"""Steps in the dual, against the dual itself on a problem of six rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel.problem import dual_steps, losses
from tests.unit.hand_made import linear, rbf

FEW = settings(max_examples=200, deadline=None, derandomize=True)
LOSSES = [losses.make(name) for name in dual_steps.MARGIN]
LOSSES += [losses.make(name, epsilon=0.2) for name in dual_steps.RESIDUAL]
each_loss = pytest.mark.parametrize(
    "loss", LOSSES, ids=dual_steps.MARGIN + dual_steps.RESIDUAL
)
HINGE, SQUARED_HINGE, TUBE, SQUARED = (loss.kind for loss in LOSSES)
FAR = 60.0  # stands for no bound


class Problem:
    """Six rows, their Gram matrix, targets and C; the first row may be empty."""

    def __init__(self, loss: losses.Loss, seed: int, *, empty: bool = False) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6, 2))
        X[0] *= not empty
        self.loss, self.K = loss, linear(X, X) if empty else rbf(X, X)
        self.margin = loss.kind in (HINGE, SQUARED_HINGE)
        self.y = np.sign(X[:, 0] + 1e-9) if self.margin else 2 * rng.normal(size=6)
        self.C = rng.uniform(0.1, 5.0, size=6)
        low, high = self.range(self.C)
        self.a = rng.uniform(np.maximum(low, -3.0), np.minimum(high, 3.0))

    def range(self, C: Any) -> tuple[Any, Any]:
        """Least and largest value of a dual variable."""
        low = {HINGE: 0.0, SQUARED_HINGE: 0.0, TUBE: -C}.get(self.loss.kind, -FAR)
        high = C if self.loss.kind in (HINGE, TUBE) else FAR
        return low + 0 * C, high + 0 * C

    def signed(self, a: np.ndarray) -> np.ndarray:
        return a * self.y if self.margin else a

    def f(self, a: np.ndarray) -> np.ndarray:
        return self.K @ self.signed(a)

    def dual(self, a: np.ndarray) -> float:
        """Return sum_i of minus the conjugate losses, minus |w|^2 / 2."""
        total = a.sum() if self.margin else a @ self.y
        if self.loss.kind in (SQUARED_HINGE, SQUARED):
            total -= (a**2 / (2 * self.C)).sum()
        if self.loss.kind == TUBE:
            total -= self.loss.epsilon * np.abs(a).sum()
        return float(total - self.signed(a) @ self.f(a) / 2)

    def primal(self, a: np.ndarray) -> float:
        f = self.f(a)
        lost = [losses.value(self.loss, *pair) for pair in zip(f, self.y, strict=True)]
        return float(self.signed(a) @ f / 2 + self.C @ lost)

    def best(self, a: np.ndarray, i: int) -> float:
        f, kxx = self.f(a)[i], self.K[i, i]
        return dual_steps.best(self.loss, f, self.y[i], a[i], kxx, self.C[i])

    def with_step(self, a: np.ndarray, i: int, value: float) -> np.ndarray:
        return np.where(np.arange(6) == i, value, a)


@each_loss
@pytest.mark.parametrize("empty", [False, True], ids=["rows", "an empty row"])
def test_the_best_step_is_the_best_of_a_grid(loss: losses.Loss, empty: bool) -> None:
    for seed in range(8):
        problem = Problem(loss, seed, empty=empty)
        for i in range(6):
            new = problem.best(problem.a, i)
            low, high = problem.range(problem.C[i])
            assert low <= new <= high
            reached = problem.dual(problem.with_step(problem.a, i, new))
            near = np.clip(new + np.linspace(-0.01, 0.01, 21), low, high)
            for value in (*np.linspace(low, high, 201), *near):
                other = problem.dual(problem.with_step(problem.a, i, value))
                assert other <= reached + 1e-9


@each_loss
@FEW
@given(
    seed=st.integers(0, 99),
    i=st.integers(0, 5),
    to=st.floats(0, 1),
    empty=st.booleans(),
)
def test_the_gain_is_the_difference_of_the_dual(
    loss: losses.Loss, seed: int, i: int, to: float, empty: bool
) -> None:
    problem = Problem(loss, seed, empty=empty)
    a = problem.a
    low, high = (float(np.clip(end, -4, 4)) for end in problem.range(problem.C[i]))
    new = low + to * (high - low)
    gained = dual_steps.gain(
        *(loss, problem.f(a)[i], problem.y[i], a[i]), new, problem.K[i, i], problem.C[i]
    )
    there = problem.dual(problem.with_step(a, i, new))
    assert gained == pytest.approx(there - problem.dual(a), abs=1e-9)


@each_loss
def test_the_shares_of_the_rows_sum_to_the_dual(loss: losses.Loss) -> None:
    for seed in range(8):
        problem = Problem(loss, seed)
        rows = zip(problem.f(problem.a), problem.y, problem.a, problem.C, strict=True)
        total = sum(dual_steps.share(loss, *row) for row in rows)
        assert total == pytest.approx(problem.dual(problem.a))


@each_loss
def test_a_step_moves_the_coefficient_by_itself_with_the_sign_of_the_class(
    loss: losses.Loss,
) -> None:
    sign = -1.0 if loss.kind in (HINGE, SQUARED_HINGE) else 1.0
    assert dual_steps.moved(loss, -1.0, 0.3) == sign * 0.3
    assert dual_steps.moved(loss, 1.0, 0.3) == 0.3


@each_loss
def test_climbing_to_the_top_closes_the_gap(loss: losses.Loss) -> None:
    # The ranges and the constants are right only if primal and dual meet.
    problem = Problem(loss, 3)
    a = np.zeros(6)
    for _ in range(300):
        for i in range(6):
            a[i] = problem.best(a, i)
    assert problem.primal(a) == pytest.approx(problem.dual(a), rel=1e-9)


@each_loss
def test_at_the_top_no_step_is_left(loss: losses.Loss) -> None:
    problem = Problem(loss, 4)
    new = problem.best(problem.a, 2)
    there = problem.with_step(problem.a, 2, new)
    assert problem.best(there, 2) == pytest.approx(new, abs=1e-12)
