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

from onkel.budget.discard import Discard
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, FixedSteps, Mistakes, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor


class RBP(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Discard:
        return Discard(self.budget)


@system
class RBPClassifier(Mistakes, RBP, OnlineClassifier):
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


@system
class RBPRegressor(FixedSteps, RBP, OnlineRegressor):
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
