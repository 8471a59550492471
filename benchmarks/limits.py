"""KernelClassifier: how long fit takes with a time_limit, and how much memory.

A limit should be kept within a fifth, and 1,000,000 x 50 be learnt in three times the
memory of the data, which are part of it.
"""

import subprocess
import sys
import time
import warnings

import numpy as np
from rich.console import Console

import onkel
from benchmarks.tables import table

CASES = ((500, 1), ("auto", 1), (2000, 5), ("auto", 5), (500, 20))
ROWS, FEATURES = 100_000, 20
# In a process of its own, whose peak is that of this fit.
MEMORY = """
import resource, warnings, numpy as np, onkel
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(7000, 50))
onkel.KernelClassifier(budget=50).fit(X, X[:, 0] * X[:, 1] > 0.0)
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
X = rng.normal(size=(1_000_000, 50))
y = X[:, 0] * X[:, 1] > 0.0
onkel.KernelClassifier(budget={budget!r}, random_state=0, time_limit=60).fit(X, y)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((peak - idle) * 1024 / X.nbytes)
"""


def main(console: Console) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=ROWS) > 0.0
    onkel.KernelClassifier(budget=50).fit(X[:7000], y[:7000])
    columns = ["budget", "limit, s", "fit, s", "CPU s", "score held out"]
    shown = table(f"time_limit, {ROWS:,} x {FEATURES}", columns, texts=())
    for budget, limit in CASES:
        model = onkel.KernelClassifier(budget=budget, time_limit=limit, random_state=0)
        wall, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(action="ignore"):
            model.fit(X, y)
        took = time.perf_counter() - wall, time.process_time() - cpu
        figures = (*took, model.held_out_score_)
        shown.add_row(str(budget), f"{limit}", *(f"{one:.2f}" for one in figures))
    console.print(shown)
    for budget in (100, 500, "auto"):
        command = [sys.executable, "-c", MEMORY.format(budget=budget)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        console.print(
            f"1,000,000 x 50, budget {budget}: {float(done.stdout):.2f} times the data"
        )
