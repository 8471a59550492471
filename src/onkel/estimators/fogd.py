"""FOGD: online gradient descent on random Fourier features.

Objective per row  alpha/2 |w|^2 + l(<w, z(x_t)>, y_t);  update, g = dl/df at w_t:

    w_{t+1} = (1 - alpha eta_t) w_t - eta_t g z(x_t),

eta_t = eta0, or eta0 / t^power_t, and z(x) = [cos(omega_j x), sin(omega_j x)] / sqrt(L)
for L = n_components / 2 frequencies omega_j. With kernel="linear", z(x) = x.

| symbol | here |
|---|---|
| D, number of features | n_components |
| eta | eta0 |
| lambda | alpha; alpha eta0 < 1 |

Deviations: features are scaled to |z(x)| = 1, which public code omits: its step size
times L is ours. Every row shrinks the model, also one without loss.
"""

from onkel.budget.linear import Linear
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._features import Featured
from onkel.estimators._groups import Averaged, MarginLoss, Passes, ResidualLoss, Steps
from onkel.estimators._parameters import system
from onkel.estimators._regressor import WeightedRegressor


class FOGD(Steps, Averaged, Passes, Featured):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Linear:
        return Linear()


@system(example="gamma=2.0", score=0.97)
class FOGDClassifier(MarginLoss, FOGD, LossClassifier):
    """Online gradient descent on random Fourier features."""


@system(example="", score=0.99)
class FOGDRegressor(ResidualLoss, FOGD, WeightedRegressor):
    """Online gradient descent on random Fourier features, for regression."""
