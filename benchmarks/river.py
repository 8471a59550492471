"""River's face: what it takes to predict one row, and to learn it, row after row.

Models are full before they are measured: 200 centres, or four random features for each
of them, as in FOGD's paper. Beside them are River's own, an adaptive tree, and 200
random features with logistic regression, by which the others are so many times as fast;
and what scikit-learn's face takes for the same rows, one at a time. Rows with an update
take longer than others, so that of learning there is a mean as well as the median,
without the slowest hundredth: there the machine paused. All in one thread.
"""

import time
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from river import feature_extraction, linear_model, tree
from threadpoolctl import threadpool_limits

import onkel
import onkel.river
from benchmarks.tables import table

BUDGET, FEATURES, COMPONENTS, GAMMA = 200, 20, 800, 0.02
# Rows by which all are full, and those that are measured.
FILLING, ROWS, ROWS_OF_MACHINE = 3000, 3000, 400
HEADS = (
    *("model", "centres", "learn_one, us", "mean", "predict_one, us"),
    *("as fast", "mistakes, %"),
)
# Of River's sampler.
SAMPLED = BUDGET

OURS: list[tuple[str, dict[str, Any]]] = [
    ("RBPClassifier", {"budget": BUDGET}),
    ("BSGDClassifier", {"budget": BUDGET, "alpha": 1e-3}),
    ("AVMClassifier", {"max_core": BUDGET, "coverage_radius": 3.0, "alpha": 1e-3}),
    ("FOGDClassifier", {"n_components": COMPONENTS}),
    ("KRLSClassifier", {"budget": BUDGET, "noise": 0.1, "forgetting": 1.0}),
    ("KernelClassifier", {"budget": BUDGET}),
]


class OtherFace:
    """The same system as scikit-learn knows it, one row at a time."""

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        self.system = getattr(onkel, name)(**parameters, random_state=0)

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        """Learn a row."""
        self.system.partial_fit(np.array([list(x.values())]), np.array([y]))

    def predict_one(self, x: dict[str, float]) -> Any:
        """Predict its label."""
        return self.system.predict(np.array([list(x.values())]))[0]


def stream(rows: int) -> list[tuple[dict[str, float], bool]]:
    """Rows whose labels depend on products of features, and are noisy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    f = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=rows)
    names = [f"feature {k}" for k in range(FEATURES)]
    named = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    return list(zip(named, (f > 0).tolist(), strict=True))


def measured(
    model: Any, rows: list[tuple[dict[str, float], bool]]
) -> tuple[float, float, float, float]:
    """Microseconds to learn, by median and mean, and to predict; share of mistakes."""
    clock = time.perf_counter_ns
    learning, predicting, wrong = [], [], 0
    for x, y in rows[:FILLING]:
        model.learn_one(x, y)
    for x, y in rows[FILLING:]:
        start = clock()
        predicted = model.predict_one(x)
        between = clock()
        model.learn_one(x, y)
        learning.append(clock() - between)
        predicting.append(between - start)
        wrong += predicted != y
    usual = np.sort(learning)[: int(0.99 * len(learning))].mean()
    times = np.median(learning), usual, np.median(predicting)
    return *(float(each) / 1e3 for each in times), wrong / len(learning)


def models() -> list[tuple[str, Any]]:
    sampler = feature_extraction.RBFSampler(gamma=GAMMA, n_components=SAMPLED, seed=0)
    found: list[tuple[str, Any]] = [
        (
            "River: RBFSampler | LogisticRegression",
            sampler | linear_model.LogisticRegression(),
        ),
        ("River: HoeffdingAdaptiveTree", tree.HoeffdingAdaptiveTreeClassifier(seed=0)),
    ]
    for name, parameters in OURS:
        given = (
            parameters if name == "KernelClassifier" else parameters | {"gamma": GAMMA}
        )
        found.append((name, getattr(onkel.river, name)(**given, seed=0)))
        if name == "RBPClassifier":
            found.append((f"{name} of scikit-learn's face", OtherFace(name, given)))
    return found


def centres(model: Any) -> str:
    system = model.system if isinstance(model, OtherFace) else None
    if hasattr(model, "to_sklearn"):
        system = model.to_sklearn()
    return "" if system is None else f"{system.model_size_}"


def main(console: Console) -> None:
    shown = table(f"One row of {FEATURES} features", HEADS)
    rows, slowest = stream(FILLING + ROWS), None
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what suits a stream
        for name, model in models():
            some = rows[: FILLING + ROWS_OF_MACHINE] if "Kernel" in name else rows
            middle, mean, predicting, wrong = measured(model, some)
            slowest = slowest or mean + predicting
            shown.add_row(
                *(name, centres(model), f"{middle:.1f}", f"{mean:.1f}"),
                *(f"{predicting:.1f}", f"{slowest / (mean + predicting):.1f} x"),
                f"{100 * wrong:.1f}",
            )
    console.print(shown)
