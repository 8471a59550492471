"""One learning pass against predicting the same rows once with the final model."""

import inspect
import time
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.tables import table
from benchmarks.workloads import TARGETS, Workload, a9a, covtype, ijcnn1, systems

RUNS = 5


def seconds(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(work: Workload, make: Any) -> tuple[Any, float, float]:
    """Seconds to learn and to predict, medians of alternating runs."""
    classes = np.unique(work.y)
    make().partial_fit(work.X[:500], work.y[:500], classes=classes)  # compile
    learning, predicting = [], []
    for _ in range(RUNS):
        model = make()
        learning.append(
            seconds(lambda m=model: m.partial_fit(work.X, work.y, classes=classes))
        )
        predicting.append(seconds(lambda m=model: m.decision_function(work.X)))
    return model, median(learning), median(predicting)


def without_updates(work: Workload, model: Any) -> str:
    """Seconds of a pass in which no row changes the model, for systems with weights.

    What learning costs beyond this goes into updates and the budget.
    """
    if "sample_weight" not in inspect.signature(model.partial_fit).parameters:
        return "-"
    weight = np.zeros(len(work.y))
    passes = [
        seconds(lambda: model.partial_fit(work.X, work.y, sample_weight=weight))
        for _ in range(RUNS)
    ]
    return f"{median(passes):.3f}"


def main(console: Console) -> None:
    for load in (ijcnn1, covtype, a9a):
        work = load()
        rows, features = work.X.shape
        title = (
            f"{work.name}: {rows:,} rows, {features} features, budget {work.budget}, "
            f"median of {RUNS} runs, in turn"
        )
        columns = (
            *("system", "updates", "centres", "learn s", "predict s", "us/row"),
            *("ratio", "aim", "no updates s", "2 threads: learn", "predict"),
        )
        shown = table(title, columns)
        for name, make in systems(work).items():
            model, learn, predict = compare(work, make)
            _, learn2, predict2 = compare(work, systems(work, n_jobs=2)[name])
            shown.add_row(
                name,
                f"{model.n_updates_ / rows:.1%}",
                f"{model.model_size_:,}",
                f"{learn:.3f}",
                f"{predict:.3f}",
                f"{learn / rows * 1e6:.2f}",
                f"{learn / predict:.2f}",
                f"{TARGETS.get(name, '-')}",
                without_updates(work, model),
                f"x{learn / learn2:.2f}",
                f"x{predict / predict2:.2f}",
            )
        console.print(shown)
