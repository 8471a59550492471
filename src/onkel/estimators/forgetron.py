"""Forgetron (self-tuned).

Update on a mistake, y f(x) <= 0:    f' = f + y k(x, .). If the budget is exceeded, all
coefficients are multiplied by phi and the oldest centre r leaves. phi is the largest
number in (0, 1] with

    Q + (sig phi)^2 + 2 sig phi (1 - phi mu) <= (15/32) M,

sig = |a_r|, mu = y_r f'(x_r), M mistakes so far, Q the sum of the middle terms so far.

| symbol | here |
|---|---|
| B | budget |
| Q, M, phi | budget/forget.py |

Deviations: the root is written so that it is right for every sign of the leading
coefficient (KOL and LSOKL use the other root when it is negative, and amplify). Several
classes: sig and mu are those of the true class of the centre that leaves. Regression (a
step of eta0 if |y - f| > epsilon, mu = |f'(x_r)|) is the heuristic of LSOKL.
"""

from sklearn.base import is_regressor

from onkel.budget import forget
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, FixedSteps, Mistakes, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor


class Forgetron(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> forget.Forget:
        return forget.make(self.budget, unsigned=is_regressor(self))


@system(example="budget=50", score=0.98)
class ForgetronClassifier(Mistakes, Forgetron, OnlineClassifier):
    """Perceptron that shrinks its coefficients and forgets the oldest centre."""


@system(example="budget=50", score=0.92)
class ForgetronRegressor(FixedSteps, Forgetron, OnlineRegressor):
    """Fixed steps; coefficients shrink and the oldest centre leaves."""
