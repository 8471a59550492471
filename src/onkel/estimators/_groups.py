"""The parameters that systems share, in groups, and what each group makes of them."""

import math
from numbers import Integral
from typing import Any, cast

from sklearn.utils._param_validation import Interval

from onkel.budget import merge_several, neighbors
from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED
from onkel.budget.merge import Merge
from onkel.budget.project import Project
from onkel.budget.remove import Remove
from onkel.estimators._parameters import (
    AUTO,
    BOOLEAN,
    FROM_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    group,
    one_of,
    parameter,
)
from onkel.model.averages import DECAY, Window
from onkel.problem import losses, rates
from onkel.problem.kernels import KERNELS
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.refit import devices

# Threads; more would take longer to begin than to work.
MOST_JOBS = 1024
# A power takes as many products; beyond this it is 0, 1 or infinite anyway.
HIGHEST_DEGREE = 1000
# Centres that merge, at least.
PAIR = 2


# ---- the kernel


@group
class RadialKernel:
    """A kernel with one number."""

    kernel: str = parameter(
        one_of(KERNELS),
        default="rbf",
        text="rbf exp(-gamma |x-z|^2), laplacian exp(-gamma |x-z|_1), poly "
        "(gamma <x,z> + coef0)^degree, or linear <x,z>.",
    )
    gamma: str | float = parameter(
        one_of({"scale", "median"}),
        POSITIVE,
        default="scale",
        text='Kernel coefficient. "scale": 1/(features * variance of X). "median": 1 '
        "over the median squared distance. In a stream both are taken from its first "
        "rows, up to 1,024, however they are cut into calls.",
    )


@group
class AnyKernel(RadialKernel):
    """Any of the kernels."""

    degree: int = parameter(
        Interval(Integral, 1, HIGHEST_DEGREE, closed="both"),
        default=3,
        text="Degree of the poly kernel.",
    )
    coef0: float = parameter(
        NOT_NEGATIVE, default=1.0, text="Constant of the poly kernel."
    )


# ---- how to run


@group
class Seeded:
    """Threads and a seed."""

    n_jobs: int | None = parameter(
        Interval(Integral, 1, MOST_JOBS, closed="both"),
        Interval(Integral, None, -1, closed="right"),
        None,
        default=None,
        text="Threads. None means 1, -1 as many as there are cores.",
    )
    random_state: Any = parameter(
        "random_state",
        default=None,
        text="Seed of the order of rows in fit and of the system's draws.",
    )


@group
class Talkative(Seeded):
    """Something that says how far it has come."""

    verbose: int = parameter("verbose", default=0, text="Whether to print progress.")


@group
class Blockwise(Talkative):
    """Something that takes rows a block at a time."""

    block_size: str | int = parameter(
        AUTO,
        FROM_ONE,
        default="auto",
        text="Rows whose kernel values are computed at a time. The result does not "
        "depend on it.",
    )


@group
class Passes(Blockwise):
    """Passes over the rows."""

    max_iter: int = parameter(FROM_ONE, default=1, text="Passes over the data in fit.")
    shuffle: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether fit takes the rows of each pass in random order.",
    )


# ---- the loss


@group
class Tube:
    """Errors that cost nothing."""

    epsilon: float = parameter(
        NOT_NEGATIVE,
        default=0.1,
        text="Errors up to this cost nothing (epsilon_insensitive).",
    )


@group
class MarginLoss:
    """A loss for classes."""

    loss: str = parameter(
        one_of(losses.MARGIN), default="hinge", text="Name of the loss."
    )
    smoothing: float = parameter(
        SHARE,
        default=0.5,
        text="Width of the quadratic part of smooth_hinge.",
    )

    def _loss(self) -> Loss:
        return losses.make(self.loss, smoothing=self.smoothing)


@group
class ResidualLoss(Tube):
    """A loss for numbers."""

    loss: str = parameter(
        one_of(losses.RESIDUAL),
        default="epsilon_insensitive",
        text="Name of the loss.",
    )

    def _loss(self) -> Loss:
        return losses.make(self.loss, epsilon=self.epsilon)


@group
class Mistakes:
    """Rows count if their class was not predicted, one as much as the other."""

    def _loss(self) -> Loss:
        return losses.make("perceptron")

    def _rate(self) -> Rate:
        return rates.constant()


@group
class FixedSteps(Tube):
    """Steps of one length towards numbers."""

    eta0: float = parameter(POSITIVE, default=0.5, text="Step size.")

    def _loss(self) -> Loss:
        return losses.make("epsilon_insensitive", epsilon=self.epsilon)

    def _rate(self) -> Rate:
        return rates.constant(self.eta0)


@group
class LeastSquares:
    """Steps towards targets, each a constant share of the error."""

    eta0: float = parameter(POSITIVE, default=0.5, text="Step size.")

    def _loss(self) -> Loss:
        return losses.make("squared_error")

    def _rate(self) -> Rate:
        return rates.constant(self.eta0)


# ---- the rate


@group
class Regularised:
    """A regulariser."""

    alpha: float = parameter(
        POSITIVE,
        default=1e-4,
        text="Strength of the regulariser alpha/2 |w|^2.",
    )


@group
class Pegasos(Regularised):
    """Steps of length 1/(alpha (t + t0))."""

    t0: float = parameter(
        NOT_NEGATIVE,
        default=0.0,
        text="Offset of the rate 1/(alpha (t + t0)); tames the first steps.",
    )

    def _rate(self) -> Rate:
        return rates.pegasos(self.alpha, self.t0)

    @classmethod
    def _suited(cls, rows: int, is_regression: bool) -> dict[str, Any]:
        # alpha = 1/(n C) with the C = 1 of a support vector machine. The first steps of
        # 1/(alpha t) are n long. Mistakes do not mind the scale of a score; squared
        # errors do, so in regression steps begin at 1.
        tame = {"t0": float(rows)} if is_regression else {}
        return {"alpha": 1 / rows, **tame}


@group
class Ball(Pegasos):
    """The ball that is known to hold the minimiser."""

    ball: str | bool = parameter(
        one_of({"auto", "as_printed"}),
        BOOLEAN,
        default="auto",
        text="Whether to project the model on the ball that is known to hold the "
        'minimiser. "auto": with squared_error on a budget, if alpha <= 1. '
        '"as_printed": likewise, with the radius that papers print, twice as large.',
    )

    def _ball(self, loss: Loss) -> float:
        if isinstance(self.ball, bool):
            return float(self.ball)
        needed = loss.kind == losses.Kind.SQUARED_ERROR and self.alpha <= 1.0
        return needed * (2.0 if self.ball == "as_printed" else 1.0)


@group
class ConstantSteps(Regularised):
    """Steps of a constant length, with a regulariser or without."""

    eta0: float = parameter(POSITIVE, default=0.5, text="Step size.")
    alpha: float = parameter(NOT_NEGATIVE, default=0.0)


@group
class Steps(ConstantSteps):
    """Steps of a length of their own."""

    learning_rate: str = parameter(
        one_of({"constant", "invscaling"}),
        default="constant",
        text='"constant": eta0. "invscaling": eta0 / t^power_t.',
    )
    power_t: float = parameter(
        NOT_NEGATIVE,
        default=0.5,
        text="Exponent of the invscaling rate.",
    )

    def _rate(self) -> Rate:
        if self.alpha * self.eta0 >= 1.0:
            raise ValueError(
                f"alpha * eta0 must be less than 1, or each row would turn the model "
                f"around; got alpha={self.alpha}, eta0={self.eta0}"
            )
        if self.learning_rate == "constant":
            return rates.constant(self.eta0, self.alpha)
        return rates.invscaling(self.eta0, self.alpha, self.power_t)


# ---- the budget


@group
class Budgeted:
    """A budget."""

    budget: int = parameter(
        FROM_ONE, default=500, text="Most centres that the model may keep."
    )


@group
class Maintained(Budgeted):
    """A budget, and a choice of how it is kept."""

    maintenance: str = parameter(
        one_of({"merge", "projection", "projection_knn", "removal"}),
        default="merge",
        text='What happens when the budget is exceeded. "merge": the centre with the '
        "smallest coefficient and another become one between them (rbf kernel). "
        '"projection_knn", "projection": a centre leaves, and its nearest centres, or '
        "all, take over what they can of it; projection on all costs O(budget^2) per "
        'update. "removal": the centre with the smallest share of the norm leaves.',
    )
    n_neighbors: int = parameter(
        Interval(Integral, 1, 1000, closed="both"),
        default=4,
        text="Centres that take over from one that leaves (projection_knn).",
    )
    n_merged: int = parameter(
        Interval(Integral, PAIR, 1000, closed="both"),
        default=2,
        text="Centres that become one at a time (merge). More than two make "
        "maintenance rarer, and a little coarser.",
    )
    victim: str = parameter(
        one_of({"residual", "coefficient"}),
        default="residual",
        text='Which centre projection takes out. "residual": the one of which least '
        'is lost. "coefficient": the paper\'s, the one with the smallest share of the '
        "norm.",
    )

    def _maintenance(self) -> Any:
        """Strategy that the parameters name."""
        kernel = cast(RadialKernel, self).kernel
        if self.maintenance == "merge":
            if kernel != "rbf":
                raise ValueError(
                    'maintenance="merge" needs kernel="rbf", where a point between two '
                    f"centres can stand for both; got kernel={kernel!r}. Use "
                    'maintenance="projection_knn" instead.'
                )
            several = self.n_merged > PAIR
            return merge_several.make(self.n_merged) if several else Merge()
        if self.maintenance == "projection":
            return Project(self.victim == "residual")
        if self.maintenance == "projection_knn":
            return neighbors.make(self.n_neighbors)
        return Remove()

    def _hard_budget(self) -> Bernoulli:
        """Maintenance whenever the budget is exceeded."""
        return Bernoulli(self.budget, math.inf, UNLIMITED, self._maintenance())


# ---- the answer


@group
class Averaged:
    """Which of the iterates is the answer."""

    average: str | None = parameter(
        one_of({"full", "suffix", "poly"}),
        None,
        default=None,
        text="Which model is the answer, of predictions and of `dual_coef_`. None: "
        'the last iterate. "full": the mean of all. "suffix": the mean of the last '
        'suffix_fraction of them, in fit only. "poly": a mean that forgets the '
        "beginning, for streams. Learning itself goes on from the last iterate.",
    )
    suffix_fraction: float = parameter(
        SHARE,
        default=0.5,
        text='Part of all iterates that average="suffix" is the mean of.',
    )

    def _window(self, n_rows: int | None) -> Window | None:
        """Window of the parameters; `n_rows` is None in a stream, which has no end."""
        whole = getattr(self, "average_exact", False)
        if whole and getattr(self, "refit", False):
            raise ValueError(
                "average_exact=True keeps centres that refit=True could not give "
                "coefficients to: choose one of them"
            )
        if self.average is None:
            if whole:
                raise ValueError(
                    "average_exact=True needs an average: give average="
                    '"full", for example'
                )
            return None
        if self.average == "poly":
            return Window(decay=DECAY, whole=whole)
        if self.average == "full":
            return Window(whole=whole)
        if n_rows is None:
            raise ValueError(
                'average="suffix" is the mean of the last part of all rows, and a '
                'stream has no end: use average="poly" with partial_fit'
            )
        rows = n_rows * cast(Passes, self).max_iter
        # The small term: 1 - fraction may be a rounding error above a whole number.
        before = (1.0 - self.suffix_fraction) * rows
        return Window(start=math.ceil(before - 1e-9 * rows), whole=whole)


@group
class AveragedExactly(Averaged):
    """A mean that may keep the centres which the budget made leave."""

    average_exact: bool = parameter(
        BOOLEAN,
        default=False,
        text="Whether the average keeps the centres that the budget made leave: "
        "exact, but no longer bounded. Otherwise their part is dropped, projected or "
        "merged as they were.",
    )


@group
class OnDevice:
    """Work that a GPU can do."""

    device: str = parameter(
        one_of(devices.NAMES),
        default="auto",
        text="Where kernel values of all rows are computed: "
        '"cuda", a GPU (needs onkel[gpu]), "cpu", or "auto", a GPU for much work if '
        "there is one. It does the passes of fit, or of refit=True, and what "
        "KernelClassifier and KernelRegressor predict. Models are ordinary models, "
        "which predict without a GPU, too.",
    )


@group
class Refitted(OnDevice):
    """Coefficients found anew at the end."""

    refit: bool = parameter(
        BOOLEAN,
        default=False,
        text="Whether fit ends with the coefficients that suit all rows best, given "
        "the centres: a convex problem. A loss with a kink is smoothed for it, the "
        "hinge to the squared hinge; several classes are one against the rest each.",
    )


@group
class Monitored:
    """A history of the objective."""

    monitor: bool = parameter(
        BOOLEAN,
        default=False,
        text="Whether fit keeps `history_`: for every epoch the seconds so far, the "
        "primal objective and the surrogate of the dual (as of a support vector "
        "machine with C = 1/(alpha n)), the shares of rows that changed the model and "
        "that were followed by maintenance, and the size of the model. Costs a "
        "prediction of all rows and of the centres per epoch.",
    )


@group
class ClassWeighted:
    """Weights of the classes."""

    class_weight: dict | str | None = parameter(
        one_of({"balanced"}),
        dict,
        None,
        default=None,
        text='Weights of the classes, as a dict, or "balanced" (in fit only): '
        "inversely proportional to their frequency. A weight for a class that there "
        "is not is refused; in a stream only if partial_fit is told the classes.",
    )
