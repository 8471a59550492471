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

from onkel.budget.grow import Grow
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, FixedSteps, Mistakes, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor


class KernelPerceptron(AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Grow:
        return Grow()


@system(example="", score=0.98)
class KernelPerceptronClassifier(Mistakes, KernelPerceptron, OnlineClassifier):
    """Perceptron in the space of a kernel, without a budget."""


@system(example="", score=0.99)
class KernelPerceptronRegressor(FixedSteps, KernelPerceptron, OnlineRegressor):
    """Fixed steps towards targets missed by more than epsilon, without a budget."""
