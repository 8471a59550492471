"""RBP: randomized budget perceptron.

Update on a mistake, y f(x) <= 0:    if the budget is full, a centre chosen uniformly
at random leaves; then f <- f + y k(x, .).

| symbol | here |
|---|---|
| B | budget |

Deviations: one seeded generator for all draws, where the KOL toolbox reseeds from the
clock at each. The newcomer takes the slot of the centre that left. The regression form
(a step of eta0 if |y - f| > epsilon) is that of the LSOKL toolbox.
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.discard import Discard
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._parameters import system
from onkel.estimators._regressor import OnlineRegressor


@system()
class RBPClassifier(OnlineClassifier):
    """Perceptron that forgets a random centre when its budget is full.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import RBPClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = RBPClassifier(budget=50, random_state=0)
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
        budget = Discard(self.budget)
        return Recipe(loss, rates.constant(), steps.gradient(), budget)


@system()
class RBPRegressor(OnlineRegressor):
    """Fixed steps; a random centre leaves when the budget is full.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import RBPRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = RBPRegressor(budget=50, eta0=0.2, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
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
        budget = Discard(self.budget)
        return Recipe(loss, rates.constant(self.eta0), steps.gradient(), budget)
