"""One pass of AVM against predicting the same rows, and what an average adds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

import onkel
from benchmarks.learn_vs_predict import seconds
from benchmarks.tables import table
from benchmarks.workloads import Workload, a9a, cod_rna, covtype, ijcnn1

# Passes of some hundredths of a second: other load hits some runs and spares others.
RUNS = 15
MOST_CORES = 500


def machines(work: Workload) -> dict[str, Callable[..., Any]]:
    """Return constructors of the systems, with at most MOST_CORES centres."""
    common = {"gamma": work.gamma, "alpha": 1 / (32 * len(work.y)), "random_state": 0}
    # A radius that fills the cores on every data set here.
    cover = {"coverage_radius": 0.3, "max_core": MOST_CORES}

    def avm(**given: Any) -> Any:
        return onkel.AVMClassifier(**common, **cover, **given)

    def bsgd(**given: Any) -> Any:
        return onkel.BSGDClassifier(
            **common, budget=MOST_CORES, maintenance="removal", **given
        )

    return {
        "AVM hinge": avm,
        "AVM log_loss": lambda **given: avm(loss="log_loss", **given),
        "BSGD removal": bsgd,
    }


def compare(work: Workload, make: Callable[..., Any]) -> tuple[Any, list[float]]:
    """Seconds to learn, to learn with an average, and to predict: the fastest runs."""
    classes = np.unique(work.y)
    for average in (None, "poly"):  # compile
        make(average=average).partial_fit(work.X[:500], work.y[:500], classes=classes)
    times: list[list[float]] = [[], [], []]
    for _ in range(RUNS):
        for taken, average in zip(times, (None, "poly"), strict=False):
            model = make(average=average)
            taken.append(
                seconds(lambda m=model: m.partial_fit(work.X, work.y, classes=classes))
            )
        times[2].append(seconds(lambda m=model: m.decision_function(work.X)))
    return model, [min(taken) for taken in times]


def main(console: Console) -> None:
    for load in (ijcnn1, cod_rna, covtype, a9a):
        work = load()
        rows, features = work.X.shape
        shown = table(
            f"{work.name}: {rows:,} rows, {features} features, fastest of {RUNS} "
            "runs, in turn",
            [
                *("system", "updates", "centres", "learn s", "predict s"),
                *("ratio", "aim", "average adds", "aim "),
            ],
        )
        for name, make in machines(work).items():
            model, (learn, averaged, predict) = compare(work, make)
            shown.add_row(
                name,
                f"{model.n_updates_ / rows:.1%}",
                f"{model.model_size_:,}",
                f"{learn:.3f}",
                f"{predict:.3f}",
                f"{learn / predict:.2f}",
                "1.5" if name.startswith("AVM") else "",
                f"{averaged / learn - 1:+.1%}",
                "10 %",
            )
        console.print(shown)
