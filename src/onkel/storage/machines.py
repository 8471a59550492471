"""Machines: whether what a kernel machine keeps besides its learner fits the learner.

Rows that it was shown last, and the scale of features, come back to compiled code with
the next re-fit. A file may only say what a machine could have come to.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from onkel.engine.learner import Shape
from onkel.engine.mixture import Mixture, begin
from onkel.estimators._checks import largest_entry
from onkel.estimators._machine_quick import LEARNERS, PACE, Choice, Given
from onkel.estimators._machine_stream import Order, Tally
from onkel.model.ranges import MOST, within
from onkel.refit.calibration import BENDS, FEW_BENDS
from onkel.refit.reservoir import MOST_CHUNKS, Reservoir
from onkel.storage.expansions import former_expansion, refuse_former
from onkel.storage.tree import OF_FEATURES


def former_machine(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return what was learnt as it is kept now, of a machine of a former version.

    It had a learner that never learnt in the place of its fixed model.
    """
    learner = refuse_former(fitted["_learner"])
    counters = {name: int(learner.counters[name]) for name in vars(Tally())}
    kept = {name: part for name, part in fitted.items() if name != "_learner"}
    return {
        **kept,
        "_fixed": former_expansion(learner),
        "_tally": Tally(**counters),
        "_draws": learner.rng,
    }


def without_a_stream(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return what was learnt as it is kept now, of a version with other learners."""
    if fitted.get("_quick") is not None:
        raise ValueError(
            "it was saved in the midst of a stream by a former version, whose quick "
            "learners are no more: let a new one learn the stream"
        )
    weights = fitted.get("mixture_")
    if not isinstance(weights, np.ndarray) or len(weights) < 2:
        raise ValueError("its learners have no weights")
    many = np.append(weights[:1], np.full(LEARNERS, weights[1]))
    start: Any = fitted.get("_start")
    first = fitted.get("_next_refit")
    gone = "mixture_", "_next_refit", "_extent"
    kept = {
        name: part
        for name, part in fitted.items()
        if name not in gone and not name.startswith("_quick_")
    }
    return {
        **kept,
        "_choice": Choice(fitted.get("scaler_"), Given(start)),
        "_mixture": begin(many),
        "_next_order": first,
        "_next_trial": first,
        "_successor": None,
    }


def check_machine(fitted: dict[str, Any], shape: Shape, memory: int) -> None:
    """Refuse what was learnt besides models, if it does not fit them.

    `fitted` is all that was learnt, of models of that shape, which are checked already;
    `memory` is how many rows may be kept.
    """
    features = shape.features
    if not isinstance(fitted["_draws"], np.random.Generator):
        raise ValueError("it has no generator")
    tally = fitted["_tally"]
    if type(tally) is not Tally:
        raise ValueError("it has no counters")
    for name, number in vars(tally).items():
        if type(number) is not int:
            raise ValueError(f"{name} is no number of rows")
        within(name, number, 0, MOST)
    for name in ("_next_order", "_next_trial"):
        _check_number(name, fitted[name])
    slopes = fitted.get("calibration_")
    shapes = (len(FEW_BENDS) + 1,), (len(BENDS) + 1,)
    if slopes is not None and not any(
        _is_array(slopes, np.float64, shape) for shape in shapes
    ):
        raise ValueError("its calibration has no slopes")
    _check_mixture(fitted["_mixture"])
    _check_scaler(fitted["scaler_"], features)
    _check_choice(fitted["_choice"], features)
    _check_relevance(fitted["relevance_"], features)
    check_rows("_recent", fitted["_recent"], shape, memory)
    _check_targets(fitted["_recent"], fitted.get("classes_"))
    _check_order(fitted, shape, memory)
    _check_successor(fitted, features, memory)


def _check_number(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} is no number of rows")
    within(name, value, 0, 2 * MOST)


def _check_targets(recent: Reservoir, classes: np.ndarray | None) -> None:
    for _, y, _ in recent.kept:
        if y.dtype != np.float64:
            raise ValueError("a recent row has a target that is no number")
        if classes is not None and not np.isin(y, np.arange(len(classes))).all():
            raise ValueError("a recent row has a class that is none")


def _check_mixture(mixture: Any) -> None:
    models = 1 + LEARNERS
    if not isinstance(mixture, Mixture) or not (
        _is_array(mixture.weights, np.float64, (models,))
        and _is_array(mixture.precision, np.float64, (models, models))
        and _is_array(mixture.largest, np.float64, (1,))
    ):
        raise ValueError("its learners have no weights")
    precision = mixture.precision
    if not (precision == precision.T).all() or np.linalg.eigvalsh(precision)[0] <= 0:
        raise ValueError("what is known of its learners' weights is no precision")
    if mixture.largest[0] <= 0.0:
        raise ValueError("its learners have no largest score")


def _check_choice(choice: Any, features: int) -> None:
    if not isinstance(choice, Choice) or not isinstance(choice.given, Given):
        raise ValueError("what suits its quick learners is no choice")
    _check_scaler(choice.scaler, features)
    if choice.relevance is not None:
        _check_relevance(choice.relevance, features)
    for name, number in choice.given._asdict().items():
        most = 1.0 if name in ("slow", "fast") else 1.7e308
        if not isinstance(number, Real) or not 5e-324 <= float(number) <= most:
            raise ValueError(f"the {name} of its quick learners is none")


def _check_relevance(relevance: Any, features: int) -> None:
    if not _is_array(relevance, np.float64, (features,)) or (relevance <= 0).any():
        raise ValueError("its features have no weights")


def _check_order(fitted: dict[str, Any], shape: Shape, memory: int) -> None:
    """Refuse what is under way, if nobody could have ordered it."""
    order = fitted["_order"]
    if order is None:
        return
    if not isinstance(order, Order) or not isinstance(order.is_trial, bool):
        raise ValueError("what is under way is no order")
    _check_number("_order.due", order.due)
    if not isinstance(order.seed, Integral) or not 0 <= order.seed < 2**32:
        raise ValueError("_order.seed is no seed")
    check_rows("_order.recent", order.recent, shape, memory)
    _check_targets(order.recent, fitted.get("classes_"))
    if not len(order.recent):
        raise ValueError("_order.recent has no rows")


def _check_successor(fitted: dict[str, Any], features: int, memory: int) -> None:
    """Refuse a successor that has to learn rows that are not kept."""
    successor = fitted["_successor"]
    if successor is None:
        return
    _check_choice(successor.choice, features)
    for name in ("begun", "start"):
        _check_number(f"_successor.{name}", getattr(successor, name))
    t, kept = fitted["_tally"].t, len(fitted["_recent"])
    waiting = t - successor.learnt(t)
    if not successor.begun <= t < successor.due or not 0 < waiting <= kept:
        raise ValueError("its successor has to learn rows that are not kept")
    if successor.begun - successor.start > memory // PACE:
        raise ValueError("its successor has more rows to learn than could be kept")


def _is_array(value: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value is such an array, of finite numbers."""
    return (
        isinstance(value, np.ndarray)
        and np.issubdtype(value.dtype, dtype)
        and value.shape == shape
        and bool(np.isfinite(value).all())
    )


def _check_scaler(scaler: Any, features: int) -> None:
    if scaler is None:
        return
    if type(scaler) not in OF_FEATURES:
        raise ValueError("its scaler is none")
    if not hasattr(scaler, "n_samples_seen_"):
        return  # it has seen nothing yet
    for name in OF_FEATURES[type(scaler)]:
        if not _is_array(getattr(scaler, name), np.floating, (features,)):
            raise ValueError(f"{name} is not of so many features")
    if not (scaler.scale_ > 0).all():
        raise ValueError("the scale of a feature is not positive")
    if scaler.n_features_in_ != features:
        raise ValueError("its scaler has seen other features")
    if not isinstance(scaler.n_samples_seen_, Real):
        raise ValueError("its scaler has seen no number of rows")


def check_rows(name: str, kept: Any, shape: Shape, most: int) -> None:
    """Refuse rows that are kept, if they are none, or too many."""
    _, features, dtype = shape
    largest = largest_entry(dtype, features)
    if not isinstance(kept, Reservoir) or not isinstance(kept.kept, list):
        raise ValueError(f"{name} has no rows")
    if not isinstance(kept.size, Integral) or kept.size != most:
        raise ValueError(f"{name} is not of {most} rows")
    kept.size = int(kept.size)
    counts = [len(y) for _, y, _ in kept.kept]
    if len(counts) > MOST_CHUNKS or sum(counts[1:]) >= max(most, 1):
        raise ValueError(f"{name} has more rows than are kept")
    for X, y, weight in kept.kept:
        values, count = X, len(X)
        if isinstance(X, tuple):
            _check_sparse(X, features, dtype)
            values, count = X[0], len(X[2]) - 1
        elif not _is_array(X, dtype, (count, features)):
            raise ValueError(f"{name} has rows without its features")
        within(f"{name}.X", values, -largest, largest)
        if not isinstance(y, np.ndarray) or y.shape != (count,) or count > most:
            raise ValueError(f"{name} has rows without a target each")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError(f"{name} has a target that is not finite")
        if not _is_array(weight, np.float64, (count,)) or (weight < 0).any():
            raise ValueError(f"{name} has rows without a weight each")


def _check_sparse(X: tuple, features: int, dtype: np.dtype) -> None:
    values, columns, starts, width = X
    fits = (
        width == features
        and _is_array(values, dtype, (len(values),))
        and all(part.dtype in (np.int32, np.int64) for part in (columns, starts))
        and columns.shape == values.shape
        and starts.ndim == 1
        and (starts[0], starts[-1]) == (0, len(values))
        and (np.diff(starts) >= 0).all()
        and ((columns >= 0) & (columns < features)).all()
    )
    if not fits:
        raise ValueError("recent rows are no sparse matrix")
