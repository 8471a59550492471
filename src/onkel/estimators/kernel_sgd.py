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

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.grow import Grow
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._parameters import one_of, system
from onkel.estimators._regressor import WeightedRegressor


@system(loss=one_of(losses.MARGIN))
class KernelSGDClassifier(LossClassifier):
    """Stochastic gradient descent in the space of a kernel, without a budget.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import KernelSGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = KernelSGDClassifier(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
        loss: str = "hinge",
        alpha: float = 1e-4,
        t0: float = 0.0,
        ball: str | bool = "auto",
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
        self.alpha = alpha
        self.t0 = t0
        self.ball = ball
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
            rates.pegasos(self.alpha, self.t0),
            steps.gradient(),
            Grow(),
            ball=self.ball is True,
            window=window_of(self, n_rows),
        )


@system(loss=one_of(losses.RESIDUAL))
class KernelSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent for regression, without a budget.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import KernelSGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = KernelSGDRegressor(alpha=0.01, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.97
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        alpha: float = 1e-4,
        t0: float = 0.0,
        ball: str | bool = "auto",
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
        self.alpha = alpha
        self.t0 = t0
        self.ball = ball
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
            rates.pegasos(self.alpha, self.t0),
            steps.gradient(),
            Grow(),
            ball=self.ball is True,
            window=window_of(self, n_rows),
        )
