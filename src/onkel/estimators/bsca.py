"""BSCA: budgeted stochastic coordinate ascent in the dual.

    max_a  D(a) = sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j),    0 <= a_i <= C

the dual of 1/2 |w|^2 + C sum_i max(0, 1 - y_i f(x_i)), w = sum_i y_i a_i phi(x_i). Step
for a row i, with the model f~ on a budget in the place of f:

    delta = clip(a_i + (1 - y_i f~(x_i)) / k_ii, 0, C) - a_i
    a_i <- a_i + delta,    w~ <- w~ + y_i delta phi(x_i),    maintain if over budget

Maintenance changes w~ only; the a_i just keep the steps in the box. Other losses have
steps of the same kind (see `problem.dual_steps`): squared_hinge, and for regression
epsilon_insensitive (support vector regression) and squared_error (kernel ridge).

| symbol | here |
|---|---|
| C = 1/(lambda n) | C; C times sample_weight for a weighted row |
| alpha_i | dual_variables_ |
| beta, w~ | dual_coef_, support_vectors_: the model, on a budget |
| B | budget; None for plain stochastic coordinate ascent |

Deviations: the coefficient of a new centre is y_i delta (the paper's pseudo-code
forgets y_i), and centres merge whose coefficients have the same sign, not whose labels
are the same. A row that is still a centre of its own changes its coefficient instead of
becoming a second centre. Epochs are permutations; selection="uniform" is the paper's
text. Several classes: one against the rest over shared centres.

The answer is the mean of the iterates of the last visits, as many as the budget
(without a budget, of the last epoch); average=None is the paper's last iterate. A step
makes the margin of its row exactly 1. Where all points are alike, k(x, x') near 1, it
moves the scores of all rows with it, so the last iterate follows the last few rows, and
its error swings (on a9a between 15 and 45 %) until the dual variables have reached
their bounds, with or without a budget. The mean costs nothing and swings far less. Over
more visits it would get worse again: each merge is the best for the iterate, not for
the mean.
"""

import math
from typing import Any

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED
from onkel.budget.remove import Remove
from onkel.estimators._classifier import BatchClassifier, CountingClassifier
from onkel.estimators._dual import DualEstimator
from onkel.estimators._groups import (
    AnyKernel,
    Blockwise,
    Maintained,
    Monitored,
    Refitted,
    Tube,
)
from onkel.estimators._parameters import (
    FROM_ONE,
    POSITIVE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._regressor import BatchRegressor
from onkel.problem import dual_steps, losses
from onkel.problem.losses import Loss


@group
class BSCA(Maintained, Refitted, Monitored, AnyKernel, Blockwise, DualEstimator):
    """What classifier and regressor share."""

    C: float = parameter(
        POSITIVE,
        default=1.0,
        text="Cap on the dual variables, as in a support vector machine.",
    )
    budget: Any = parameter(FROM_ONE, None, default=500)

    def _budget(self, n_rows: int | None) -> Bernoulli:
        if self.budget is None:
            return Bernoulli(UNLIMITED, math.inf, UNLIMITED, Remove())
        return self._hard_budget()


@system(example="budget=50", score=0.98)
class BSCAClassifier(BSCA, BatchClassifier, CountingClassifier):
    """Support vector machine on a budget, by coordinate ascent in the dual."""

    loss: str = parameter(
        one_of(dual_steps.MARGIN), default="hinge", text="Name of the loss."
    )

    def _loss(self) -> Loss:
        return losses.make(self.loss)


@system(example="budget=50", score=0.99)
class BSCARegressor(BSCA, Tube, BatchRegressor):
    """Support vector regression, or kernel ridge, on a budget, in the dual."""

    loss: str = parameter(
        one_of(dual_steps.RESIDUAL),
        default="epsilon_insensitive",
        text="Name of the loss.",
    )

    def _loss(self) -> Loss:
        return losses.make(self.loss, epsilon=self.epsilon)
