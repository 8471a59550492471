"""Kernel perceptron.

Update on a mistake, y f(x) <= 0:    f <- f + y k(x, .)
With several classes a mistake is a Crammer-Singer margin <= 0, and the rows of the
class and of its runner-up move by +1 and -1. Regression: if |y - f| > epsilon,
f <- f + eta0 sign(y - f) k(x, .).

| symbol | here |
|---|---|
| support set | support_vectors_ |
| y_i | dual_coef_ |

Deviations: the regression form is that of the LSOKL toolbox, not of a paper.
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.grow import Grow
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._parameters import system
from onkel.estimators._regressor import OnlineRegressor


@system()
class KernelPerceptronClassifier(OnlineClassifier):
    """Perceptron in the space of a kernel, without a budget.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import KernelPerceptronClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = KernelPerceptronClassifier(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
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
        return Recipe(loss, rates.constant(), steps.gradient(), Grow())


@system()
class KernelPerceptronRegressor(OnlineRegressor):
    """Fixed steps towards targets missed by more than epsilon, without a budget.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import KernelPerceptronRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = KernelPerceptronRegressor(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
    """

    def __init__(
        self,
        *,
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
        return Recipe(loss, rates.constant(self.eta0), steps.gradient(), Grow())
