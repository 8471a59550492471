"""NORMA: gradient steps on the regularised risk, on a window (Kivinen et al., 2004).

Objective per row  alpha/2 |f|^2 + l(f(x_t), y_t);  update, g = dl/df at f_t(x_t):

    f_{t+1} = (1 - alpha eta_t) f_t - eta_t g k(x_t, .),

eta_t = eta0, or eta0 / t^power_t: the paper's other rate is learning_rate="invscaling",
with power_t=0.5. If there are more than tau centres, the oldest leaves. It has been
multiplied by 1 - alpha eta at every row since it came, so that the larger alpha, the
less its leaving changes.

| symbol | here |
|---|---|
| eta | eta0 |
| lambda | alpha; alpha eta0 < 1 |
| tau | budget |
| rho, the margin | 1 |

Deviations: without the paper's offset b, and without its variants in which nu chooses
the margin, or the width of the tube. The paper's window is that of the last tau rows,
with a loss or without; ours is of as many centres, so that it is never shorter. The
newcomer takes the slot of the centre that left. Exactly at a margin of 1 the hinge has
a slope of 0.
"""

from onkel.budget.slide import Slide
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    AveragedExactly,
    Budgeted,
    MarginLoss,
    Passes,
    ResidualLoss,
    Steps,
)
from onkel.estimators._parameters import NOT_NEGATIVE, group, parameter, system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor


@group
class NORMA(Budgeted, Steps, AveragedExactly, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    # Without it a centre is worth as much when it leaves as when it came.
    alpha: float = parameter(NOT_NEGATIVE, default=1e-3)

    def _budget(self, n_rows: int | None) -> Slide:
        return Slide(self.budget)


@system(example="budget=50", score=0.96)
class NORMAClassifier(MarginLoss, NORMA, LossClassifier):
    """Online gradient descent on a budget: the oldest centre leaves."""


@system(example="budget=50, eta0=0.2", score=0.99)
class NORMARegressor(ResidualLoss, NORMA, WeightedRegressor):
    """Online gradient descent on a budget, for regression."""
