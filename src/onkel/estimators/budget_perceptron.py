"""Budget Perceptron (Crammer, Kandola and Singer).

Update if y f(x) <= margin:    f <- f + y k(x, .). If the budget is exceeded, the centre
argmax_j y_j (f(c_j) - a_j k(c_j, c_j)) leaves: the one that stays most correct without
itself.

| symbol | here |
|---|---|
| B | budget |
| beta (margin) | margin |

Deviations: the newcomer competes for deletion like every other centre, and ties go to
the oldest. Several classes: the Crammer-Singer margin without the centre's own share.
"""

from onkel.budget.redundant import Redundant
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, Mistakes, Passes
from onkel.estimators._parameters import NOT_NEGATIVE, parameter, system
from onkel.estimators._recipe import RecipeEstimator
from onkel.problem import losses
from onkel.problem.losses import Loss


@system(example="budget=50", score=0.98)
class BudgetPerceptronClassifier(
    Mistakes, Budgeted, AnyKernel, Passes, RecipeEstimator, OnlineClassifier
):
    """Perceptron that drops the centre it needs least."""

    margin: float = parameter(
        NOT_NEGATIVE,
        default=0.0,
        text="A row with margin up to this is a mistake.",
    )

    def _loss(self) -> Loss:
        return losses.make("perceptron", margin=self.margin)

    def _budget(self, n_rows: int | None) -> Redundant:
        return Redundant(self.budget)
