"""BPA-S, BPA-NN, BPA-P: budgeted passive-aggressive learning.

    min_w'  1/2 |w' - w|^2 + C l(w'; x, y)    with at most B centres

l is the hinge, or the epsilon-insensitive error. Without a full budget the solution is
PA-I: w' = w + tau y phi(x), tau = min(C, l / k(x, x)). With a full budget centre r
leaves, and a set V that contains the newcomer t takes over its projection P_V phi_r:

    w' = w - a_r phi_r + a_r P_V phi_r + tau y phi_t,
    r  = argmin a_r^2 |phi_r - P_V phi_r|^2.

V is {t} (S), {t, the nearest neighbour of r} (NN) or all centres but r (P).

| symbol | here |
|---|---|
| C | C, a cap on the step; C times sample_weight for a weighted row |
| B | budget; None for plain PA-I |

Deviations: the closed form above replaces the paper's search over the loss; the two
agree because the projection leaves f(x_t) unchanged. Several classes: tau is
min(C, l / (2 k_tt)) on the rows of the class and of its runner-up, and row norms choose
the victim. P keeps the inverse Gram matrix with a small jitter, and lays a row that the
centres represent already on them instead of storing it (see `onkel.inverse`).
"""

from typing import Any

from onkel import losses, rates, steps
from onkel.budget.grow import Grow
from onkel.budget.inherit import Inherit
from onkel.budget.share import Share
from onkel.budget.substitute import Substitute
from onkel.estimators._base import Recipe
from onkel.estimators._classifier import WeightedClassifier
from onkel.estimators._parameters import FROM_ONE, system
from onkel.estimators._regressor import WeightedRegressor

STRATEGIES = {"s": Substitute, "nn": Share, "p": Inherit}


def strategy_of(estimator: Any) -> Any:
    """Strategy of a variant, or none at all."""
    if estimator.budget is None:
        return Grow()
    return STRATEGIES[estimator.variant](estimator.budget)


@system(budget=[FROM_ONE, None])
class BPAClassifier(WeightedClassifier):
    """Passive-aggressive steps on a budget; others stand in for the one that leaves.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import BPAClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = BPAClassifier(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:]))
    0.97
    """

    def __init__(
        self,
        *,
        variant: str = "s",
        C: float = 1.0,
        budget: int | None = 500,
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
        self.variant = variant
        self.C = C
        self.budget = budget
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
        return Recipe(
            losses.make("hinge"),
            rates.constant(),
            steps.passive_aggressive(self.C),
            strategy_of(self),
        )


@system(budget=[FROM_ONE, None])
class BPARegressor(WeightedRegressor):
    """Passive-aggressive regression on a budget.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import BPARegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = BPARegressor(budget=50, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    0.99
    """

    def __init__(
        self,
        *,
        variant: str = "s",
        C: float = 1.0,
        budget: int | None = 500,
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
        self.variant = variant
        self.C = C
        self.budget = budget
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
        return Recipe(
            losses.make("epsilon_insensitive", epsilon=self.epsilon),
            rates.constant(),
            steps.passive_aggressive(self.C),
            strategy_of(self),
        )
