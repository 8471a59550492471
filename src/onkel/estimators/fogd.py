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

from typing import Any

from onkel import losses, steps
from onkel.budget.linear import Linear
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._features import EXPLICIT, SAYINGS, Featured
from onkel.estimators._parameters import NOT_NEGATIVE, one_of, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.estimators.ogd import constant_rate
from onkel.losses import Loss


class Linearised(Featured):
    """What classifier and regressor have in common."""

    def _recipe_with(self, loss: Loss, n_rows: int | None) -> Recipe:
        return Recipe(
            loss,
            constant_rate(self),
            steps.gradient(),
            Linear(),
            window=window_of(self, n_rows),
        )


@system(
    SAYINGS, alpha=[NOT_NEGATIVE], kernel=one_of(EXPLICIT), loss=one_of(losses.MARGIN)
)
class FOGDClassifier(Linearised, LossClassifier):
    """Online gradient descent on random Fourier features.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import FOGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = FOGDClassifier(gamma=2.0, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.97
    """

    def __init__(
        self,
        *,
        loss: str = "hinge",
        n_components: int = 1000,
        features: str = "fourier",
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
        max_iter: int = 1,
        shuffle: bool = True,
        block_size: str | int = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_components = n_components
        self.features = features
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
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.block_size = block_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, n_rows: int | None) -> Recipe:
        return self._recipe_with(
            losses.make(self.loss, smoothing=self.smoothing), n_rows
        )


@system(
    SAYINGS, alpha=[NOT_NEGATIVE], kernel=one_of(EXPLICIT), loss=one_of(losses.RESIDUAL)
)
class FOGDRegressor(Linearised, WeightedRegressor):
    """Online gradient descent on random Fourier features, for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import FOGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = FOGDRegressor(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        n_components: int = 1000,
        features: str = "fourier",
        eta0: float = 0.5,
        alpha: float = 0.0,
        learning_rate: str = "constant",
        power_t: float = 0.5,
        average: str | None = None,
        suffix_fraction: float = 0.5,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        max_iter: int = 1,
        shuffle: bool = True,
        block_size: str | int = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_components = n_components
        self.features = features
        self.eta0 = eta0
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.average = average
        self.suffix_fraction = suffix_fraction
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.block_size = block_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, n_rows: int | None) -> Recipe:
        return self._recipe_with(losses.make(self.loss, epsilon=self.epsilon), n_rows)
