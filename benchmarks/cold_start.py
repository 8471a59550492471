"""What a user waits for: the import, and the first fit of a new process."""

import os
import subprocess
import sys
import tempfile
from statistics import median

from rich.console import Console
from rich.table import Table

IMPORT = """
import time, numba, sklearn.linear_model
start = time.perf_counter()
import onkel
print(time.perf_counter() - start)
"""

FIT = """
import time, numpy as np, onkel
X = np.random.default_rng(0).normal(size=(1000, 10)).astype(np.float32)
y = X[:, 0] * X[:, 1] > 0
start = time.perf_counter()
onkel.BSGDClassifier(budget=100).fit(X, y)
print(time.perf_counter() - start)
"""


def measure(code: str, cache: str) -> float:
    """Seconds that a new process reports, with its compile cache in that folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return float(run.stdout)


def files(folder: str) -> set[str]:
    return {
        os.path.join(top, name) for top, _, names in os.walk(folder) for name in names
    }


def main(console: Console) -> None:
    table = Table(title="cold start, seconds")
    table.add_column("what")
    table.add_column("seconds", justify="right")
    table.add_column("aim", justify="right")
    with tempfile.TemporaryDirectory() as cache:
        imports = median(measure(IMPORT, cache) for _ in range(5))
        cold = measure(FIT, cache)
        before = files(cache)
        warm = median(measure(FIT, cache) for _ in range(3))
        new = files(cache) - before
    label = "import onkel, beyond scikit-learn and numba"
    table.add_row(label, f"{imports:.2f}", "0.3")
    table.add_row("first fit, nothing compiled yet", f"{cold:.1f}", "15")
    table.add_row("first fit of a second process", f"{warm:.2f}", "2")
    console.print(table)
    console.print(f"files that the second process compiled: {len(new)}")
