"""Strategies that keep what leaves: a pass of BSGD, an epoch of BSCA, an update.

Merging and projection on neighbours cost O(budget) per update, so a pass is compared
with predicting the same rows. Exact projection, BPA-P and the Projectron cost
O(budget^2): the second table doubles the budget and shows what an update costs.
"""

import time
from statistics import median
from typing import Any

from rich.console import Console

import onkel
from benchmarks.learn_vs_predict import RUNS, seconds
from benchmarks.tables import table
from benchmarks.workloads import Workload, cod_rna, ijcnn1

EPOCHS = 4
UPDATES = 2000


def passes(work: Workload) -> dict[str, tuple[Any, int, float]]:
    """Systems, the passes that each makes, and the ratio that we aim at."""
    common = {"budget": work.budget, "gamma": work.gamma, "random_state": 0}
    alpha = 1 / (32 * len(work.y))
    gradient = {**common, "alpha": alpha}
    return {
        "BSGD merge": (onkel.BSGDClassifier(**gradient), 1, 2.0),
        "BSGD projection_knn": (
            onkel.BSGDClassifier(**gradient, maintenance="projection_knn"),
            1,
            2.0,
        ),
        "BSCA merge, an epoch": (
            onkel.BSCAClassifier(**common, C=32.0, max_iter=EPOCHS, tol=0.0),
            EPOCHS,
            4.0,
        ),
    }


def square(budget: int, gamma: float) -> dict[str, Any]:
    """Systems that keep the inverse of a matrix."""
    common = {"budget": budget, "gamma": gamma, "random_state": 0}
    return {
        "BSGD projection": onkel.BSGDClassifier(
            **common, alpha=1e-5, maintenance="projection"
        ),
        "BPA-P": onkel.BPAClassifier(**common, variant="p"),
        "Projectron": onkel.ProjectronClassifier(**common, projection_threshold=0.0),
    }


def compare(model: Any, work: Workload) -> tuple[float, float]:
    """Seconds to fit and to predict, medians of alternating runs."""
    model.fit(work.X[:2000], work.y[:2000])  # compile
    learning, predicting = [], []
    for _ in range(RUNS):
        learning.append(seconds(lambda: model.fit(work.X, work.y)))
        predicting.append(seconds(lambda: model.decision_function(work.X)))
    return median(learning), median(predicting)


def microseconds_per_update(model: Any, work: Workload) -> float:
    """Time of an update of a full model, less that of a row without one."""
    classes, first = [-1, 1], 0
    while getattr(model, "model_size_", 0) < model.budget and first < len(work.y):
        rows = slice(first, first + 1000)
        model.partial_fit(work.X[rows], work.y[rows], classes=classes)
        first += 1000
    before, rest = model.n_updates_, 0.0
    start = time.perf_counter()
    while model.n_updates_ - before < UPDATES and first < len(work.y):
        rows = slice(first, first + 1000)
        model.partial_fit(work.X[rows], work.y[rows], classes=classes)
        rest += seconds(lambda rows=rows: model.decision_function(work.X[rows]))
        first += 1000
    spent = time.perf_counter() - start - 2 * rest
    return spent / max(model.n_updates_ - before, 1) * 1e6


def main(console: Console) -> None:
    for load in (ijcnn1, cod_rna):
        work = load()
        shown = table(
            f"{work.name}: {len(work.y):,} rows, budget {work.budget}",
            [
                *("system", "updates", "maintained", "learn s", "predict s"),
                *("ratio", "aim"),
            ],
            texts=(),
        )
        for name, (model, epochs, aim) in passes(work).items():
            rows = len(work.y) * epochs
            learn, predict = compare(model, work)
            learn /= epochs
            shown.add_row(
                name,
                f"{model.n_updates_ / rows:.1%}",
                f"{model.n_maintenance_ / rows:.1%}",
                f"{learn:.3f}",
                f"{predict:.3f}",
                f"{learn / predict:.2f}",
                f"{aim}",
            )
        console.print(shown)
    work = ijcnn1()
    budgets = (125, 250, 500, 1000)
    columns = ["system", *map(str, budgets)]
    shown = table("ijcnn1: microseconds per update, by budget", columns, texts=())
    for name in square(1, 1.0):
        times = [
            microseconds_per_update(square(budget, work.gamma)[name], work)
            for budget in budgets
        ]
        shown.add_row(name, *(f"{t:,.0f}" for t in times))
    console.print(shown)
