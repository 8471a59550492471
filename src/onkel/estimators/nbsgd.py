"""NBSGD: nonparametric budgeted stochastic gradient descent.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

The update of BSGD, except that an insertion which exceeds the budget B at row t is
followed by maintenance only if Z_t = 1,

    Z_t ~ Bernoulli(pi_t),    pi_t = min(beta / t, 1).

Maintenance fades, the model grows by itself, and the gap to SGD vanishes.

| symbol | here |
|---|---|
| lambda | alpha |
| B (start size) | budget |
| beta | maintenance_rate, or maintenance_fraction times the rows given to fit |

Deviations: b is the number of stored centres. Z_t is drawn only after an insertion that
exceeds the budget, from a generator of its own. beta is absolute, as in the paper,
whose experiments use 0.6 times the training rows. In a stream without maintenance_rate
every excess is maintained: without a horizon, growth would have no bound. Maintenance,
ties and the ball as in BSGD (the paper does not merge); the output is the last iterate.
Projection keeps the inverse Gram matrix of all centres, O(b^2) for the size b of the
time.
"""

import math
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import MarginLoss, ResidualLoss
from onkel.estimators._parameters import (
    FROM_ONE,
    NOT_NEGATIVE,
    group,
    parameter,
    system,
)
from onkel.estimators._regressor import WeightedRegressor
from onkel.estimators.bsgd import BudgetedSGD

# The paper's choice.
DEFAULT_FRACTION = 0.6


@group
class NBSGD(BudgetedSGD):
    """What classifier and regressor share."""

    maintenance_rate: float | None = parameter(
        Interval(Real, 0, None, closed="both"),
        None,
        default=None,
        text="Over budget, row t maintains with probability min(maintenance_rate / t, "
        "1). A large rate gives a small model.",
    )
    maintenance_fraction: float | None = parameter(
        NOT_NEGATIVE,
        None,
        default=None,
        text="maintenance_rate as a fraction of the number of rows given to fit. If "
        "neither is given, fit takes 0.6, and a stream, whose length nobody knows, "
        "maintains at every excess.",
    )
    hard_budget: int | None = parameter(
        FROM_ONE,
        None,
        default=None,
        text="Size beyond which maintenance is certain; None for no such size.",
    )

    @classmethod
    def _suited(cls, rows: int, is_regression: bool) -> dict[str, Any]:
        # Which fit would choose by itself; a stream has to be told.
        rate = {"maintenance_rate": DEFAULT_FRACTION * rows}
        return super()._suited(rows, is_regression) | rate

    def _budget(self, n_rows: int | None) -> Bernoulli:
        rate, fraction = self.maintenance_rate, self.maintenance_fraction
        if rate is not None and fraction is not None:
            raise ValueError(
                "give maintenance_rate or maintenance_fraction, not both; got "
                f"maintenance_rate={rate}, maintenance_fraction={fraction}"
            )
        if fraction is not None and n_rows is None:
            raise ValueError(
                "maintenance_fraction is a fraction of the rows given to fit, and a "
                "stream has no such number: give maintenance_rate to partial_fit "
                "instead"
            )
        hard = self.hard_budget
        if hard is not None and hard < self.budget:
            raise ValueError(
                f"hard_budget must be at least budget={self.budget}, got {hard}"
            )
        if rate is None:
            share = DEFAULT_FRACTION if fraction is None else fraction
            rate = math.inf if n_rows is None else share * n_rows
        limit = UNLIMITED if hard is None else hard
        return Bernoulli(self.budget, float(rate), limit, self._maintenance())

    def _take_statistics(self, like: Any) -> None:
        super()._take_statistics(like)
        if self.maintenance_rate is None:  # it was a share of the rows of fit
            self.maintenance_rate, self.maintenance_fraction = like.budget.rate, None


@system(example="budget=50", score=0.98)
class NBSGDClassifier(MarginLoss, NBSGD, LossClassifier):
    """Stochastic gradient descent on a budget that grows by itself."""


@system(example="budget=50, alpha=0.01", score=0.9)
class NBSGDRegressor(ResidualLoss, NBSGD, WeightedRegressor):
    """Stochastic gradient descent on a growing budget, for regression."""
