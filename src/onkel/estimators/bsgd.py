"""BSGD: budgeted stochastic gradient descent.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

Update at row t with rate 1/(alpha (t + t0)), g = dl/df at w_t: shrink, insert,
maintain, project:

    w_{t+1} = (t + t0 - 1)/(t + t0) w_t - g / (alpha (t + t0)) phi(x_t) - Delta_t

Delta_t is what maintenance takes away when more than B centres are stored:

    removal          a_p phi_p, p = argmin a_p^2 k(p, p)
    projection       a_p (phi_p - P phi_p), P the projection on all other centres
    projection_knn   the same with the k nearest centres only
    merge            a_m phi_m + a_n phi_n - a_z phi_z, z between m = argmin |a_m| and n

| symbol | here |
|---|---|
| lambda | alpha |
| B | budget |
| Delta_t | maintenance |

Deviations: ties, which with the hinge are complete, delete the oldest centre. For
squared_error and alpha <= 1 the ball has radius ymax/(2 sqrt(alpha)), half of the
paper's and still valid, ymax being the largest |y| so far (ball="as_printed": the
paper's). Projection takes out the
centre of which least is lost, argmin a_p^2 |phi_p - P phi_p|^2; victim="coefficient"
is the paper's argmin a_p^2 k(p, p). Merging, which the paper quotes, chooses n by the
exact loss, among centres whose coefficients point the same way (see
`onkel.budget.merge`).
"""

from onkel.budget.bernoulli import Bernoulli
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    AveragedExactly,
    Ball,
    Maintained,
    MarginLoss,
    Monitored,
    Passes,
    Refitted,
    ResidualLoss,
)
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor


class BudgetedSGD(
    Maintained, Ball, AveragedExactly, AnyKernel, Passes, RecipeEstimator
):
    """Stochastic gradient descent on a budget, whenever that is kept."""

    def _budget(self, n_rows: int | None) -> Bernoulli:
        return self._hard_budget()


@system(example="budget=50", score=0.98)
class BSGDClassifier(MarginLoss, BudgetedSGD, Refitted, Monitored, LossClassifier):
    """Stochastic gradient descent on a hard budget."""


@system(example="budget=50, alpha=0.01", score=0.9)
class BSGDRegressor(ResidualLoss, BudgetedSGD, Refitted, Monitored, WeightedRegressor):
    """Stochastic gradient descent on a hard budget, for regression."""
