"""KernelClassifier in one thread and in two: seconds, and CPU seconds of all threads.

Two threads should not take more than 1.3 times the CPU seconds of one, idle or beside
busy processes, and on an idle machine be 1.4 times as fast on covtype.
"""

import time
from typing import Any

import numpy as np
from rich.console import Console

import onkel
from benchmarks.tables import table
from benchmarks.workloads import covtype
from onkel.data.catalogue import DataNotFoundError

COVTYPE_ROWS = 100_000


def simulated() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 20))
    return X, X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0.0


def seconds(X: Any, y: np.ndarray, n_jobs: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    onkel.KernelClassifier(random_state=0, n_jobs=n_jobs).fit(X, y)
    return time.perf_counter() - wall, time.process_time() - cpu


def main(console: Console) -> None:
    shown = table(
        "KernelClassifier, one thread and two",
        ["data", "s, one", "s, two", "faster", "CPU s, one", "CPU s, two", "more"],
    )
    sets = {"12,000 x 20": simulated()}
    try:
        work = covtype()
        sets["covtype, 100,000"] = work.X[:COVTYPE_ROWS], work.y[:COVTYPE_ROWS]
    except DataNotFoundError as missing:
        console.print(f"without covtype: {missing}")
    for name, (X, y) in sets.items():
        for n_jobs in (1, 2):  # compile
            onkel.KernelClassifier(budget=50, n_jobs=n_jobs).fit(X[:7000], y[:7000])
        (wall, cpu), (wall2, cpu2) = (seconds(X, y, n_jobs) for n_jobs in (1, 2))
        figures = (wall, wall2, wall / wall2, cpu, cpu2, cpu2 / cpu)
        shown.add_row(name, *(f"{figure:.2f}" for figure in figures))
    console.print(shown)
