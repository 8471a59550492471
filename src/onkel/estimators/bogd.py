"""BOGD and BOGD++: bounded online gradient descent.

Update, g = dl/df at f_t(x_t), while the budget B is not full:

    f_{t+1} = (1 - alpha eta) f_t - eta g k(x_t, .)

If it is full and g != 0, centre i0 is drawn from probabilities p and leaves; the
survivors become a_i <- (1 - alpha eta) / (1 - p_i) a_i, clipped to |a_i| <= gamma eta,
so that without the clip the expected model is the one above.

uniform (BOGD)      p_i = 1/B
weighted (BOGD++)   p_i = max(0, 1 - s |a_i| sqrt(k_ii)), s such that sum p_i = 1

| symbol | here |
|---|---|
| eta | eta0 |
| lambda | alpha; alpha eta0 <= 1/2 |
| gamma | max_coef |
| B | budget |

Deviations: the paper's p_i = 1 - (B-1) |a_i| sqrt(k_ii) / sum can be negative; s is
found by water-filling, which agrees where the paper's formula is a distribution. The
clip is applied to each coefficient, and to the newcomer. The newcomer takes the
victim's slot. Several classes: norms of coefficient rows.
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.sample import Uniform, Weighted
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._parameters import FROM_TWO, NOT_NEGATIVE, one_of, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.losses import LIPSCHITZ, Loss


def _recipe(estimator: Any, loss: Loss, n_rows: int | None) -> Recipe:
    if estimator.alpha * estimator.eta0 > 0.5:
        raise ValueError(
            f"alpha * eta0 must be at most 1/2; got alpha={estimator.alpha}, "
            f"eta0={estimator.eta0}"
        )
    kind = Uniform if estimator.sampling == "uniform" else Weighted
    budget = kind(estimator.budget, float(estimator.max_coef * estimator.eta0))
    rate = rates.constant(estimator.eta0, estimator.alpha)
    window = window_of(estimator, n_rows)
    return Recipe(loss, rate, steps.gradient(), budget, window=window)


@system(
    alpha=[NOT_NEGATIVE],
    budget=[FROM_TWO],  # a single centre leaves no survivor to carry its expectation
    loss=one_of(set(losses.MARGIN) & set(LIPSCHITZ)),
)
class BOGDClassifier(LossClassifier):
    """Online gradient descent on a budget, with an unbiased random removal.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import BOGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = BOGDClassifier(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
        loss: str = "hinge",
        budget: int = 500,
        sampling: str = "uniform",
        max_coef: float = 4.0,
        eta0: float = 0.5,
        alpha: float = 0.0,
        average: str | None = None,
        suffix_fraction: float = 0.5,
        average_exact: bool = False,
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
        self.budget = budget
        self.sampling = sampling
        self.max_coef = max_coef
        self.eta0 = eta0
        self.alpha = alpha
        self.average = average
        self.suffix_fraction = suffix_fraction
        self.average_exact = average_exact
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
        return _recipe(self, loss, n_rows)


@system(
    alpha=[NOT_NEGATIVE],
    budget=[FROM_TWO],  # a single centre leaves no survivor to carry its expectation
    loss=one_of(set(losses.RESIDUAL) & set(LIPSCHITZ)),
)
class BOGDRegressor(WeightedRegressor):
    """Online gradient descent on a budget, for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import BOGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = BOGDRegressor(budget=50, eta0=0.1, max_coef=1.0, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    1.0
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        budget: int = 500,
        sampling: str = "uniform",
        max_coef: float = 4.0,
        eta0: float = 0.5,
        alpha: float = 0.0,
        average: str | None = None,
        suffix_fraction: float = 0.5,
        average_exact: bool = False,
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
        self.budget = budget
        self.sampling = sampling
        self.max_coef = max_coef
        self.eta0 = eta0
        self.alpha = alpha
        self.average = average
        self.suffix_fraction = suffix_fraction
        self.average_exact = average_exact
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
        return _recipe(self, loss, n_rows)
