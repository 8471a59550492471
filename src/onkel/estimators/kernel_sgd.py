"""Kernel SGD (Pegasos in the space of a kernel).

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

Update at row t with rate 1/(alpha (t + t0)), g = dl/df at w_t:

    w_{t+1} = (t + t0 - 1)/(t + t0) w_t - g / (alpha (t + t0)) phi(x_t)

With ball=True w is then projected on a ball that holds the minimiser.

| symbol | here |
|---|---|
| lambda | alpha = 1/(n C) |
| w | support_vectors_, dual_coef_ |

Deviations: the slope is taken before the model shrinks. A row met again in a later
pass becomes a centre again. The first steps are as violent as 1/alpha; t0 tames them,
and for squared_error they may overflow without it.
"""

from onkel.budget.grow import Grow
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    Averaged,
    Ball,
    MarginLoss,
    Passes,
    ResidualLoss,
)
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem.losses import Loss


class KernelSGD(Ball, Averaged, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Grow:
        return Grow()

    def _ball(self, loss: Loss) -> float:
        return 0.0 if self.ball == "auto" else super()._ball(loss)


@system(example="", score=0.98)
class KernelSGDClassifier(MarginLoss, KernelSGD, LossClassifier):
    """Stochastic gradient descent in the space of a kernel, without a budget."""


@system(example="alpha=0.01", score=0.97)
class KernelSGDRegressor(ResidualLoss, KernelSGD, WeightedRegressor):
    """Stochastic gradient descent for regression, without a budget."""
