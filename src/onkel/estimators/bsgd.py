"""BSGD: budgeted stochastic gradient descent.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

Update at row t with rate 1/(alpha (t + t0)), g = dl/df at w_t: shrink, insert,
maintain, project:

    w_{t+1} = (t + t0 - 1)/(t + t0) w_t - g / (alpha (t + t0)) phi(x_t) - Delta_t

Delta_t is what maintenance takes away when more than B centres are stored:

    removal          a_p phi_p, p = argmin a_p^2 k(p, p)
    projection       a_p (phi_p - P phi_p), P the projection on all other centres
    projection_knn   the same with the k nearest centres only
    merge            a_m phi_m + a_n phi_n - a_z phi_z, z between m = argmin |a_m| and n

| symbol | here |
|---|---|
| lambda | alpha |
| B | budget |
| Delta_t | maintenance |

Deviations: ties, which with the hinge are complete, delete the oldest centre. For
squared_error and alpha <= 1 the ball has radius ymax/(2 sqrt(alpha)), half of the
paper's and still valid, ymax being the largest |y| so far. Projection takes out the
centre of which least is lost, argmin a_p^2 |phi_p - P phi_p|^2; victim="coefficient"
is the paper's argmin a_p^2 k(p, p). Merging, which the paper quotes, chooses n by the
exact loss, among centres whose coefficients point the same way (see
`onkel.budget.merge`).
"""

import math
from typing import Any

from onkel import losses, rates, steps
from onkel.budget import neighbors
from onkel.budget.bernoulli import Bernoulli
from onkel.budget.merge import Merge
from onkel.budget.project import Project
from onkel.budget.remove import Remove
from onkel.engine.plan import UNLIMITED
from onkel.estimators._averaging import window_of
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._parameters import one_of, system
from onkel.estimators._regressor import WeightedRegressor


def ball_of(estimator: Any) -> bool:
    """Whether a budgeted system projects on the ball."""
    if estimator.ball == "auto":
        return estimator.loss == "squared_error" and estimator.alpha <= 1.0
    return bool(estimator.ball)


def maintenance_of(estimator: Any) -> Any:
    """Strategy that the parameters of an estimator name."""
    if estimator.maintenance == "merge":
        if estimator.kernel != "rbf":
            raise ValueError(
                'maintenance="merge" needs kernel="rbf", where a point between two '
                f"centres can stand for both; got kernel={estimator.kernel!r}. Use "
                'maintenance="projection_knn" instead.'
            )
        return Merge()
    if estimator.maintenance == "projection":
        return Project(estimator.victim == "residual")
    if estimator.maintenance == "projection_knn":
        return neighbors.make(estimator.n_neighbors)
    return Remove()


def hard_budget(estimator: Any) -> Bernoulli:
    """Maintenance whenever the budget is exceeded."""
    return Bernoulli(estimator.budget, math.inf, UNLIMITED, maintenance_of(estimator))


@system(loss=one_of(losses.MARGIN))
class BSGDClassifier(LossClassifier):
    """Stochastic gradient descent on a hard budget.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import BSGDClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = BSGDClassifier(budget=50, random_state=0)
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
        refit: bool = False,
        monitor: bool = False,
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
        self.refit = refit
        self.monitor = monitor
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
            hard_budget(self),
            ball=ball_of(self),
            window=window_of(self, n_rows),
        )


@system(loss=one_of(losses.RESIDUAL))
class BSGDRegressor(WeightedRegressor):
    """Stochastic gradient descent on a hard budget, for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import BSGDRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = BSGDRegressor(budget=50, alpha=0.01, random_state=0)
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
        refit: bool = False,
        monitor: bool = False,
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
        self.refit = refit
        self.monitor = monitor
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
            hard_budget(self),
            ball=ball_of(self),
            window=window_of(self, n_rows),
        )
