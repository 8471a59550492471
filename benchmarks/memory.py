"""A long stream at constant size: resident memory while two million rows pass."""

import time

import numpy as np
from rich.console import Console

import onkel
from benchmarks.tables import table
from onkel.measuring.memory import resident

ROWS, BATCH, FEATURES = 2_000_000, 10_000, 20


def resident_mib() -> str:
    known = resident()
    return "?" if known is None else f"{known / 2**20:.1f}"


def main(console: Console) -> None:
    rng = np.random.default_rng(0)
    model = onkel.BSGDClassifier(budget=200, gamma=0.05, random_state=0)

    def learn_batch() -> None:
        X = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0
        model.partial_fit(X, y, classes=[False, True])

    for _ in range(5):
        learn_batch()
    columns = ["rows after the budget is full", "resident MiB"]
    title = f"budget {model.model_size_}, {FEATURES} features"
    shown = table(title, columns, texts=())
    shown.add_row("0", resident_mib())
    start = time.perf_counter()
    for batch in range(1, ROWS // BATCH + 1):
        learn_batch()
        if batch % (ROWS // BATCH // 4) == 0:
            shown.add_row(f"{batch * BATCH:,}", resident_mib())
    console.print(shown)
    rate = ROWS / (time.perf_counter() - start)
    console.print(f"{rate:,.0f} rows per second, generating them included")
