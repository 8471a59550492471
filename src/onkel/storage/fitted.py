"""Estimators of a file: what learning has left in them, each part as it must be.

The estimator is made of its public parameters. A second one, with those that it began
to learn with, makes empty learners, which the file fills (see `filling`). Everything
else that learning leaves is listed here, with what it may be.
"""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, Shape
from onkel.engine.mapper import Mapper
from onkel.estimators._labels import outputs_for
from onkel.estimators._machine_quick import Successor
from onkel.estimators._machine_stream import StreamingMachine
from onkel.estimators._recipe import RecipeEstimator
from onkel.model.ranges import MOST, within
from onkel.storage.expansions import (
    former_expansion,
    refuse_expansion,
    refuse_former,
)
from onkel.storage.learners import filled_learner, filled_mapper
from onkel.storage.machines import (
    check_machine,
    check_rows,
    former_machine,
    without_a_stream,
)

# What learning leaves that is checked where it is filled in, or in `machines`.
CHECKED_LATER = (
    *("_learner", "_mapper", "_expansion", "_started_with", "_beginning"),
    *("_recent", "_fixed", "_quick", "_tally", "_draws", "_order", "_successor"),
    *("_next_order", "_next_trial", "_choice", "_mixture"),
    *("scaler_", "relevance_", "calibration_"),
    # of former versions
    *("mixture_", "_next_refit", "_extent", "_quick_scaler", "_quick_gamma"),
    *("_quick_noise", "_quick_forgetting"),
)
# Made anew when needed, or somebody else's.
LEFT_OUT = ("_checked_parameters", "_callback", "_skl_callback", "_background")


def _number(least: float, most: float = math.inf) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise ValueError(f"{name} is no number")
        number = float(value)
        unknown = math.isnan(number) and least == -math.inf
        if not (least <= number <= most or unknown):
            raise ValueError(f"{name} is not within {least:g} and {most:g}")

    return check


def _history(name: str, value: Any) -> None:
    lists = value.values() if isinstance(value, dict) else [None]
    for numbers in lists:
        if not isinstance(numbers, list):
            raise ValueError(f"{name} is no table")
        for number in numbers:
            _number(-math.inf)(name, number)


def _names(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1:
        raise ValueError(f"{name} is no list of names")
    if not all(isinstance(part, str) for part in value):
        raise ValueError(f"{name} has a name that is no text")


def _classes(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) == 0:
        raise ValueError(f"{name} is no list of labels")
    if value.dtype.kind not in "biufUO":
        raise ValueError(f"{name} holds {value.dtype}, which are no labels")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} has a label that is not finite")
    if value.dtype == object:
        numbers = [isinstance(part, Real) for part in value]
        texts = [isinstance(part, str) for part in value]
        if not (all(numbers) or all(texts)):
            raise ValueError(f"{name} holds what is no label")
    if not np.array_equal(np.unique(value), value):
        raise ValueError(f"{name} is not in order, or has a label twice")


def _matrix(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        raise ValueError(f"{name} holds no numbers")
    within(name, value, -math.inf, math.inf)


def _loss(name: str, value: Any) -> None:
    if value not in ("squared_hinge", "log_loss"):
        raise ValueError(f"{name} is no loss")


def _seed(name: str, value: Any) -> None:
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) > 8 or not all(
        type(number) is int and 0 <= number < 2**128 for number in numbers
    ):
        raise ValueError(f"{name} is no seed")


def _bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither True nor False")


POSITIVE, WHOLE = _number(5e-324, 1.7e308), _number(0, MOST)
# What else it leaves, and what that may be.
CHECKS: dict[str, Callable[[str, Any], None]] = {
    "n_features_in_": WHOLE,
    "feature_names_in_": _names,
    "classes_": _classes,
    "n_iter_": WHOLE,
    "t_": WHOLE,
    "history_": _history,
    "dual_variables_": _matrix,
    "coverage_radius_": _number(0.0, 1.7e308),
    "eta0_": POSITIVE,
    "noise_": POSITIVE,
    "forgetting_": _number(5e-324, 1.0),
    "_classes_given": _bool,
    "_seed": _seed,
    "loss_": _loss,
    "_start": POSITIVE,
    "gamma_": POSITIVE,
    "C_": POSITIVE,
    "held_out_error_": _number(-math.inf),
    "target_mean_": _number(-1.7e308, 1.7e308),
    "target_scale_": POSITIVE,
}


# What learning always leaves: in all, in classifiers, and in kernel machines.
OF_ALL = ("n_features_in_", "n_iter_", "_started_with")
OF_CLASSIFIERS = ("classes_", "_classes_given")
OF_MACHINES = (
    *("gamma_", "C_", "held_out_error_", "scaler_", "relevance_", "_mixture"),
    *("_recent", "_start", "_next_order", "_next_trial", "_fixed"),
    *("_tally", "_draws", "_quick", "_choice", "_order", "_successor"),
)


def _refuse_without(names: list[str], fitted: dict[str, Any]) -> None:
    for name in names:
        if name not in fitted:
            raise ValueError(f"{name} is missing")


def is_known(attribute: str) -> bool:
    """Whether learning leaves such an attribute."""
    return attribute in CHECKED_LATER or attribute in CHECKS


def made(cls: Any, parameters: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """Make an estimator of its parameters, and of what it has learnt, if that fits."""
    estimator = cls(**parameters)
    if not fitted:
        return estimator
    for name, value in fitted.items():
        if not is_known(name):
            raise ValueError(f"{name!r} is no attribute of an estimator")
        if name in CHECKS:
            CHECKS[name](name, value)
    if "_mapper" in fitted:
        fitted = {**fitted, "_mapper": _mapper(cls(**parameters), fitted)}
    elif issubclass(cls, StreamingMachine):
        fitted = _machine(cls, parameters, fitted)
    elif issubclass(cls, RecipeEstimator):
        fitted = _learnt(cls, parameters, fitted)
    else:
        fitted = _expanded(cls, parameters, fitted)
    estimator.__dict__.update(fitted)
    return estimator


def _shape(points: Any, fitted: dict[str, Any]) -> tuple[int, Any]:
    """Return the number of features and the precision, if they can be such."""
    if not isinstance(points, np.ndarray) or points.ndim != 2:
        raise ValueError("its points are no matrix")
    if points.dtype not in (np.float32, np.float64):
        raise ValueError(f"its points are {points.dtype}")
    features = fitted["n_features_in_"]
    if not isinstance(features, Integral) or not features == points.shape[1] > 0:
        raise ValueError("n_features_in_ is not the number of features of its points")
    names = fitted.get("feature_names_in_")
    if names is not None and len(names) != features:
        raise ValueError("feature_names_in_ does not name its features")
    return int(features), points.dtype


def _mapper(twin: Any, fitted: dict[str, Any]) -> Mapper:
    value = fitted["_mapper"]
    if not isinstance(value, Mapper):
        raise ValueError("its feature map is none")
    features, dtype = _shape(value.points, fitted)
    return filled_mapper(twin._blank(features, dtype, value), value)


def _learnt(
    cls: Any, parameters: dict[str, Any], fitted: dict[str, Any]
) -> dict[str, Any]:
    """Check what a system has that follows a recipe."""
    names = [*OF_ALL, "_learner"]
    names += OF_CLASSIFIERS if issubclass(cls, ClassifierMixin) else ()
    names += ["coverage_radius_"] if "coverage_radius" in parameters else ()
    _refuse_without(names, fitted)
    value = fitted["_learner"]
    if not isinstance(value, Learner):
        raise ValueError("its learner is none")
    started = _started(cls, fitted)
    features, dtype = _shape(value.model.points, fitted)
    if value.model.norms.shape != value.model.points.shape[:1]:
        raise ValueError("Model.norms is not as long as Model.points")
    outputs, twin = _outputs(cls, fitted), cls(**{**parameters, **started})
    learner = filled_learner(twin._blank(outputs, features, dtype, value), value)
    _refuse_learnt_of_one_label(outputs, fitted, learner.size)
    _check_beginning(cls, fitted, Shape(outputs, features, dtype))
    return {**fitted, "_learner": learner, "_started_with": started}


def _refuse_learnt_of_one_label(
    outputs: int, fitted: dict[str, Any], size: int
) -> None:
    if outputs == 1 and len(fitted.get("classes_", (0, 1))) < 2 and size:
        raise ValueError("who has seen a single label has learnt nothing")


def _check_beginning(cls: Any, fitted: dict[str, Any], shape: Shape) -> None:
    """Check the first rows of a stream, if it has just begun."""
    if fitted.get("_beginning") is not None:
        if "_seed" not in fitted:
            raise ValueError("_seed is missing from a stream that has just begun")
        check_rows("_beginning", fitted["_beginning"], shape, cls._longest_beginning)


def _machine(
    cls: Any, parameters: dict[str, Any], fitted: dict[str, Any]
) -> dict[str, Any]:
    """Check what a kernel machine has: a fixed model, and perhaps a quick learner."""
    if "_learner" in fitted:  # of a former version
        fitted = former_machine(fitted)
    if "_choice" not in fitted:
        fitted = {"_order": None, **without_a_stream(fitted)}
    is_classifier = issubclass(cls, ClassifierMixin)
    names = [*OF_ALL, *OF_MACHINES]
    names += OF_CLASSIFIERS if is_classifier else ("target_mean_", "target_scale_")
    # A machine that has only been fitted makes probabilities by these.
    if is_classifier and fitted.get("_quick") is None:
        names += ["calibration_"] if len(fitted.get("classes_", ())) > 1 else []
    _refuse_without(names, fitted)
    value = fitted["_fixed"]
    if type(value) is not FittedExpansion:
        raise ValueError("its fixed model is none")
    started = _started(cls, fitted)
    features, dtype = _shape(value.points, fitted)
    shape = Shape(_outputs(cls, fitted), features, dtype)
    given = {**parameters, **started}
    refuse_expansion(value, cls(**given), shape, least=0)
    _refuse_learnt_of_one_label(shape.outputs, fitted, value.size)
    fitted = {**fitted, "_started_with": started}

    def quick(learner: Any) -> Learner:
        if not isinstance(learner, Learner):
            raise ValueError("its quick learner is none")
        blank = cls(**given)._blank(shape.outputs, features, dtype, learner)
        return filled_learner(blank, learner)

    if fitted["_quick"] is not None:
        fitted["_quick"] = quick(fitted["_quick"])
    if (successor := fitted["_successor"]) is not None:
        if not isinstance(successor, Successor):
            raise ValueError("its successor is none")
        learner = quick(successor.learner)
        fitted["_successor"] = successor._replace(learner=learner)
    check_machine(fitted, shape, int(started["memory_size"]))
    _check_beginning(cls, fitted, shape)
    return fitted


def _expanded(
    cls: Any, parameters: dict[str, Any], fitted: dict[str, Any]
) -> dict[str, Any]:
    """Check what a system has that learnt all rows at once."""
    if "_learner" in fitted:  # of a former version
        learner = refuse_former(fitted["_learner"])
        fitted = {
            **{name: part for name, part in fitted.items() if name != "_learner"},
            "_expansion": former_expansion(learner),
            "t_": int(learner.counters.t),
        }
    names = [*OF_ALL, "_expansion", "t_"]
    names += OF_CLASSIFIERS if issubclass(cls, ClassifierMixin) else ()
    _refuse_without(names, fitted)
    value = fitted["_expansion"]
    if type(value) is not FittedExpansion:
        raise ValueError("its expansion is none")
    features, dtype = _shape(value.points, fitted)
    shape = Shape(_outputs(cls, fitted), features, dtype)
    started = _started(cls, fitted)
    twin = cls(**{**parameters, **started})
    refuse_expansion(value, twin, shape, least=1, most=twin.budget)
    return {**fitted, "_started_with": started}


def _started(cls: Any, fitted: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that an estimator began to learn with."""
    started = fitted.get("_started_with")
    # Those of a version that had fewer parameters began with the defaults of the rest.
    defaults = cls()._learning_parameters()
    if not isinstance(started, dict) or not started.keys() <= defaults.keys():
        raise ValueError("it began with other parameters than it has")
    return {**defaults, **started}


def _outputs(cls: type, fitted: dict[str, Any]) -> int:
    """Scores of a row: those of its labels, or of a regressor."""
    if not issubclass(cls, ClassifierMixin):
        if "classes_" in fitted:
            raise ValueError("a regressor has no classes_")
        return 1
    return outputs_for(fitted["classes_"])
