"""Projectron and Projectron++: perceptrons that store only what they must.

On a mistake, y f(x) <= 0, with P the projection on the span of the centres and
delta = |phi(x) - P phi(x)|:

    f <- f + y P phi(x)    if delta <= eta, or the budget is full
    f <- f + y phi(x)      otherwise; x becomes a centre

Projectron++ (aggressive=True) also takes rows with 0 < y f(x) < 1. With l = 1 - y f(x):

    f <- f + tau y P phi(x)    if l > delta / eta,
    tau = min(l / |P phi(x)|^2, 1, 2 (l - delta / eta) / |P phi(x)|^2)

| symbol | here |
|---|---|
| eta | projection_threshold, on the norm delta, not on its square |
| B | budget; None for none |

Cost: O(centres^2) per mistake, with aggressive=True per row with a margin below 1.

Deviations: the inverse Gram matrix has a small jitter on its diagonal, and a row whose
delta^2 is of its size, such as a duplicate, is never stored, whatever eta (see
`onkel.inverse`). Several classes: the rows of the class and of its runner-up move by +1
and -1, or by half of tau each (a heuristic). Regression: if |y - f| > epsilon, steps of
eta0 sign(y - f); from the LSOKL toolbox, not from a paper.
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.represent import Represent
from onkel.engine.plan import UNLIMITED
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._parameters import FROM_ONE, system
from onkel.estimators._regressor import OnlineRegressor


def represent(estimator: Any, aggressive: bool) -> Represent:
    """Strategy that the parameters of an estimator describe."""
    if estimator.projection_threshold >= 1.0 and estimator.kernel in (
        "rbf",
        "laplacian",
    ):
        raise ValueError(
            f"projection_threshold must be below 1 with kernel={estimator.kernel!r}, "
            "where all rows have norm 1: nothing would ever be stored; got "
            f"{estimator.projection_threshold}"
        )
    limit = UNLIMITED if estimator.budget is None else estimator.budget
    return Represent(limit, float(estimator.projection_threshold), aggressive)


@system(budget=[FROM_ONE, None])
class ProjectronClassifier(OnlineClassifier):
    """Perceptron that stores only rows which its centres do not represent.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import ProjectronClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = ProjectronClassifier(random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.98
    """

    def __init__(
        self,
        *,
        aggressive: bool = False,
        projection_threshold: float = 0.1,
        budget: int | None = 500,
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
        self.aggressive = aggressive
        self.projection_threshold = projection_threshold
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
        # The hinge proposes rows with a small margin too; the budget tells them apart.
        loss = losses.make("hinge" if self.aggressive else "perceptron")
        budget = represent(self, self.aggressive)
        return Recipe(loss, rates.constant(), steps.gradient(), budget)


@system(budget=[FROM_ONE, None])
class ProjectronRegressor(OnlineRegressor):
    """Fixed steps towards targets; rows that the centres represent are not stored.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import ProjectronRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = ProjectronRegressor(eta0=0.2, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    1.0
    """

    def __init__(
        self,
        *,
        projection_threshold: float = 0.1,
        budget: int | None = 500,
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
        self.projection_threshold = projection_threshold
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
        budget = represent(self, aggressive=False)
        return Recipe(loss, rates.constant(self.eta0), steps.gradient(), budget)
