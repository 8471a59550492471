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
centres represent already on them instead of storing it (see `onkel.model.inverse`).
"""

from typing import Any

from onkel.budget.grow import Grow
from onkel.budget.project_all import ProjectAll
from onkel.budget.project_newest import ProjectNewest
from onkel.budget.project_pair import ProjectPair
from onkel.estimators._classifier import WeightedClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, Passes, Tube
from onkel.estimators._parameters import (
    FROM_ONE,
    POSITIVE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem import losses, rates, steps
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.steps import Step

STRATEGIES = {"s": ProjectNewest, "nn": ProjectPair, "p": ProjectAll}


@group
class BPA(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    _variants = {f"BPA-{name.upper()}": {"variant": name} for name in STRATEGIES}

    variant: str = parameter(
        one_of(STRATEGIES),
        default="s",
        text='Who stands in for the centre that leaves. "s": the newcomer. "nn": the '
        "newcomer and the nearest neighbour of the one that leaves. "
        '"p": all, at a cost of O(budget^2) per update.',
    )
    C: float = parameter(POSITIVE, default=1.0, text="Longest step.")
    budget: Any = parameter(FROM_ONE, None, default=500)

    def _rate(self) -> Rate:
        return rates.constant()

    def _step(self) -> Step:
        return steps.passive_aggressive(self.C)

    def _budget(self, n_rows: int | None) -> Any:
        if self.budget is None:
            return Grow()
        return STRATEGIES[self.variant](self.budget)


@system(example="budget=50", score=0.97)
class BPAClassifier(BPA, WeightedClassifier):
    """Passive-aggressive steps on a budget; others stand in for the one that leaves."""

    def _loss(self) -> Loss:
        return losses.make("hinge")


@system(example="budget=50", score=0.99)
class BPARegressor(BPA, Tube, WeightedRegressor):
    """Passive-aggressive regression on a budget."""

    def _loss(self) -> Loss:
        return losses.make("epsilon_insensitive", epsilon=self.epsilon)
