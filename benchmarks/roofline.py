"""How near kernel values come to what one thread can do at best.

A row's scores need its products with all centres and an exponential for each. The
roofline is the time of these two alone, each at its best: a matrix product of BLAS, in
blocks of the size that suits it best, and our vector exponential, or numpy's if that is
faster, of numbers in the cache. Predicting is one thing to hold against it; the other
is a pass of learning in which no row has a weight, so that nothing is updated.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import onkel
from benchmarks.tables import table
from onkel.compiled.exponential import exp_nonpositive
from onkel.compiled.functions import jit

# Rows enough that what a call costs does not count.
BUDGET, ROWS, PASSES = 2000, 16384, 3
FEATURES = (54, 784)
BLOCKS = (32, 64, 128, 256, 512, 1024)  # rows
IN_CACHE = 4096  # numbers, of which the first cache holds twice as many
HEADS = (
    *("features", "precision", "product, us/row", "GFlop/s", "exp, us/row"),
    *("roofline, us/row", "predicting, us/row", "roofline's share"),
    *("learning without updates, us/row", "roofline's share"),
)


@jit
def _exponentials(values: Any, out: Any, times: int) -> None:
    for _ in range(times):
        for i in range(len(values)):
            out[i] = exp_nonpositive(values[i])


def _least(*actions: Callable[[], Any]) -> list[float]:
    """Least processor time of each, in turn."""
    found: list[list[float]] = [[] for _ in actions]
    for _ in range(PASSES + 1):  # the first compiles
        for action, seconds in zip(actions, found, strict=True):
            start = time.process_time()
            action()
            seconds.append(time.process_time() - start)
    return [min(seconds[1:]) for seconds in found]


def _products(X: np.ndarray, centers: np.ndarray, block: int) -> Callable[[], None]:
    out = np.empty((block, len(centers)), X.dtype)
    turned = centers.T

    def act() -> None:
        for start in range(0, len(X), block):
            np.matmul(X[start : start + block], turned, out=out)

    return act


def _model(X: np.ndarray, rng: np.random.Generator) -> Any:
    """Make a model with all of its centres: labels that nobody can learn."""
    gamma = 0.5 / X.shape[1]  # so that kernel values are about 1/e
    model = onkel.BSGDClassifier(
        budget=BUDGET, gamma=gamma, maintenance="removal", n_jobs=1, random_state=0
    )
    while getattr(model, "model_size_", 0) < BUDGET:
        y = rng.integers(0, 2, len(X))
        model.partial_fit(X, y, classes=[0, 1])
    return model


def measured(features: int, precision: Any) -> dict[str, Any]:
    """Microseconds a row of everything."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, features)).astype(precision)
    model = _model(X, rng)
    centers, y = X[:BUDGET].copy(), rng.integers(0, 2, ROWS)
    values = -rng.uniform(0.0, 4.0, IN_CACHE).astype(precision)
    out = np.empty_like(values)
    times = ROWS * BUDGET // IN_CACHE
    no_weight = np.zeros(ROWS)

    def of_numpy() -> None:
        for _ in range(times):
            np.exp(values, out=out)

    with threadpool_limits(1):
        # Ours and what they are held against take turns.
        ours, theirs, predicting, learning, *products = _least(
            lambda: _exponentials(values, out, times),
            of_numpy,
            lambda: model.decision_function(X),
            lambda: model.partial_fit(X, y, sample_weight=no_weight),
            *(_products(X, centers, block) for block in BLOCKS),
        )
    unit = 1e6 / ROWS
    return {
        "features": features,
        "precision": np.dtype(precision).name,
        "product": unit * min(products),
        "block": BLOCKS[int(np.argmin(products))],
        "exponential": unit * min(ours, theirs),
        "predicting": unit * predicting,
        "learning": unit * learning,
    }


def results() -> list[dict[str, Any]]:
    """Measure all sizes and precisions."""
    return [measured(d, kind) for d in FEATURES for kind in (np.float32, np.float64)]


def cells(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Write what was measured, a row for each."""
    lines = []
    for of in found:
        best = of["product"] + of["exponential"]
        rate = 2e-3 * of["features"] * BUDGET / of["product"]
        lines.append(
            [
                *(f"{of['features']}", of["precision"], f"{of['product']:.2f}"),
                *(f"{rate:.1f}", f"{of['exponential']:.2f}", f"{best:.2f}"),
                *(f"{of['predicting']:.2f}", f"{best / of['predicting']:.0%}"),
                *(f"{of['learning']:.2f}", f"{best / of['learning']:.0%}"),
            ]
        )
    return lines


def main(console: Console) -> None:
    shown = table(f"{BUDGET} centres, one thread", HEADS, texts=("precision",))
    for line in cells(results()):
        shown.add_row(*line)
    console.print(shown)
