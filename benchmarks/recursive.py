"""KRLS: what a row costs once the model is full, and how many of them change it.

Every row is learnt, for O(budget^2): the root of the inverse Gram matrix is read for
eight rows at once, the covariance is read and written, the root is read again for a row
that might become a centre, and read and written if it stays.
"""

import time
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import onkel
from benchmarks.tables import table
from benchmarks.workloads import Workload, cod_rna, ijcnn1

BUDGETS, PASSES = (100, 500), 3
# Rows by which every budget here is full, and those that are measured each time.
FILLING, ROWS = 6000, 3000
HEADS = ("data", "budget", "us/row", "might become a centre", "do", "mistakes, %")


def standardised(work: Workload) -> tuple[np.ndarray, np.ndarray]:
    return StandardScaler().fit_transform(work.X).astype(np.float32), work.y


def measured(X: np.ndarray, y: np.ndarray, budget: int) -> list[str]:
    """Fill a model, then learn further rows."""
    given: dict[str, Any] = {"noise": 0.1, "forgetting": 1.0, "n_jobs": 1}
    model = onkel.KRLSClassifier(budget=budget, gamma=1 / X.shape[1], **given)
    model.partial_fit(X[:FILLING], y[:FILLING], classes=np.unique(y))
    seconds, before = [], (model.n_maintenance_, model.n_mistakes_, entries(model))
    for first in range(FILLING, FILLING + PASSES * ROWS, ROWS):
        some = slice(first, first + ROWS)
        start = time.process_time()
        model.partial_fit(X[some], y[some])
        seconds.append(time.process_time() - start)
    after = (model.n_maintenance_, model.n_mistakes_, entries(model))
    might, wrong, did = (
        100 * (b - a) / (PASSES * ROWS) for a, b in zip(before, after, strict=True)
    )
    spent = f"{1e6 * min(seconds) / ROWS:.1f}"
    return [
        f"{model.model_size_}",
        spent,
        f"{might:.0f} %",
        f"{did:.0f} %",
        f"{wrong:.2f}",
    ]


def entries(model: Any) -> int:
    return int(model._learner.model.cache.status[0].edits)


def main(console: Console) -> None:
    shown = table("KRLS on a full budget, one thread", HEADS)
    with threadpool_limits(1):
        for work in (ijcnn1(), cod_rna()):
            X, y = standardised(work)
            for budget in BUDGETS:
                shown.add_row(work.name, *measured(X, y, budget))
    console.print(shown)
