"""Machines: whether what a kernel machine keeps besides its learner fits the learner.

Rows that it was shown last, and the scale of features, come back to compiled code with
the next re-fit. A file may only say what a machine could have come to.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from onkel.engine.learner import Shape
from onkel.estimators._checks import largest_entry
from onkel.estimators._machine_stream import FORGETTINGS, LEARNERS, NOISE, Tally
from onkel.model.ranges import MOST, within
from onkel.refit.calibration import BENDS, FEW_BENDS
from onkel.refit.extent import Extent
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


def with_two_learners(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return what was learnt as it is kept now, of a version with one quick learner."""
    if fitted.get("_quick") is not None:
        raise ValueError(
            "it was saved in the midst of a stream by a former version, whose quick "
            "learner is no more: let a new one learn the stream"
        )
    weights = fitted.get("mixture_")
    if isinstance(weights, np.ndarray) and weights.shape == (2,):
        fitted = {**fitted, "mixture_": weights[[0, 1, 1]]}
    begun: dict[str, Any] = {
        "_quick_noise": NOISE,
        "_quick_forgetting": FORGETTINGS[0],
    }
    same = {"_quick_gamma": "_start", "_quick_scaler": "scaler_"}
    begun |= {name: fitted.get(like) for name, like in same.items()}
    return {**fitted, **begun}


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
    if not isinstance(fitted["_next_refit"], Integral):
        raise ValueError("_next_refit is no number of rows")
    within("_next_refit", fitted["_next_refit"], 0, 2 * MOST)
    slopes = fitted.get("calibration_")
    shapes = (len(FEW_BENDS) + 1,), (len(BENDS) + 1,)
    if slopes is not None and not any(
        _is_array(slopes, np.float64, shape) for shape in shapes
    ):
        raise ValueError("its calibration has no slopes")
    if not _is_array(fitted["mixture_"], np.float64, (1 + LEARNERS,)):
        raise ValueError("its learners have no weights")
    for name in ("scaler_", "_quick_scaler"):
        _check_scaler(fitted[name], features)
    relevance = fitted["relevance_"]
    if not _is_array(relevance, np.float64, (features,)) or (relevance <= 0).any():
        raise ValueError("its features have no weights")
    extent = fitted["_extent"]
    if (
        not isinstance(extent, Extent)
        or not isinstance(extent.rows, Integral)
        or not all(_is_array(part, np.float64, (features,)) for part in extent[1:])
    ):
        raise ValueError("its features have no extent")
    within("_extent.rows", extent.rows, 0, MOST)
    check_rows("_recent", fitted["_recent"], shape, memory)
    classes = fitted.get("classes_")
    for _, y, _ in fitted["_recent"].kept:
        if y.dtype != np.float64:
            raise ValueError("a recent row has a target that is no number")
        if classes is not None and not np.isin(y, np.arange(len(classes))).all():
            raise ValueError("a recent row has a class that is none")


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
