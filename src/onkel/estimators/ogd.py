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

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.grow import Grow
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._parameters import NOT_NEGATIVE, one_of, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.rates import Rate


def constant_rate(estimator: Any) -> Rate:
    """Rate of a system with a step size of its own."""
    if estimator.alpha * estimator.eta0 >= 1.0:
        raise ValueError(
            f"alpha * eta0 must be less than 1, or each row would turn the model "
            f"around; got alpha={estimator.alpha}, eta0={estimator.eta0}"
        )
    if estimator.learning_rate == "constant":
        return rates.constant(estimator.eta0, estimator.alpha)
    return rates.invscaling(estimator.eta0, estimator.alpha, estimator.power_t)


@system(alpha=[NOT_NEGATIVE], loss=one_of(losses.MARGIN))
class OGDClassifier(LossClassifier):
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

    def __init__(
        self,
        *,
        loss: str = "hinge",
        eta0: float = 0.5,
        alpha: float = 0.0,
        learning_rate: str = "constant",
        power_t: float = 0.5,
        average: str | None = None,
        suffix_fraction: float = 0.5,
        smoothing: float = 0.5,
        class_weight: dict | str | None = None,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = True,
        block_size: str | int = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.eta0 = eta0
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.average = average
        self.suffix_fraction = suffix_fraction
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.block_size = block_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, n_rows: int | None) -> Recipe:
        loss = losses.make(self.loss, smoothing=self.smoothing)
        return Recipe(
            loss,
            constant_rate(self),
            steps.gradient(),
            Grow(),
            window=window_of(self, n_rows),
        )


@system(alpha=[NOT_NEGATIVE], loss=one_of(losses.RESIDUAL))
class OGDRegressor(WeightedRegressor):
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

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        eta0: float = 0.5,
        alpha: float = 0.0,
        learning_rate: str = "constant",
        power_t: float = 0.5,
        average: str | None = None,
        suffix_fraction: float = 0.5,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        max_iter: int = 1,
        shuffle: bool = True,
        block_size: str | int = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.eta0 = eta0
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.average = average
        self.suffix_fraction = suffix_fraction
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.block_size = block_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, n_rows: int | None) -> Recipe:
        loss = losses.make(self.loss, epsilon=self.epsilon)
        return Recipe(
            loss,
            constant_rate(self),
            steps.gradient(),
            Grow(),
            window=window_of(self, n_rows),
        )
