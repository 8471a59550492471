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

from typing import Any

from onkel import losses, rates, steps
from onkel.budget import spill
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._features import EXPLICIT, SAYINGS, Featured
from onkel.estimators._parameters import one_of, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.losses import Loss


class Spilling(Featured):
    """What classifier and regressor have in common."""

    def _recipe_with(self, loss: Loss, n_rows: int | None) -> Recipe:
        if self.merge_size > self.budget:
            raise ValueError(
                "merge_size must be at most budget, got "
                f"merge_size={self.merge_size}, budget={self.budget}"
            )
        return Recipe(
            loss,
            rates.pegasos(self.alpha, self.t0),
            steps.gradient(),
            spill.make(self.budget, self.merge_size),
            window=window_of(self, n_rows),
        )


@system(SAYINGS, kernel=one_of(EXPLICIT), loss=one_of(losses.MARGIN))
class DualSGDClassifier(Spilling, LossClassifier):
    """Stochastic gradient descent on a budget, whose overflow moves to random features.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import DualSGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = DualSGDClassifier(gamma=2.0, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    1.0
    """

    def __init__(
        self,
        *,
        loss: str = "hinge",
        budget: int = 100,
        merge_size: int = 20,
        n_components: int = 400,
        features: str = "fourier",
        alpha: float = 1e-4,
        t0: float = 0.0,
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
        self.budget = budget
        self.merge_size = merge_size
        self.n_components = n_components
        self.features = features
        self.alpha = alpha
        self.t0 = t0
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


@system(SAYINGS, kernel=one_of(EXPLICIT), loss=one_of(losses.RESIDUAL))
class DualSGDRegressor(Spilling, WeightedRegressor):
    """Stochastic gradient descent on a budget and random features, for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import DualSGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = DualSGDRegressor(alpha=0.01, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        budget: int = 100,
        merge_size: int = 20,
        n_components: int = 400,
        features: str = "fourier",
        alpha: float = 1e-4,
        t0: float = 0.0,
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
        self.budget = budget
        self.merge_size = merge_size
        self.n_components = n_components
        self.features = features
        self.alpha = alpha
        self.t0 = t0
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
