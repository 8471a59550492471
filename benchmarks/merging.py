"""How good the partners are that merging chooses, over all merges of real runs."""

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

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
from onkel.engine.learner import Learner, Shape
from onkel.engine.plan import Plan
from onkel.engine.recipe import Recipe
from onkel.model.state import Block, Model
from onkel.problem import kernels, losses, rates, steps
from onkel.reproduce.problems import problem


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


def audit(name: str, dtype: Any) -> np.ndarray:
    """Excess losses of all merges of one pass of BSGD."""
    task = problem(name)
    log = Audited(np.zeros(len(task.y)), np.zeros(1, np.int64))
    plan = Plan(
        kernels.make("rbf", task.gamma, 3, 1.0),
        losses.make("hinge"),
        rates.pegasos(1.0 / (task.C * len(task.y))),
        steps.gradient(),
        ball=0.0,
    )
    rng = np.random.default_rng(0)
    budget = Bernoulli(500, np.inf, UNLIMITED, log)
    learner = Learner(Recipe(plan, budget), Shape(1, task.X.shape[1], dtype), rng)
    order = rng.permutation(len(task.y))
    X, y = task.X.astype(dtype), task.y.astype(np.float64)
    for _ in learner.learn(X, y, np.ones(len(y)), order):
        pass
    return log.excess[: log.done[0]]


def main(console: Console) -> None:
    shown = Table(title="Loss of the chosen partner over the least loss, minus 1")
    for column in ("problem", "precision", "merges", "99 % below", "largest"):
        shown.add_column(column, justify="right")
    for name in ("ijcnn1", "cod-rna"):
        for dtype in (np.float64, np.float32):
            excess = audit(name, dtype)
            shown.add_row(
                name,
                np.dtype(dtype).name,
                f"{len(excess):,}",
                f"{np.quantile(excess, 0.99):.2e}",
                f"{excess.max():.2e}",
            )
    console.print(shown)
