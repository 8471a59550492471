"""The linear problem on explicit features, solved in its dual, a row at a time.

    min_w  1/2 |w|^2 + sum_i C_i l(<w, z_i>, y_i)

A visit of row i takes the best step along its dual variable (`problem.dual_steps`), and
w moves with it. Most variables soon stay where they are, mostly at a bound: a row that
hardly moved rests for one pass, then for three, for seven, and so on. When no row that
was visited violates its optimality by more than the tolerance, all are visited once
more; if none does then, the problem is solved. The last pass allowed visits all.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, jit
from onkel.problem import dual_steps
from onkel.problem.losses import Loss

LONGEST_REST = 127  # passes
# Share of the tolerance below which a row hardly moves. Not 0: whether a row moves at
# all may be rounding, and dense and sparse rows are to have the same solution.
HARDLY = 0.01


class Problem(NamedTuple):
    """What is to be solved."""

    loss: Loss
    Z: Any  # shape (rows, features)
    y: Any  # shape (rows,), float64
    C: Any  # shape (rows,), float64
    squares: Any  # shape (rows,), float64: |z_i|^2
    hardly: float  # a violation that is next to none


class State(NamedTuple):
    """How far it has come."""

    w: Any  # shape (features,), float64
    dual: Any  # shape (rows,), float64
    rest: Any  # shape (rows,): passes for which a row rests
    due: Any  # shape (rows,): the pass that visits it next


class Solution(NamedTuple):
    """What was found, and how."""

    w: np.ndarray
    passes: int
    violation: float  # the largest, in the last pass; of a margin or a target


@inner
def _score(z: Any, w: Any) -> float:
    total = 0.0
    for k in range(len(w)):
        total += z[k] * w[k]
    return total


@inner
def _add(w: Any, weight: float, z: Any) -> None:
    for k in range(len(w)):
        w[k] += weight * z[k]


@jit
def _sweep(problem: Problem, state: State, order: Any, now: int) -> float:
    """Visit rows in the given order; return the largest violation."""
    loss, violation = problem.loss, 0.0
    for i in order:
        z, y, C, old = problem.Z[i], problem.y[i], problem.C[i], state.dual[i]
        new = dual_steps.best(loss, _score(z, state.w), y, old, problem.squares[i], C)
        own = abs(new - old) * problem.squares[i]
        if new != old:
            state.dual[i] = new
            _add(state.w, dual_steps.moved(loss, y, new - old), z)
        rests = own <= problem.hardly
        state.rest[i] = min(2 * state.rest[i] + 1, LONGEST_REST) if rests else 0
        state.due[i] = now + 1 + state.rest[i]
        violation = max(violation, own)
    return violation


def solve(
    loss: Loss,
    Z: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> Solution:
    """Find the weights of the features.

    Parameters
    ----------
    loss
        One that has a dual step.
    Z
        Features, a row each.
    y
        Targets, 1 and -1 for classes.
    C
        Weights of the losses; a row of weight 0 does not count.
    tol
        Largest violation of a margin, or of a target, that counts as none.
    max_iter
        Passes, at most.
    rng
        Generator of the orders.

    Examples
    --------
    >>> from onkel.problem import losses
    >>> Z, y = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> rng, hinge = np.random.default_rng(0), losses.make("hinge")
    >>> solve(hinge, Z, y, np.full(2, 9.0), tol=1e-6, max_iter=50, rng=rng).w
    array([ 1. , -0.5])
    """
    counted = np.flatnonzero(C > 0)
    squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    targets, weights = y.astype(np.float64), C.astype(np.float64)
    problem = Problem(loss, Z, targets, weights, squares, HARDLY * tol)
    rows, features = Z.shape
    rest, due = np.zeros(rows, np.int64), np.full(rows, max_iter)
    state = State(np.zeros(features), np.zeros(rows), rest, due)
    state.due[counted] = 0
    violation = np.inf
    for now in range(max_iter):
        if now == max_iter - 1:  # so that it ends with what all rows say
            state.due[counted] = 0
        due = np.flatnonzero(state.due <= now)
        violation = _sweep(problem, state, rng.permutation(due), now)
        if violation <= tol:
            if len(due) == len(counted):
                return Solution(state.w, now + 1, violation)
            state.due[counted] = 0
    return Solution(state.w, max_iter, violation)
