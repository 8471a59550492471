"""Who races: all classifiers of the library, and two references to beat."""

import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

import onkel
from onkel.experiments.streams import Stream

T = TypeVar("T")

# Rows that the linear model predicts, then learns, at a time: row by row the calls
# would cost far more than the model.
BATCH = 32
REPETITIONS = 3
WARM_UP_ROWS = 64
REFERENCES = CONSTANT, LINEAR = "constant", "linear SGD"


@dataclass(frozen=True)
class Result:
    """How one contestant did on one stream."""

    name: str
    model: str  # with its parameters, as one would write it down
    mistakes: np.ndarray  # shape (rows,): whether a row was predicted wrong
    size: int | None = None  # centres and features; None where it has no meaning
    budget: int | None = None
    updates: int | None = None
    seconds: float | None = None  # of the fastest repetition

    @property
    def is_reference(self) -> bool:
        """Whether this is no system of the library."""
        return self.name in REFERENCES

    @property
    def grows(self) -> bool:
        """Whether this is a system without a budget."""
        return self.budget is None and not self.is_reference

    @property
    def mistake_rate(self) -> float:
        """Mistakes per row."""
        return float(self.mistakes.mean())

    @property
    def rows_per_second(self) -> float | None:
        """Rows predicted and learnt in a second."""
        return None if self.seconds is None else len(self.mistakes) / self.seconds


class Outcome(NamedTuple):
    """How a race went."""

    stream: Stream
    results: list[Result]  # from the fewest mistakes to the most


def variants(system: str, rows: int) -> dict[str, dict[str, Any]]:
    """Names under which a system starts, and parameters that differ from its defaults.

    Parameters
    ----------
    system
        Name without the task.
    rows
        Length of the stream.

    Examples
    --------
    >>> variants("BOGD", rows=1000)
    {'BOGD': {'sampling': 'uniform'}, 'BOGD++': {'sampling': 'weighted'}}
    """
    # alpha = 1/(n C) with the C = 1 of a support vector machine
    pegasos = {"alpha": 1 / rows}
    # the paper's choice, which fit would make by itself; a stream has to be told
    fading = {"maintenance_rate": 0.6 * rows}
    table: dict[str, dict[str, dict[str, Any]]] = {
        "BOGD": {
            "BOGD": {"sampling": "uniform"},
            "BOGD++": {"sampling": "weighted"},
        },
        "AVM": {"AVM": pegasos},
        "BSGD": {"BSGD": pegasos},
        "BPA": {
            "BPA-S": {"variant": "s"},
            "BPA-NN": {"variant": "nn"},
            "BPA-P": {"variant": "p"},
        },
        "Projectron": {
            "Projectron": {},
            "Projectron++": {"aggressive": True},
        },
        "DualSGD": {"DualSGD": pegasos},
        # the step of the other systems with a constant rate; the theory's is tiny
        "DualSVRG": {"DualSVRG": pegasos | {"eta0": 0.5}},
        "KernelSGD": {"KernelSGD": pegasos},
        "NBSGD": {"NBSGD": pegasos | fading},
    }
    return table.get(system, {system: {}})


def systems(stream: Stream, seed: int = 0) -> dict[str, Any]:
    """Every classifier for streams, unfitted, by the name under which it starts."""
    shared = {
        "budget": stream.budget,
        "max_core": stream.budget,
        # at the edge of a cell a point is half like its core
        "coverage_radius": math.sqrt(math.log(2.0) / stream.gamma),
        "gamma": stream.gamma,
        "random_state": seed,
    }
    models: dict[str, Any] = {}
    for public in onkel.__all__:
        if not public.endswith("Classifier"):
            continue
        system = getattr(onkel, public)
        if not hasattr(system, "partial_fit"):
            continue  # needs all rows at once
        known = inspect.signature(system).parameters
        common = {name: value for name, value in shared.items() if name in known}
        own = variants(public.removesuffix("Classifier"), len(stream.y))
        models |= {name: system(**common | given) for name, given in own.items()}
    return models


def _timed(run: Callable[[], T]) -> tuple[T, float]:
    """Return what `run` returns, and the seconds of the fastest repetition."""
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        outcome = run()
        seconds.append(time.perf_counter() - start)
    return outcome, min(seconds)


def compete(name: str, model: Any, stream: Stream) -> Result:
    """Let one system of the library predict and learn the stream.

    Parameters
    ----------
    name
        Under which it starts.
    model
        An unfitted classifier; it stays unfitted.
    stream
        The rows.

    Returns
    -------
    result
        Without the time that compilation takes.
    """
    X, y, classes = stream.X, stream.y, np.unique(stream.y)

    def run(rows: slice = slice(None)) -> tuple[Any, np.ndarray]:
        fresh = clone(model)
        return fresh, onkel.progressive(fresh, X[rows], y[rows], classes=classes)

    run(slice(WARM_UP_ROWS))
    (fitted, scores), seconds = _timed(run)
    parameters = model.get_params()
    features = parameters.get("n_components", 0)
    budget = parameters.get("budget", parameters.get("max_core"))
    if features:
        budget = features + (budget or 0)
    best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
    return Result(
        name,
        " ".join(repr(model).split()),
        mistakes=classes[best.astype(int)] != y,
        size=fitted.model_size_ + features,
        budget=budget,
        updates=fitted.n_updates_,
        seconds=seconds,
    )


def most_frequent(y: np.ndarray) -> np.ndarray:
    """For each row the label that was most frequent before it; ties to the smallest.

    Examples
    --------
    >>> most_frequent(np.array([7, 7, 5, 5, 5, 5])).tolist()
    [5, 7, 7, 7, 5, 5]
    """
    classes = np.unique(y)
    seen = np.cumsum(y[:, None] == classes, axis=0)
    before = np.vstack([np.zeros_like(seen[:1]), seen[:-1]])
    return classes[before.argmax(axis=1)]


def constant(stream: Stream) -> Result:
    """Let the label that was most frequent so far stand for all rows."""
    mistakes = most_frequent(stream.y) != stream.y
    return Result(CONSTANT, "most frequent label so far", mistakes)


def linear(stream: Stream, seed: int = 0) -> Result:
    """Let scikit-learn's linear model predict and learn the stream in small batches."""
    X, y, classes = stream.X, stream.y, np.unique(stream.y)
    model = SGDClassifier(random_state=seed)

    def run() -> np.ndarray:
        fresh = clone(model)
        # Like the library's systems, it says the first class while it knows nothing.
        predicted = np.full_like(y, classes[0])
        for start in range(0, len(y), BATCH):
            rows = slice(start, start + BATCH)
            if start > 0:
                predicted[rows] = fresh.predict(X[rows])
            fresh.partial_fit(X[rows], y[rows], classes=classes)
        return predicted

    predicted, seconds = _timed(run)
    return Result(LINEAR, repr(model), predicted != y, seconds=seconds)
