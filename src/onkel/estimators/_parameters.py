"""The parameters that systems share: their ranges and their documentation, once.

What a user gives as a number may be numpy's, whose arithmetic is another: 255 + 1 is 0
in uint8. So a numeric parameter is kept as it was given, for `get_params` and `clone`,
and read, as in `self.budget`, as Python's int or float (`Plain`).
"""

import contextlib
import inspect
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

from onkel.kernels import KERNELS

C = TypeVar("C", bound=type)

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
# What compiled code can count.
FROM_ONE = Interval(Integral, 1, 2**62, closed="both")
FROM_TWO = Interval(Integral, 2, 2**62, closed="both")
# Most of what is allocated at once.
MILLION = 10**6
# Threads; more would take longer to begin than to work.
MOST_JOBS = 1024
# A power takes as many products; beyond this it is 0, 1 or infinite anyway.
HIGHEST_DEGREE = 1000

RANGES: dict[str, list[Any]] = {
    "C": [POSITIVE],
    "aggressive": ["boolean"],
    "alpha": [POSITIVE],
    "approx_beta": [NOT_NEGATIVE],
    "approx_rho": [POSITIVE],
    "average": [StrOptions({"full", "suffix", "poly"}), None],
    "average_exact": ["boolean"],
    "ball": [StrOptions({"auto"}), "boolean"],
    "block_size": [StrOptions({"auto"}), FROM_ONE],
    "budget": [FROM_ONE],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "coef0": [NOT_NEGATIVE],
    "coverage": [StrOptions({"sphere", "box", "grid"})],
    "coverage_radius": [StrOptions({"auto"}), POSITIVE],
    "degree": [Interval(Integral, 1, HIGHEST_DEGREE, closed="both")],
    "epsilon": [NOT_NEGATIVE],
    "eta0": [POSITIVE],
    "features": [StrOptions({"fourier", "orthogonal"})],
    "gamma": [StrOptions({"scale", "median"}), POSITIVE],
    "hard_budget": [FROM_ONE, None],
    "kernel": [StrOptions(set(KERNELS))],
    "landmarks": [StrOptions({"kmeans", "uniform", "first"})],
    "lazy_core": ["boolean"],
    "learning_rate": [StrOptions({"constant", "invscaling"})],
    "maintenance": [StrOptions({"merge", "projection", "projection_knn", "removal"})],
    "maintenance_fraction": [NOT_NEGATIVE, None],
    "maintenance_rate": [Interval(Real, 0, None, closed="both"), None],
    "margin": [NOT_NEGATIVE],
    "max_coef": [POSITIVE],
    "max_core": [FROM_ONE, None],
    "max_iter": [FROM_ONE],
    "memory_size": [Interval(Integral, 1, MILLION, closed="both")],
    "merge_size": [FROM_ONE],
    "monitor": ["boolean"],
    "n_components": [Interval(Integral, 1, MILLION, closed="both")],
    "n_jobs": [
        Interval(Integral, 1, MOST_JOBS, closed="both"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "n_neighbors": [Interval(Integral, 1, 1000, closed="both")],
    "oracle": [StrOptions({"budget", "coverage", "always_move"})],
    "paper_box": ["boolean"],
    "power_t": [NOT_NEGATIVE],
    "projection_threshold": [NOT_NEGATIVE],
    "random_state": ["random_state"],
    "rank": [FROM_ONE, None],
    "refit": ["boolean"],
    "reset": ["boolean"],
    "sampling": [StrOptions({"uniform", "weighted"})],
    "selection": [StrOptions({"permutation", "uniform", "acf"})],
    "shuffle": ["boolean"],
    "smoothing": [Interval(Real, 0, 1, closed="right")],
    "snapshot_period": [FROM_ONE],
    "suffix_fraction": [Interval(Real, 0, 1, closed="right")],
    "t0": [NOT_NEGATIVE],
    "tol": [NOT_NEGATIVE],
    "variant": [StrOptions({"s", "nn", "p"})],
    "verbose": ["verbose"],
    "victim": [StrOptions({"residual", "coefficient"})],
}

TEXTS = {
    "C": (
        "Cap on the dual variables, as in a support vector machine; in passive-"
        "aggressive learning the longest step."
    ),
    "aggressive": "Whether to learn from rows with a small margin too (Projectron++).",
    "alpha": "Strength of the regulariser alpha/2 |w|^2.",
    "approx_beta": (
        "Row t is kept as a centre of its own, instead of giving its update to a core, "
        "with probability min(approx_beta / t^approx_rho, 1); 0 for never."
    ),
    "approx_rho": "Exponent of that probability.",
    "average": (
        "Which model is the answer, of predictions and of `dual_coef_`. None: the last "
        'iterate. "full": the mean of all. "suffix": the mean of the last '
        'suffix_fraction of them, in fit only. "poly": a mean that forgets the '
        "beginning, for streams. Learning itself goes on from the last iterate."
    ),
    "average_exact": (
        "Whether the average keeps the centres that the budget made leave: exact, but "
        "no longer bounded. Otherwise their part is dropped, projected or merged as "
        "they were."
    ),
    "ball": (
        "Whether to project the model on the ball that is known to hold the minimiser. "
        '"auto": with squared_error on a budget, if alpha <= 1.'
    ),
    "block_size": (
        "Rows whose kernel values are computed at a time. The result does not depend "
        "on it."
    ),
    "budget": "Most centres that the model may keep.",
    "class_weight": (
        'Weights of the classes, as a dict, or "balanced" (in fit only): inversely '
        "proportional to their frequency. A weight for a class that there is not is "
        "refused; in a stream only if partial_fit is told the classes."
    ),
    "coef0": "Constant of the poly kernel.",
    "coverage": (
        'What a core covers. "sphere": points nearer than the radius. "box": points '
        "whose features all differ by less than radius / sqrt(features). "
        '"grid": its cell of a grid with side 2 radius / sqrt(features); found without '
        "a search, sensible for up to 20 features."
    ),
    "coverage_radius": (
        'Radius of the cells. A smaller one gives a larger and better model. "auto": '
        "mean less standard deviation of the distances of up to 1,000 rows, in a "
        "stream of its first 1,024."
    ),
    "degree": "Degree of the poly kernel.",
    "epsilon": "Errors up to this cost nothing (epsilon_insensitive).",
    "eta0": "Step size.",
    "features": (
        '"fourier": independent frequencies. "orthogonal": frequencies at right angles '
        "to each other, whose kernel values vary less (rbf kernel). Not used with the "
        "linear kernel."
    ),
    "gamma": (
        'Kernel coefficient. "scale": 1/(features * variance of X). "median": 1 over '
        "the median squared distance. In a stream both are taken from its first rows, "
        "up to 1,024, however they are cut into calls."
    ),
    "hard_budget": "Size beyond which maintenance is certain; None for no such size.",
    "kernel": (
        "rbf exp(-gamma |x-z|^2), laplacian exp(-gamma |x-z|_1), poly "
        "(gamma <x,z> + coef0)^degree, or linear <x,z>."
    ),
    "landmarks": (
        'Which points. "kmeans": the centres of k-means (on at most 50 rows for each). '
        '"uniform": rows at random. "first": the first rows.'
    ),
    "lazy_core": (
        "Whether only rows with an update may become cores; False for all, as in the "
        "paper."
    ),
    "learning_rate": '"constant": eta0. "invscaling": eta0 / t^power_t.',
    "loss": "Name of the loss.",
    "maintenance": (
        'What happens when the budget is exceeded. "merge": the centre with the '
        "smallest coefficient and another become one between them (rbf kernel). "
        '"projection_knn", "projection": a centre leaves, and its nearest centres, or '
        "all, take over what they can of it; projection on all costs O(budget^2) per "
        'update. "removal": the centre with the smallest share of the norm leaves.'
    ),
    "maintenance_fraction": (
        "maintenance_rate as a fraction of the number of rows given to fit. If neither "
        "is given, fit takes 0.6, and a stream, whose length nobody knows, maintains "
        "at every excess."
    ),
    "maintenance_rate": (
        "Over budget, row t maintains with probability min(maintenance_rate / t, 1). "
        "A large rate gives a small model."
    ),
    "margin": "A row with margin up to this is a mistake.",
    "max_coef": "No coefficient may exceed max_coef * eta0.",
    "max_core": (
        "Most cores. When there are so many, a row that none covers gives its update "
        "to the nearest; `n_absorbed_` counts. None for no limit."
    ),
    "max_iter": "Passes over the data in fit.",
    "memory_size": (
        "Rows of the recent past whose mean gradient steadies the steps. Steps cost "
        "the same for any number; each checkpoint visits all of them."
    ),
    "merge_size": "Centres that move to the features when the budget is exceeded.",
    "monitor": (
        "Whether fit keeps `history_`: for every epoch the seconds so far, the primal "
        "objective and the surrogate of the dual (as of a support vector machine with "
        "C = 1/(alpha n)), the shares of rows that changed the model and that were "
        "followed by maintenance, and the size of the model. Costs a prediction of all "
        "rows and of the centres per epoch."
    ),
    "n_components": (
        "Number of features, half of them cosines and half sines: an even number. Not "
        "used with the linear kernel, for which the rows are their own features."
    ),
    "n_jobs": "Threads. None means 1, -1 as many as there are cores.",
    "n_neighbors": "Centres that take over from one that leaves (projection_knn).",
    "oracle": (
        'Which rows become centres. "budget": the first `budget`. "coverage": those '
        'that no centre covers. "always_move": none. All others move to the features.'
    ),
    "paper_box": (
        "Whether boxes are twice as wide, as in the paper, whose cells then have twice "
        "the diameter."
    ),
    "power_t": "Exponent of the invscaling rate.",
    "projection_threshold": (
        "A row becomes a centre only if the norm of what the centres do not represent "
        "of it exceeds this."
    ),
    "random_state": "Seed of the order of rows in fit and of the system's draws.",
    "rank": "Number of Nystrom features, at most the budget; None for a fifth of it.",
    "refit": (
        "Whether fit ends with the coefficients that suit all rows best, given the "
        "centres: a convex problem. A loss with a kink is smoothed for it, the hinge "
        "to the squared hinge; several classes are one against the rest each."
    ),
    "reset": "Whether the model goes back to that mean at a checkpoint.",
    "sampling": '"uniform" (BOGD) or "weighted" (BOGD++).',
    "selection": (
        'Order of the visits. "permutation": every row once an epoch. "uniform": at '
        'random. "acf": rows whose steps gain much come more often.'
    ),
    "shuffle": "Whether fit takes the rows of each pass in random order.",
    "smoothing": "Width of the quadratic part of smooth_hinge.",
    "snapshot_period": (
        "Rows between two checkpoints, at which the mean of the models since the last "
        "is taken."
    ),
    "suffix_fraction": 'Part of all iterates that average="suffix" is the mean of.',
    "t0": "Offset of the rate 1/(alpha (t + t0)); tames the first steps.",
    "tol": (
        "Stop when the dual, as seen on the way through an epoch, differs by less than "
        "this share from the epoch before; 0 for all epochs."
    ),
    "variant": (
        'Who stands in for the centre that leaves. "s": the newcomer. "nn": the '
        "newcomer and the nearest neighbour of the one that leaves. "
        '"p": all, at a cost of O(budget^2) per update.'
    ),
    "verbose": "Whether to print progress.",
    "victim": (
        'Which centre projection takes out. "residual": the one of which least is '
        'lost. "coefficient": the paper\'s, the one with the smallest share of the '
        "norm."
    ),
}


class Plain:
    """A parameter that is read as Python's number, whatever kind of number it is.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import RBPClassifier
    >>> model = RBPClassifier(budget=np.uint8(255))
    >>> model.budget + 1, model.get_params()["budget"]
    (256, np.uint8(255))
    """

    def __init__(self, name: str, kind: type) -> None:
        self.name, self.kind = name, kind

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        try:
            value = vars(estimator)[self.name]
        except KeyError:
            raise AttributeError(
                f"{owner.__name__!r} object has no attribute {self.name!r}"
            ) from None
        return self.read(value)

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)[self.name] = value

    def read(self, value: Any) -> Any:
        """Return the number; what is none, or of a wrong kind, is left as it is."""
        if isinstance(value, Integral if self.kind is int else Real):
            with contextlib.suppress(OverflowError):  # the check of ranges will say so
                return self.kind(value)
        return value


def kind_of(allowed: list[Any]) -> type | None:
    """Python's type for the numbers of a range, None if there are none in it."""
    kinds = {entry.type for entry in allowed if isinstance(entry, Interval)}
    return None if not kinds else int if kinds == {Integral} else float


def one_of(names: Iterable[str]) -> list[Any]:
    """Range of a parameter that takes one of some names."""
    return [StrOptions(set(names))]


def constraints(names: Any, **others: list[Any]) -> dict[str, list[Any]]:
    """Ranges of the named parameters; `others` are the system's own."""
    return {name: others.get(name) or RANGES[name] for name in names}


def system(texts: Mapping[str, str] = TEXTS, **ranges: list[Any]) -> Any:
    """Decorate a system: parameter ranges and documentation from the tables above.

    Parameters
    ----------
    texts
        Documentation, if some differs.
    **ranges
        Ranges that differ from the shared ones, or are the system's own.
    """

    def decorate(cls: C) -> C:
        parameters = dict(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
        del parameters["self"]
        allowed = constraints(parameters, **ranges)
        cls._parameter_constraints = allowed  # type: ignore[attr-defined]
        for name in parameters:
            kind = kind_of(allowed[name])
            if kind is not None:
                setattr(cls, name, Plain(name, kind))
        lines = ["", "Parameters", "----------"]
        for name, parameter in parameters.items():
            lines += [f"{name} : default={parameter.default!r}", f"    {texts[name]}"]
        summary, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n")
        cls.__doc__ = "\n".join([summary, *lines, rest])
        return cls

    return decorate
