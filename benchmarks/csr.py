"""Learning from CSR rows against learning from the same rows as a dense array."""

from statistics import median

import numpy as np
from rich.console import Console

from benchmarks.learn_vs_predict import RUNS, seconds
from benchmarks.tables import table
from benchmarks.workloads import systems, w8a


def main(console: Console) -> None:
    work = w8a()
    dense, classes = work.X.toarray(), np.unique(work.y)
    rows, features = work.X.shape
    stored = work.X.nnz / rows
    shown = table(
        f"{work.name}: {rows:,} rows, {features} features of which {stored:.1f} "
        f"are stored, budget {work.budget}, median of {RUNS} runs, in turn",
        ["system", "dense us/row", "CSR us/row", "ratio", "difference"],
    )
    for name in ("RBP", "BSGD removal"):
        make = systems(work)[name]
        times: dict[str, list[float]] = {"dense": [], "csr": []}
        for _ in range(RUNS + 1):  # the first run compiles
            models = {}
            for kind, X in (("dense", dense), ("csr", work.X)):
                models[kind] = model = make()
                times[kind].append(
                    seconds(lambda m=model, X=X: m.partial_fit(X, work.y, classes))
                )
        a, b = (median(t[1:]) / rows * 1e6 for t in times.values())
        scores = [models[kind].decision_function(work.X) for kind in times]
        difference = np.abs(scores[0] - scores[1]).max() / np.abs(scores[0]).max()
        shown.add_row(name, f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}", f"{difference:.1e}")
    console.print(shown)
