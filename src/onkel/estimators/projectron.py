"""Projectron and Projectron++: perceptrons that store only what they must.

On a mistake, y f(x) <= 0, with P the projection on the span of the centres and
delta = |phi(x) - P phi(x)|:

    f <- f + y P phi(x)    if delta <= eta, or the budget is full
    f <- f + y phi(x)      otherwise; x becomes a centre

Projectron++ (aggressive=True) also takes rows with 0 < y f(x) < 1. With l = 1 - y f(x):

    f <- f + tau y P phi(x)    if l > delta / eta,
    tau = min(l / |P phi(x)|^2, 1, 2 (l - delta / eta) / |P phi(x)|^2)

| symbol | here |
|---|---|
| eta | projection_threshold, on the norm delta, not on its square |
| B | budget; None for none |

Cost: O(centres^2) per mistake, with aggressive=True per row with a margin below 1.

Deviations: the inverse Gram matrix has a small jitter on its diagonal, and a row whose
delta^2 is of its size, such as a duplicate, is never stored, whatever eta (see
`onkel.model.inverse`). Several classes: the rows of the class and of its runner-up move
by +1 and -1, or by half of tau each (a heuristic). Regression: if |y - f| > epsilon,
steps of eta0 sign(y - f); from the LSOKL toolbox, not from a paper.
"""

from typing import Any

from onkel.budget.declaration import UNLIMITED
from onkel.budget.project_if_close import ProjectIfClose
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, FixedSteps, Mistakes, Passes
from onkel.estimators._parameters import (
    BOOLEAN,
    FROM_ONE,
    NOT_NEGATIVE,
    group,
    parameter,
    system,
)
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor
from onkel.problem import losses
from onkel.problem.losses import Loss


@group
class Projectron(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    _variants = {"Projectron": {}, "Projectron++": {"aggressive": True}}

    projection_threshold: float = parameter(
        NOT_NEGATIVE,
        default=0.1,
        text="A row becomes a centre only if the norm of what the centres do not "
        "represent of it exceeds this.",
    )
    budget: Any = parameter(FROM_ONE, None, default=500)

    def _budget(self, n_rows: int | None) -> ProjectIfClose:
        if self.projection_threshold >= 1.0 and self.kernel in ("rbf", "laplacian"):
            raise ValueError(
                f"projection_threshold must be below 1 with kernel={self.kernel!r}, "
                "where all rows have norm 1: nothing would ever be stored; got "
                f"{self.projection_threshold}"
            )
        limit = UNLIMITED if self.budget is None else self.budget
        return ProjectIfClose(limit, float(self.projection_threshold), False)


@system(example="", score=0.98)
class ProjectronClassifier(Mistakes, Projectron, OnlineClassifier):
    """Perceptron that stores only rows which its centres do not represent."""

    aggressive: bool = parameter(
        BOOLEAN,
        default=False,
        text="Whether to learn from rows with a small margin too (Projectron++).",
    )

    def _loss(self) -> Loss:
        # The hinge proposes rows with a small margin too; the budget tells them apart.
        return losses.make("hinge") if self.aggressive else super()._loss()

    def _budget(self, n_rows: int | None) -> ProjectIfClose:
        return super()._budget(n_rows)._replace(aggressive=self.aggressive)


@system(example="eta0=0.2", score=1.0)
class ProjectronRegressor(FixedSteps, Projectron, OnlineRegressor):
    """Fixed steps towards targets; rows that the centres represent are not stored."""
