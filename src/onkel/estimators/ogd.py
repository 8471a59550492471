"""OGD: online gradient descent in the space of a kernel (NORMA, without its window).

Objective per row  alpha/2 |f|^2 + l(f(x_t), y_t);  update, g = dl/df at f_t(x_t):

    f_{t+1} = (1 - alpha eta_t) f_t - eta_t g k(x_t, .),

eta_t = eta0, or eta0 / t^power_t.

| symbol | here |
|---|---|
| eta | eta0 |
| lambda | alpha; alpha eta0 < 1 |

Deviations: every row shrinks the model, also one without loss.
"""

from onkel.budget.grow import Grow
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    Averaged,
    MarginLoss,
    Passes,
    ResidualLoss,
    Steps,
)
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor


class OGD(Steps, Averaged, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Grow:
        return Grow()


@system(example="", score=0.98)
class OGDClassifier(MarginLoss, OGD, LossClassifier):
    """Online gradient descent, without a budget."""


@system(example="", score=0.99)
class OGDRegressor(ResidualLoss, OGD, WeightedRegressor):
    """Online gradient descent for regression, without a budget."""
