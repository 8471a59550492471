"""QKLMS: quantised kernel least mean squares (Chen, Zhao, Zhu and Principe, 2012).

Objective per row  1/2 (y_t - f(x_t))^2, without a regulariser;  update, with
e_t = y_t - f_t(x_t) and c_j the centre nearest to x_t:

    f_{t+1} = f_t + eta e_t k(c_j, .)    if |x_t - c_j| <= epsilon_U
    f_{t+1} = f_t + eta e_t k(x_t, .)    otherwise; x_t becomes a centre

The centre takes the whole step, whatever k(c_j, x_t) is. Centres are further apart than
epsilon_U, so that a bounded region holds a bounded number of them.

| symbol | here |
|---|---|
| eta | eta0; how long it may be, `onkel.estimators.klms` says |
| epsilon_U, the quantisation size | coverage_radius |
| C(i), the codebook | support_vectors_ |
| a(i) | dual_coef_ |

Deviations: rows without an error do not become centres. Several classes: as KLMS. With
max_core, which the paper has not, the nearest centre takes what would need a new one
(when_full="drop": nobody). The paper wants epsilon_U in proportion to the kernel's
width; coverage_radius="auto" looks at the distances of rows instead, as AVM does, and
warns where cells are too wide for the kernel.
"""

from onkel.budget import cover
from onkel.budget.declaration import UNLIMITED
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._coverage import Covered
from onkel.estimators._groups import AnyKernel, Averaged, LeastSquares, Passes
from onkel.estimators._parameters import system
from onkel.estimators._regressor import OnlineRegressor


class QKLMS(LeastSquares, Averaged, AnyKernel, Passes, Covered):
    """What classifier and regressor share."""

    def _budget(self, n_rows: int | None) -> cover.Cover:
        radius = float(self.coverage_radius_)
        limit = UNLIMITED if self.max_core is None else self.max_core
        never, drops = (0.0, 1.0), self.when_full == "drop"
        return cover.make("ball", radius, radius, *never, limit, drops)


@system(example="coverage_radius=0.25", score=0.98)
class QKLMSClassifier(QKLMS, OnlineClassifier):
    """Kernel least mean squares whose centres stand for the rows around them."""


@system(example="coverage_radius=0.2", score=1.0)
class QKLMSRegressor(QKLMS, OnlineRegressor):
    """Kernel least mean squares whose centres stand for the rows around them."""
