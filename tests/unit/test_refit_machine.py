"""A kernel machine: repeatable, does as it is told, honest of its own error."""

import zlib
from typing import Any

import numpy as np
import pytest

from onkel.problem import losses
from onkel.refit.fitter import Solution
from onkel.refit.held_out import Targets
from onkel.refit.machine import Request, fit
from tests.exact import refit
from tests.exact.kernels import gram

TESTED = 4000


def find(X: Any, targets: Targets, gamma: float, budget: int) -> np.ndarray:
    """Some of the rows."""
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(X)))
    return X[rng.permutation(len(X))[:budget]]


def simulate(rows: int, kind: str, seed: int) -> tuple[np.ndarray, Targets]:
    """Two features, and targets that they do not quite say."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)).astype(np.float32)
    hidden = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=rows)
    if kind == "regression":
        y, outputs, loss = hidden.astype(np.float64), 1, "squared_error"
    elif kind == "binary":
        y, outputs, loss = np.where(hidden > 0.3, 1.0, -1.0), 1, "squared_hinge"
    else:
        y, outputs, loss = np.digitize(hidden, [-0.7, 0.9]) * 1.0, 3, "squared_hinge"
    made = losses.make(loss)
    return X, Targets(y, np.ones(rows), outputs, made, kind == "regression")


def fitted(
    X: np.ndarray, targets: Targets, request: Request, seed: int = 0
) -> Solution:
    return fit(find, X, targets, request, 0.5, np.random.default_rng(seed))


def scores(machine: Solution, X: np.ndarray) -> np.ndarray:
    rows = X * machine.relevance
    return gram(rows, machine.points, gamma=machine.gamma) @ machine.coef.T


def error(machine: Solution, X: np.ndarray, targets: Targets) -> float:
    """Share of mistakes, or root mean squared error."""
    f = scores(machine, X)
    if targets.is_regression:
        return float(np.sqrt(np.mean((f[:, 0] - targets.y) ** 2)))
    if targets.outputs == 1:
        return float(np.mean(np.where(f[:, 0] > 0.0, 1.0, -1.0) != targets.y))
    return float(np.mean(f.argmax(axis=1) != targets.y))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("budget", [30, None], ids=["given", "auto"])
def test_the_same_seed_gives_the_same_bits(kind: str, budget: int | None) -> None:
    X, targets = simulate(400, kind, 0)
    one, two = (fitted(X, targets, Request(budget)) for _ in range(2))
    assert (one.gamma, one.C, one.error) == (two.gamma, two.C, two.error)
    assert np.array_equal(one.points, two.points)
    assert np.array_equal(one.coef, two.coef)
    assert one.slopes is None or np.array_equal(one.slopes, two.slopes)
    assert (one.slopes is None) == targets.is_regression
    assert one.coef.shape == (targets.outputs, len(one.points))
    assert budget is None or len(one.points) == budget


@pytest.mark.parametrize("rows", [400, 7000])
@pytest.mark.parametrize("gamma", [0.7, None])
@pytest.mark.parametrize(
    "C",
    [
        3.0,
        None,
    ],
)
def test_what_is_given_is_used(rows: int, gamma: float | None, C: float | None) -> None:
    X, targets = simulate(rows, "binary", 1)
    machine = fitted(X, targets, Request(30, gamma, C))
    assert gamma is None or machine.gamma == gamma
    assert C is None or machine.C == C
    # The coefficients are those of all rows, for the gamma and C that it says.
    problem = refit.problem(
        X * machine.relevance,
        machine.points,
        targets.y,
        targets.weight,
        C=machine.C,
        outputs=1,
        loss="squared_hinge",
        gamma=machine.gamma,
    )
    least = problem.objective(refit.solve(problem, start=machine.coef))
    assert problem.objective(machine.coef) <= 1.01 * least


@pytest.mark.parametrize(
    ("kind", "rows", "sets"),
    [
        ("binary", 400, 20),
        ("multiclass", 400, 8),
        ("regression", 400, 8),
        ("binary", 7000, 5),
        ("multiclass", 7000, 5),
        ("regression", 7000, 5),
    ],
)
def test_the_error_of_rows_held_out_is_honest(kind: str, rows: int, sets: int) -> None:
    differences = []
    for seed in range(sets):
        X, targets = simulate(rows + TESTED, kind, 100 + seed)
        new = np.arange(rows, rows + TESTED)
        machine = fitted(X[:rows], targets.part(np.arange(rows)), Request(30), seed)
        differences.append(machine.error - error(machine, X[new], targets.part(new)))
    spread = np.std(differences, ddof=1) / np.sqrt(sets)
    assert abs(np.mean(differences)) < 3.0 * spread
