"""DualSGD: stochastic gradient descent in two spaces, kernel and random features.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(w(x_i), y_i)

    w(x) = sum_j a_j k(c_j, x) + <w~, z(x)>,  z(x) random Fourier features.

Update at row t with rate 1/(alpha (t + t0)), g = dl/df at w_t: both parts shrink by
(t + t0 - 1)/(t + t0); if g is not 0, x_t becomes a centre with the coefficient
-g / (alpha (t + t0)). If there are then more centres than the budget allows, the k with
the smallest |a_j| move,

    w~ <- w~ + sum_j a_j z(c_j),

so that of what they stood for only the error of the features is lost.

| symbol | here |
|---|---|
| lambda | alpha |
| B | budget |
| k | merge_size |
| D | n_components / 2, the number of frequencies |

Deviations: centres move after an insertion that exceeds the budget, not before it, and
the newcomer may be among them. Rows without loss do not become centres. The standard
deviation of the frequencies is sqrt(2 gamma); the authors' code has 2 gamma. There is
no ball for squared_error. The average's share of a centre moves to the features with
it, so there is no average_exact.
"""

from onkel.budget import spill
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._features import Featured
from onkel.estimators._groups import (
    Averaged,
    Budgeted,
    MarginLoss,
    Passes,
    Pegasos,
    ResidualLoss,
)
from onkel.estimators._parameters import FROM_ONE, group, parameter, system
from onkel.estimators._regressor import WeightedRegressor


@group
class DualSGD(Budgeted, Pegasos, Averaged, Passes, Featured):
    """What classifier and regressor share."""

    budget: int = 100
    merge_size: int = parameter(
        FROM_ONE,
        default=20,
        text="Centres that move to the features when the budget is exceeded.",
    )
    n_components: int = 400

    def _budget(self, n_rows: int | None) -> spill.Spill:
        if self.merge_size > self.budget:
            raise ValueError(
                "merge_size must be at most budget, got "
                f"merge_size={self.merge_size}, budget={self.budget}"
            )
        return spill.make(self.budget, self.merge_size)


@system(example="gamma=2.0", score=1.0)
class DualSGDClassifier(MarginLoss, DualSGD, LossClassifier):
    """Gradient descent on a budget, whose overflow moves to random features."""


@system(example="alpha=0.01", score=0.99)
class DualSGDRegressor(ResidualLoss, DualSGD, WeightedRegressor):
    """Stochastic gradient descent on a budget and random features, for regression."""
