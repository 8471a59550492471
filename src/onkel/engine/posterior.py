"""Posterior: what is known of a function by its values at the centres.

A mean for each output, and a covariance that all share, in the coordinates of the root
of the inverse Gram matrix (`onkel.model.inverse`), in which the prior is the standard
normal distribution. It may be known twice, by a memory that forgets slowly and one that
forgets faster, each with means and a covariance of its own. `onkel.engine.recursive`
says how a row changes it. Here is what it consists of, what it says of other rows, and
what it remembers of its errors: how wide they were for their variance (`misfit`), and
how steep log-odds are over scores (`slope`). Both are from before each row was learnt,
and of the slow memory.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import refuse_nonsense, relabelled, resized
from onkel.compiled.functions import inner, shared
from onkel.engine import evaluation
from onkel.engine.threads import blas_in_one_thread
from onkel.model.growing import enlarged
from onkel.model.inverse import Inverse, inverse_diagonal
from onkel.model.ranges import WORK, finite, not_negative, positive
from onkel.model.rows import beside, order_for, rows_of
from onkel.model.spread import TOGETHER, Spread, one_of, piled
from onkel.model.state import Model
from onkel.problem.kernels import Kernel, diagonal

# Of log-odds over scores: where they begin, as one row may have it, and how far they
# may go.
FIRST_SLOPE, FLATTEST, STEEPEST = 2.0, 1e-2, 1e2

TALLY = np.dtype(
    [
        ("rows", np.float64),  # scores that had a weight, as far as not forgotten
        ("misfit", np.float64),  # sum of their e^2 / var_y, likewise
        ("slope", np.float64),  # of log-odds over scores
        ("curvature", np.float64),  # of the log-loss in it, likewise
    ],
    align=True,
)
BUNCH = np.dtype(
    [
        ("first", np.int64),  # of the rows in a bunch, by its number in the block
        ("rows", np.int64),  # how many; none once a centre has come or left
        ("shared", np.int64),  # whether their shares and gains are known, too
        ("measured", np.int64),  # whether the diagonal is that of the root
        ("known", np.int64),  # whether coefficients are those of mean and root
    ],
    align=True,
)


@strategy(
    cache=Inverse,
    newcomer=True,
    looks_ahead=True,
    ranges={
        "mean": finite,
        "coef": WORK,
        "diagonal": WORK,
        "cost": WORK,
        "answers": WORK,
        "shares": WORK,
        "gains": WORK,
        "errors": WORK,
        "shrink": WORK,
        "bunch.first": WORK,
        "bunch.rows": WORK,
        "bunch.shared": WORK,
        "bunch.measured": WORK,
        "bunch.known": WORK,
        "tally.rows": not_negative,
        "tally.misfit": not_negative,
        "tally.slope": positive,
        "tally.curvature": positive,
    },
)
class Posterior(NamedTuple):
    """What is known of the function, on a hard budget; `make` constructs it."""

    limit: int
    mean: Any  # m, shape (outputs, capacity), float64: those of each memory in turn
    spread: Spread  # V of each memory, piled
    coef: Any  # R m, shape (outputs, capacity), float64
    diagonal: Any  # of K^-1, shape (capacity,), float64
    cost: Any  # of doing without a centre, likewise
    answers: Any  # V z of the bunch, shape (memories, TOGETHER, capacity), float64
    shares: Any  # R z, shape (TOGETHER, capacity), float64
    gains: Any  # R V z, as answers
    errors: Any  # e / var_y, shape (outputs,), float64
    shrink: Any  # 1 / var_y, shape (memories,), float64
    bunch: Any  # shape (1,), of BUNCH
    tally: Any  # shape (1,), of TALLY


def make(limit: int, memories: int = 1) -> Posterior:
    """Make the posterior of no rows, known so many times.

    Examples
    --------
    >>> make(limit=10).tally[0].rows.item()
    0.0
    """
    tally = np.zeros(1, TALLY).view(np.recarray)
    tally.slope, tally.curvature = FIRST_SLOPE, 1.0
    square, line = np.zeros((0, 0)), np.zeros(0)
    cube, spread = np.zeros((memories, 0, 0)), piled([Spread.empty(0)] * memories)
    return Posterior(
        *(limit, square, spread, square, line, line),
        *(cube, square, cube, line, np.zeros(memories)),
        np.zeros(1, BUNCH).view(np.recarray),
        tally,
    )


@resized.register
def _resized(belief: Posterior, model: Model) -> Posterior:
    (outputs, capacity), size = model.coef.shape, int(model.counters[0].count)
    memories = len(belief.answers)
    cube = memories, TOGETHER, capacity
    spreads = [one_of(belief.spread, m) for m in range(memories)]
    return belief._replace(
        mean=enlarged(belief.mean[:, :size], outputs, capacity),
        spread=piled([spread.resized(size, capacity) for spread in spreads]),
        coef=np.zeros((outputs, capacity)),
        diagonal=np.zeros(capacity),
        cost=np.zeros(capacity),
        answers=np.zeros(cube),
        shares=np.zeros(cube[1:]),
        gains=np.zeros(cube),
        errors=np.zeros(outputs),
    )


@relabelled.register
def _relabelled(belief: Posterior, matrix: np.ndarray) -> Posterior:
    """Map the outputs by a matrix (new x old); see `state.relabelled`."""
    return belief._replace(
        mean=np.ascontiguousarray(matrix @ belief.mean),
        coef=np.zeros((len(matrix), belief.coef.shape[1])),
        errors=np.zeros(len(matrix)),
    )


@refuse_nonsense.register
def _refuse_nonsense(belief: Posterior, model: Model) -> None:
    for m in range(len(belief.answers)):
        one_of(belief.spread, m).refuse_nonsense(int(model.counters[0].count))


# Compiled on its own, because within a walk loops over a matrix come out slower.
@shared
def _combine(turned: Any, mean: Any, coef: Any) -> None:
    """Compute root m of each output."""
    size = mean.shape[1]
    coef[:] = 0.0
    for k in range(size):
        own = turned[k]
        for o in range(len(mean)):
            value, out = mean[o, k], coef[o]
            for i in range(size):
                out[i] += value * own[i]


@inner
def know(belief: Posterior, model: Model) -> None:
    """Let coefficients be those of the mean and the root."""
    size = model.counters[0].count
    if not belief.bunch[0].known:
        turned = model.cache.root.T[:size]
        _combine(turned, belief.mean[:, :size], belief.coef[:, :size])
        belief.bunch[0].known = 1


@inner
def measure(belief: Posterior, model: Model) -> None:
    """Let the diagonal be that of K^-1."""
    if not belief.bunch[0].measured:
        inverse_diagonal(model.cache, model.counters[0].count, belief.diagonal)
        belief.bunch[0].measured = 1


@inner
def note(
    belief: Posterior,
    y: float,
    f: Any,
    var_y: float,
    weight: float,
    forgetting: float,
    labels: bool,
) -> None:
    """Compare the slow memory's scores of a row with what it is, before it learns.

    The slope is that of logistic regression on one feature, by Newton's steps: a row's
    part in gradient and curvature, over the sum of curvatures.
    """
    tally, outputs = belief.tally[0], len(f)
    tally.rows = forgetting * tally.rows + outputs
    tally.misfit *= forgetting
    for o in range(outputs):
        tally.misfit += belief.errors[o] * belief.errors[o] * var_y
    if not labels:
        return
    if outputs == 1:
        score = y * f[0]
        doubt = 1.0 / (1.0 + math.exp(min(tally.slope * score, 500.0)))
        pull, bend = score * doubt, score * score * doubt * (1.0 - doubt)
    else:
        largest = f[0]
        for o in range(1, outputs):
            largest = max(largest, f[o])
        total, first, second = 0.0, 0.0, 0.0
        for o in range(outputs):
            score = f[o] - largest
            chance = math.exp(max(tally.slope * score, -500.0))
            total += chance
            first += chance * score
            second += chance * score * score
        first /= total
        pull = f[int(y)] - largest - first
        bend = second / total - first * first
    tally.curvature = forgetting * tally.curvature + weight * bend
    # What forgetting leaves must still steady the step.
    step = weight * pull / max(tally.curvature, 1.0)
    tally.slope = min(max(tally.slope + step, FLATTEST), STEEPEST)


# Rows whose variances are found at a time.
TILE = 256


def variances(kernel: Kernel, belief: Posterior, model: Model, X: Any) -> np.ndarray:
    """Find the variances of the function at some rows: r2 + z'V z of each."""
    size = int(model.counters[0].count)
    root = np.ascontiguousarray(model.cache.root[:size, :size])
    spread = one_of(belief.spread, 0).matrix(size)
    points = np.asarray(model.points[:size], np.float64, order=order_for(X))
    norms = evaluation.norms_of(kernel, np.ascontiguousarray(points))
    out = np.empty(X.shape[0])
    with blas_in_one_thread:
        for first in range(0, len(out), TILE):
            some = X[first : first + TILE]
            rows, values = rows_of(some, np.float64), np.empty((some.shape[0], size))
            own = np.empty(len(values))
            evaluation.norms(kernel, rows, own)
            centers = beside(rows, points)
            evaluation.kernel_values(kernel, rows, centers, norms, values)
            z = values @ root
            inside = np.einsum("ti,ti->t", z, z)
            left = np.maximum(diagonal(kernel, own) - inside, 0.0)
            known = np.einsum("ti,ti->t", z @ spread, z)
            out[first : first + TILE] = left + np.maximum(known, 0.0)
    return out
