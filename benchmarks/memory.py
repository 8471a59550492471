"""A long stream at constant size: resident memory while two million rows pass."""

import resource
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import onkel

ROWS, BATCH, FEATURES = 2_000_000, 10_000, 20


def resident_mib() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def main(console: Console) -> None:
    rng = np.random.default_rng(0)
    model = onkel.BSGDClassifier(budget=200, gamma=0.05, random_state=0)

    def learn_batch() -> None:
        X = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0
        model.partial_fit(X, y, classes=[False, True])

    for _ in range(5):
        learn_batch()
    table = Table(title=f"budget {model.model_size_}, {FEATURES} features")
    table.add_column("rows after the budget is full", justify="right")
    table.add_column("resident MiB", justify="right")
    table.add_row("0", f"{resident_mib():.1f}")
    start = time.perf_counter()
    for batch in range(1, ROWS // BATCH + 1):
        learn_batch()
        if batch % (ROWS // BATCH // 4) == 0:
            table.add_row(f"{batch * BATCH:,}", f"{resident_mib():.1f}")
    console.print(table)
    rate = ROWS / (time.perf_counter() - start)
    console.print(f"{rate:,.0f} rows per second, generating them included")
