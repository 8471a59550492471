"""NBSGD: nonparametric budgeted stochastic gradient descent.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

The update of BSGD, except that an insertion which exceeds the budget B at row t is
followed by maintenance only if Z_t = 1,

    Z_t ~ Bernoulli(pi_t),    pi_t = min(beta / t, 1).

Maintenance fades, the model grows by itself, and the gap to SGD vanishes.

| symbol | here |
|---|---|
| lambda | alpha |
| B (start size) | budget |
| beta | maintenance_rate, or maintenance_fraction times the rows given to fit |

Deviations: b is the number of stored centres. Z_t is drawn only after an insertion that
exceeds the budget, from a generator of its own. beta is absolute, as in the paper,
whose experiments use 0.6 times the training rows. In a stream without maintenance_rate
every excess is maintained: without a horizon, growth would have no bound. Maintenance,
ties and the ball as in BSGD (the paper does not merge); the output is the last iterate.
Projection keeps the inverse Gram matrix of all centres, O(b^2) for the size b of the
time.
"""

import math
from typing import Any

from onkel import losses, rates, steps
from onkel.budget.bernoulli import Bernoulli
from onkel.engine.plan import UNLIMITED
from onkel.estimators._averaging import window_of
from onkel.estimators._base import KernelEstimator, Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._parameters import one_of, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.estimators.bsgd import ball_of, maintenance_of


def _budget(estimator: Any, n_rows: int | None) -> Bernoulli:
    rate, fraction = estimator.maintenance_rate, estimator.maintenance_fraction
    if rate is not None and fraction is not None:
        raise ValueError(
            "give maintenance_rate or maintenance_fraction, not both; got "
            f"maintenance_rate={rate}, maintenance_fraction={fraction}"
        )
    if fraction is not None and n_rows is None:
        raise ValueError(
            "maintenance_fraction is a fraction of the rows given to fit, and a stream "
            "has no such number: give maintenance_rate to partial_fit instead"
        )
    hard = estimator.hard_budget
    if hard is not None and hard < estimator.budget:
        raise ValueError(
            f"hard_budget must be at least budget={estimator.budget}, got {hard}"
        )
    if rate is None:
        share = DEFAULT_FRACTION if fraction is None else fraction
        rate = math.inf if n_rows is None else share * n_rows
    limit = UNLIMITED if hard is None else hard
    return Bernoulli(estimator.budget, float(rate), limit, maintenance_of(estimator))


# The paper's choice.
DEFAULT_FRACTION = 0.6


class Maintained(KernelEstimator):
    """What classifier and regressor have in common."""

    maintenance_rate: Any
    maintenance_fraction: Any

    def _take_statistics(self, like: Any) -> None:
        super()._take_statistics(like)
        if self.maintenance_rate is None:  # it was a share of the rows of fit
            self.maintenance_rate, self.maintenance_fraction = like.budget.rate, None


@system(loss=one_of(losses.MARGIN))
class NBSGDClassifier(Maintained, LossClassifier):
    """Stochastic gradient descent on a budget that grows by itself.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import NBSGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = NBSGDClassifier(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
        loss: str = "hinge",
        budget: int = 500,
        maintenance: str = "merge",
        n_neighbors: int = 4,
        victim: str = "residual",
        maintenance_rate: float | None = None,
        maintenance_fraction: float | None = None,
        hard_budget: int | None = None,
        alpha: float = 1e-4,
        t0: float = 0.0,
        ball: str | bool = "auto",
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
        self.maintenance = maintenance
        self.n_neighbors = n_neighbors
        self.victim = victim
        self.maintenance_rate = maintenance_rate
        self.maintenance_fraction = maintenance_fraction
        self.hard_budget = hard_budget
        self.alpha = alpha
        self.t0 = t0
        self.ball = ball
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
        return Recipe(
            loss,
            rates.pegasos(self.alpha, self.t0),
            steps.gradient(),
            _budget(self, n_rows),
            ball=ball_of(self),
            window=window_of(self, n_rows),
        )


@system(loss=one_of(losses.RESIDUAL))
class NBSGDRegressor(Maintained, WeightedRegressor):
    """Stochastic gradient descent on a growing budget, for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import NBSGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = NBSGDRegressor(budget=50, alpha=0.01, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.9
    """

    def __init__(
        self,
        *,
        loss: str = "epsilon_insensitive",
        budget: int = 500,
        maintenance: str = "merge",
        n_neighbors: int = 4,
        victim: str = "residual",
        maintenance_rate: float | None = None,
        maintenance_fraction: float | None = None,
        hard_budget: int | None = None,
        alpha: float = 1e-4,
        t0: float = 0.0,
        ball: str | bool = "auto",
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
        self.maintenance = maintenance
        self.n_neighbors = n_neighbors
        self.victim = victim
        self.maintenance_rate = maintenance_rate
        self.maintenance_fraction = maintenance_fraction
        self.hard_budget = hard_budget
        self.alpha = alpha
        self.t0 = t0
        self.ball = ball
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
        return Recipe(
            loss,
            rates.pegasos(self.alpha, self.t0),
            steps.gradient(),
            _budget(self, n_rows),
            ball=ball_of(self),
            window=window_of(self, n_rows),
        )
