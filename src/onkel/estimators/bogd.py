"""BOGD and BOGD++: bounded online gradient descent.

Update, g = dl/df at f_t(x_t), while the budget B is not full:

    f_{t+1} = (1 - alpha eta) f_t - eta g k(x_t, .)

If it is full and g != 0, centre i0 is drawn from probabilities p and leaves; the
survivors become a_i <- (1 - alpha eta) / (1 - p_i) a_i, clipped to |a_i| <= gamma eta,
so that without the clip the expected model is the one above.

uniform (BOGD)      p_i = 1/B
weighted (BOGD++)   p_i = max(0, 1 - s |a_i| sqrt(k_ii)), s such that sum p_i = 1

| symbol | here |
|---|---|
| eta | eta0 |
| lambda | alpha; alpha eta0 <= 1/2 |
| gamma | max_coef |
| B | budget |

Deviations: the paper's p_i = 1 - (B-1) |a_i| sqrt(k_ii) / sum can be negative; s is
found by water-filling, which agrees where the paper's formula is a distribution
(sampling="as_printed": negative p_i are cut at 0, the others add up to 1). The
clip is applied to each coefficient, and to the newcomer. The newcomer takes the
victim's slot. Several classes: norms of coefficient rows.
"""

from typing import Any

from onkel.budget.sample import AsPrinted, Uniform, Weighted
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    AveragedExactly,
    Budgeted,
    ConstantSteps,
    MarginLoss,
    Passes,
    ResidualLoss,
)
from onkel.estimators._parameters import (
    FROM_TWO,
    POSITIVE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem import losses, rates
from onkel.problem.losses import LIPSCHITZ
from onkel.problem.rates import Rate

SAMPLINGS: dict[str, Any] = {
    "uniform": Uniform,
    "weighted": Weighted,
    "as_printed": AsPrinted,
}


@group
class BOGD(
    Budgeted, ConstantSteps, AveragedExactly, AnyKernel, Passes, RecipeEstimator
):
    """What classifier and regressor share."""

    _variants = {
        "BOGD": {"sampling": "uniform"},
        "BOGD++": {"sampling": "weighted"},
    }

    # A single centre leaves no survivor to carry its expectation.
    budget: int = parameter(FROM_TWO, default=500)
    sampling: str = parameter(
        one_of(SAMPLINGS),
        default="uniform",
        text='"uniform" (BOGD), "weighted" (BOGD++), or "as_printed": BOGD++ with the '
        "probabilities of its paper, of which negative ones count as 0.",
    )
    max_coef: float = parameter(
        POSITIVE,
        default=4.0,
        text="No coefficient may exceed max_coef * eta0.",
    )

    def _budget(self, n_rows: int | None) -> Any:
        return SAMPLINGS[self.sampling](self.budget, float(self.max_coef * self.eta0))

    def _rate(self) -> Rate:
        if self.alpha * self.eta0 > 0.5:
            raise ValueError(
                f"alpha * eta0 must be at most 1/2; got alpha={self.alpha}, "
                f"eta0={self.eta0}"
            )
        return rates.constant(self.eta0, self.alpha)


@system(example="budget=50", score=0.98)
class BOGDClassifier(MarginLoss, BOGD, LossClassifier):
    """Online gradient descent on a budget, with an unbiased random removal."""

    loss: str = parameter(one_of(set(losses.MARGIN) & set(LIPSCHITZ)), default="hinge")


@system(example="budget=50, eta0=0.1, max_coef=1.0", score=1.0)
class BOGDRegressor(ResidualLoss, BOGD, WeightedRegressor):
    """Online gradient descent on a budget, for regression."""

    loss: str = parameter(
        one_of(set(losses.RESIDUAL) & set(LIPSCHITZ)),
        default="epsilon_insensitive",
    )
