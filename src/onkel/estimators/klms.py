"""KLMS: kernel least mean squares (Liu, Pokharel and Principe, 2008).

Objective per row  1/2 (y_t - f(x_t))^2, without a regulariser;  update:

    e_t = y_t - f_t(x_t)
    f_{t+1} = f_t + eta e_t k(x_t, .)

Every row with an error becomes a centre, with the coefficient eta e_t.

| symbol | here |
|---|---|
| eta | eta0 |
| d(n), the desired output | y; for two classes -1 and +1 |
| a_j(n) | dual_coef_ |

Steps must be short: with k(x, x) = 1 a row's error is multiplied by 1 - eta0, by
1 - 2 eta0 with several classes, and below -1 errors grow without end. A larger k(x, x),
as of the poly and the linear kernel, wants an eta0 that is smaller by as much; so would
a row that weighs more, and rows have no weights.

Deviations: rows without an error are not stored. Several classes, of which the paper
says nothing: the error is that of the margin, e = 1 - (f_y - max_{j != y} f_j), as y e
is for two classes, and the class and its runner-up move by eta e and -eta e, also where
the margin is too large. Least squares for each output apart, one against the rest,
would move all of them.
"""

from onkel.budget.grow import Grow
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Averaged, LeastSquares, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import OnlineRegressor


class KLMS(LeastSquares, Averaged, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> Grow:
        return Grow()


@system(example="", score=0.98)
class KLMSClassifier(KLMS, OnlineClassifier):
    """Kernel least mean squares on targets of -1 and +1, without a budget."""


@system(example="", score=1.0)
class KLMSRegressor(KLMS, OnlineRegressor):
    """Kernel least mean squares, without a budget."""
