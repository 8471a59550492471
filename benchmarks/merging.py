"""Merging: whether partners are the best ones, and their price with narrow kernels.

The partner of every merge of real runs is compared with that of an exhaustive search.
Learning is compared with predicting on covtype with features in [0, 1] and gamma 8,
where most centres are far from each other.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.preprocessing import minmax_scale

import onkel
from benchmarks import tables
from benchmarks.workloads import shuffled
from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED, strategy
from onkel.budget.dispatch import maintain
from onkel.budget.merge import (
    join,
    kernel_row,
    lightest,
    meet,
    partner,
    product,
    table,
)
from onkel.compiled.functions import inner
from onkel.data.catalogue import load
from onkel.engine.learner import Learner, Shape
from onkel.engine.plan import Plan
from onkel.engine.recipe import Recipe
from onkel.model.state import Block, Model
from onkel.problem import kernels, losses, rates, steps


@strategy(table=table)
class Audited(NamedTuple):
    """Merging that compares its choice with an exhaustive search."""

    excess: Any  # shape (merges,): loss of the choice over the least, minus 1
    done: Any  # shape (1,)


@inner
def exhaustive(model: Model, block: Block, m: int) -> float:
    """Return the least loss over all centres of the same sign."""
    best = np.inf
    for n in range(model.counters[0].count):
        if n != m and product(model, m, n) > 0.0:
            best = min(best, meet(model, block.similarity.gamma, m, n).loss)
    return best


@maintain.register(Audited)
def _maintain(strategy: Audited, model: Model, block: Block, t: int) -> None:
    m = lightest(model, block)
    values = kernel_row(model, block, t, m)
    match = partner(model, block, m, values)
    best = exhaustive(model, block, m)
    done = strategy.done[0]
    if match.n >= 0 and done < len(strategy.excess):
        excess = match.meeting.loss / best - 1.0 if best > 0.0 else 0.0
        strategy.excess[done] = excess
        strategy.done[0] += 1
    join(model, block, t, m, values, match)


AUDITED, GAMMAS, BUDGET = 20_000, (0.1, 1.0, 8.0, 32.0), 200
NARROW, LEARNT, BUDGETS, PASSES = 8.0, 100_000, (100, 500, 2000), 3
C = 32.0


def rows_of(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Load rows of two classes, -1 and 1, with features in [0, 1]."""
    X, y = load(name)
    X, y = shuffled(minmax_scale(X.toarray()), y)
    positive = 2 if name == "covtype" else 1
    return X[:count].astype(np.float32), np.where(y[:count] == positive, 1.0, -1.0)


def audit(X: np.ndarray, y: np.ndarray, gamma: float) -> np.ndarray:
    """Excess losses of all merges of one pass of BSGD."""
    log = Audited(np.zeros(len(y)), np.zeros(1, np.int64))
    plan = Plan(
        kernels.make("rbf", gamma, 3, 1.0),
        losses.make("hinge"),
        rates.pegasos(1.0 / (C * len(y))),
        steps.gradient(),
        ball=0.0,
    )
    rng = np.random.default_rng(0)
    budget = Bernoulli(BUDGET, np.inf, UNLIMITED, log)
    learner = Learner(Recipe(plan, budget), Shape(1, X.shape[1], X.dtype), rng)
    for _ in learner.learn(X, y, np.ones(len(y))):
        pass
    return log.excess[: log.done[0]]


def seconds(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """Least processor time of learning and of predicting the same rows."""
    make().fit(X[:3000], y[:3000]).decision_function(X[:10])  # compile
    learning, predicting = [], []
    for _ in range(PASSES):
        start = time.process_time()
        model = make().fit(X, y)
        middle = time.process_time()
        model.decision_function(X)
        learning.append(middle - start)
        predicting.append(time.process_time() - middle)
    return min(learning), min(predicting)


def main(console: Console) -> None:
    shown = tables.table(
        "Partners of all merges, beside an exhaustive search",
        ["data", "gamma", "merges", "not the best", "largest loss over the least - 1"],
    )
    for name in ("ijcnn1", "cod-rna", "covtype"):
        X, y = rows_of(name, AUDITED)
        for gamma in GAMMAS:
            excess = audit(X, y, gamma)
            wrong = np.count_nonzero(excess > 0.0)
            numbers = f"{gamma:g}", f"{len(excess):,}", f"{wrong:,}"
            shown.add_row(name, *numbers, f"{excess.max():.1e}")
    console.print(shown)
    shown = tables.table(
        f"covtype, {LEARNT:,} rows, gamma {NARROW:g}",
        ["system", "budget", "learning, s", "predicting, s", "ratio"],
    )
    X, y = rows_of("covtype", LEARNT)
    common = {"gamma": NARROW, "n_jobs": 1, "random_state": 0}
    for budget in BUDGETS:
        given = {**common, "budget": budget}
        for system, make in {
            "BSGD": lambda given=given: onkel.BSGDClassifier(
                **given, alpha=1 / (C * LEARNT)
            ),
            "BSCA, one epoch": lambda given=given: onkel.BSCAClassifier(
                **given, C=C, max_iter=1
            ),
        }.items():
            learning, predicting = seconds(make, X, y)
            ratio = f"{learning / predicting:.2f}"
            figures = f"{learning:.3f}", f"{predicting:.3f}", ratio
            shown.add_row(system, f"{budget}", *figures)
    console.print(shown)
