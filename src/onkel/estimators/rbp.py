"""RBP: randomized budget perceptron.

Update on a mistake, y f(x) <= 0:    if the budget is full, a centre chosen uniformly
at random leaves; then f <- f + y k(x, .).

| symbol | here |
|---|---|
| B | budget |

Deviations: one seeded generator for all draws, where the KOL toolbox reseeds from the
clock at each. The newcomer takes the slot of the centre that left. The regression form
(a step of eta0 if |y - f| > epsilon) is that of the LSOKL toolbox.
"""

from onkel.budget.discard import Discard
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, FixedSteps, Mistakes, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor


class RBP(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Discard:
        return Discard(self.budget)


@system(example="budget=50", score=0.98)
class RBPClassifier(Mistakes, RBP, OnlineClassifier):
    """Perceptron that forgets a random centre when its budget is full."""


@system(example="budget=50, eta0=0.2", score=0.99)
class RBPRegressor(FixedSteps, RBP, OnlineRegressor):
    """Fixed steps; a random centre leaves when the budget is full."""
