"""Centres, by one pass of coordinate ascent in the dual with merging.

What it leaves besides, coefficients and dual variables, is thrown away: the solver
finds better ones. It is what one epoch of BSCA does (`onkel.estimators.bsca`).
"""

import math
from typing import Any

import numpy as np

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED
from onkel.budget.merge import Merge
from onkel.engine import dual
from onkel.engine.learner import Learner, ScoreOverflowError, Shape
from onkel.engine.recipe import Recipe
from onkel.problem import kernels, losses
from onkel.refit.held_out import Targets

# Of the order of rows, and of the strategy's draws.
SEED = 0
EPSILON = 0.1


def merged_centers(
    X: Any, targets: Targets, gamma: float, budget: int, n_jobs: int = 1
) -> np.ndarray:
    """Return the centres that are left, at most `budget`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y, loss = np.sign(X[:, 0]), losses.make("squared_hinge")
    >>> targets = Targets(y, np.ones(300), 1, loss, is_regression=False)
    >>> merged_centers(X, targets, gamma=0.5, budget=20).shape
    (20, 2)
    """
    rows, weight = len(targets.y), targets.weight
    loss = losses.make("hinge")
    if targets.is_regression:
        loss = losses.make("epsilon_insensitive", EPSILON)
    kernel = kernels.make("rbf", gamma, 1, 0.0)
    plan = dual.make(kernel, loss, targets.y, weight, targets.outputs)
    strategy = Bernoulli(budget, math.inf, UNLIMITED, Merge())
    order, draws, _ = np.random.SeedSequence(SEED).spawn(3)
    shape = Shape(targets.outputs, X.shape[1], X.dtype)
    learner = Learner(Recipe(plan, strategy), shape, np.random.default_rng(draws))
    visits = np.random.default_rng(order).permutation(rows)
    # An epoch of BSCA begins a block there, for the average that it keeps.
    late = max(rows - budget, 0)
    try:
        for some in (visits[:late], visits[late:]):
            for _ in learner.learn(X, np.arange(rows), weight, some, n_jobs=n_jobs):
                pass
    except ScoreOverflowError as overflow:
        raise ValueError(
            f"Kernel values or scores overflowed at row {overflow.row} when centres "
            "were looked for. Scale the features and targets to unit variance, or give "
            "smaller weights."
        ) from None
    return learner.points
