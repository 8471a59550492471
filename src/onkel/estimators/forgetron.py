"""Forgetron (self-tuned).

Update on a mistake, y f(x) <= 0:    f' = f + y k(x, .). If the budget is exceeded, all
coefficients are multiplied by phi and the oldest centre r leaves. phi is the largest
number in (0, 1] with

    Q + (sig phi)^2 + 2 sig phi (1 - phi mu) <= (15/32) M,

sig = |a_r|, mu = y_r f'(x_r), M mistakes so far, Q the sum of the middle terms so far.

| symbol | here |
|---|---|
| B | budget |
| Q, M, phi | budget/forget.py |

Deviations: the root is written so that it is right for every sign of the leading
coefficient (KOL and LSOKL use the other root when it is negative, and amplify). Several
classes: sig and mu are those of the true class of the centre that leaves. Regression (a
step of eta0 if |y - f| > epsilon, mu = |f'(x_r)|) is the heuristic of LSOKL.
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget import forget
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._parameters import system
from onkel.estimators._regressor import OnlineRegressor


@system()
class ForgetronClassifier(OnlineClassifier):
    """Perceptron that shrinks its coefficients and forgets the oldest centre.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import ForgetronClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = ForgetronClassifier(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
        budget: int = 500,
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
        self.budget = budget
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
        loss = losses.make("perceptron")
        budget = forget.make(self.budget, unsigned=False)
        return Recipe(loss, rates.constant(), steps.gradient(), budget)


@system()
class ForgetronRegressor(OnlineRegressor):
    """Fixed steps; coefficients shrink and the oldest centre leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import ForgetronRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = ForgetronRegressor(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.92
    """

    def __init__(
        self,
        *,
        budget: int = 500,
        epsilon: float = 0.1,
        eta0: float = 0.5,
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
        self.budget = budget
        self.epsilon = epsilon
        self.eta0 = eta0
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
        loss = losses.make("epsilon_insensitive", epsilon=self.epsilon)
        budget = forget.make(self.budget, unsigned=True)
        return Recipe(loss, rates.constant(self.eta0), steps.gradient(), budget)
