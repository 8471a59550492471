"""AVM: approximation vector machines.

    min_w  P(w) = alpha/2 |w|^2 + mean_i l(<w, phi(x_i)>, y_i)

Update at row t with rate 1/(alpha (t + t0)), g = dl/df at w_t and x_t:

    w_{t+1} = (t + t0 - 1)/(t + t0) w_t - g / (alpha (t + t0)) phi(z_t)

where z_t is the core of the cell that covers x_t, a new core at x_t if there is none,
or, with probability min(beta / t^rho, 1), x_t itself. Nothing is ever deleted; with
beta = 0 the size of the model is at most the number of cells, whatever the order of the
rows. The gap to stochastic gradient descent is proportional to

    delta_phi = sqrt(2 (1 - exp(-gamma delta^2))),

the diameter of a cell in feature space (`coverage_gap_`).

| symbol | here |
|---|---|
| lambda | alpha |
| delta, diameter of a cell | 2 coverage_radius |
| beta, rho | approx_beta, approx_rho |
| delta_phi | coverage_gap_ |

Deviations: only rows with an update become cores (lazy_core=False: all, as in the
paper). Boxes around a core have half the paper's width, so that the diameter is delta
(paper_box=True: the paper's), and of several the nearest is taken, not the first. The
ball for squared_error has radius ymax/(2 sqrt(alpha)), half of the paper's and still
valid (ball="as_printed": the paper's). With max_core, which the authors' code has and
the paper has not, the nearest core takes what would need a new one; their code drops it
(when_full="drop"). The grid is ours.

With the ball the model keeps the Gram matrix of its centres.
"""

import math

from onkel.budget import cover
from onkel.budget.declaration import UNLIMITED
from onkel.engine.plan import Plan
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._coverage import Covered
from onkel.estimators._groups import (
    AnyKernel,
    Averaged,
    Ball,
    MarginLoss,
    Passes,
    Refitted,
    ResidualLoss,
)
from onkel.estimators._parameters import (
    BOOLEAN,
    NOT_NEGATIVE,
    POSITIVE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem.kernels import Kernel


@group
class AVM(Ball, Averaged, Refitted, AnyKernel, Passes, Covered):
    """What classifier and regressor share."""

    coverage: str = parameter(
        one_of({"sphere", "box", "grid"}),
        default="sphere",
        text='What a core covers. "sphere": points nearer than the radius. "box": '
        "points whose features all differ by less than radius / sqrt(features). "
        '"grid": its cell of a grid with side 2 radius / sqrt(features); found without '
        "a search, sensible for up to 20 features.",
    )
    approx_beta: float = parameter(
        NOT_NEGATIVE,
        default=0.0,
        text="Row t is kept as a centre of its own, instead of giving its update to a "
        "core, with probability min(approx_beta / t^approx_rho, 1); 0 for never.",
    )
    approx_rho: float = parameter(
        POSITIVE, default=1.0, text="Exponent of that probability."
    )
    paper_box: bool = parameter(
        BOOLEAN,
        default=False,
        text="Whether boxes are twice as wide, as in the paper, whose cells then have "
        "twice the diameter.",
    )
    lazy_core: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether only rows with an update may become cores; False for all, as in "
        "the paper.",
    )

    @property
    def n_cores_(self) -> int:
        """Centres that cover a cell; the others were kept because of approx_beta."""
        return int(self._fitted().budget.counters[0].cores)

    @property
    def coverage_gap_(self) -> float:
        """Largest distance in feature space of two points of a cell.

        Compare it with sqrt(2), the distance of points that are nothing alike: the
        closer, the less a core can stand for its cell. NaN for the poly kernel, for
        which no such bound exists.
        """
        kernel = self._fitted().plan.kernel
        diameter = 2.0 * self.coverage_radius_ * (2.0 if self.paper_box else 1.0)
        if self.kernel == "linear":
            return diameter
        if self.kernel == "poly":
            return math.nan
        exponent = kernel.gamma * diameter * diameter
        if self.kernel == "laplacian":
            exponent = kernel.gamma * diameter * math.sqrt(self.n_features_in_)
        return math.sqrt(-2.0 * math.expm1(-exponent))

    def _plan(self, kernel: Kernel) -> Plan:
        plan: Plan = super()._plan(kernel)
        return plan._replace(every_row=not self.lazy_core)

    def _budget(self, n_rows: int | None) -> cover.Cover:
        if self.paper_box and self.coverage != "box":
            raise ValueError(
                f'paper_box=True needs coverage="box", got coverage={self.coverage!r}'
            )
        radius = float(self.coverage_radius_)
        half_width = radius / math.sqrt(self.n_features_in_)
        return cover.make(
            self.coverage,
            radius,
            2.0 * half_width if self.paper_box else half_width,
            float(self.approx_beta),
            float(self.approx_rho),
            UNLIMITED if self.max_core is None else self.max_core,
            self.when_full == "drop",
        )


@system()
class AVMClassifier(MarginLoss, AVM, LossClassifier):
    """Stochastic gradient descent on the cores of cells that cover the rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import AVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = AVMClassifier(coverage_radius=0.25, random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:])), model.model_size_ < 50
    (0.98, True)
    """


@system(example="coverage_radius=0.2, alpha=0.01", score=1.0)
class AVMRegressor(ResidualLoss, AVM, WeightedRegressor):
    """Stochastic gradient descent on cores, for regression."""
