"""OGD: online gradient descent in the space of a kernel (NORMA).

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


@system
class OGDClassifier(MarginLoss, OGD, LossClassifier):
    """Online gradient descent, without a budget.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import OGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = OGDClassifier(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """


@system
class OGDRegressor(ResidualLoss, OGD, WeightedRegressor):
    """Online gradient descent for regression, without a budget.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import OGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = OGDRegressor(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
    """
