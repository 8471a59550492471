"""What a user waits for: the import, and the first fit of a new process."""

import os
import subprocess
import sys
import tempfile
from statistics import median

from rich.console import Console

from benchmarks.tables import table
from onkel.compiled.compile_cache import SHIPPED
from onkel.precompile import Meeting, meetings

FORMS = ("as installed", "float32", "CSR", "CSR, float32")  # as `meetings` has them
IMPORT = """
import time, sklearn.base
start = time.process_time()
import onkel
print(time.process_time() - start)
"""

# From scikit-learn's import to the end of the first fit, processor time.
FIT = """
import sys, time, warnings, sklearn.base
start = time.process_time()
warnings.simplefilter("ignore")
import numpy as np, scipy.sparse
from onkel.estimators._registry import systems
name, precision, is_sparse = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(300, 6)).astype(precision)
y = X[:, 0] if name.endswith("Regressor") else (X[:, 0] * X[:, 1] > 0).astype(int)
systems()[name]().fit(scipy.sparse.csr_array(X) if is_sparse == "True" else X, y)
print(time.process_time() - start)
"""


def measure(code: str, *arguments: str, **environment: str) -> float:
    """Seconds that a new process reports."""
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def first_fit(meeting: Meeting, **environment: str) -> str:
    with tempfile.TemporaryDirectory() as empty:
        arguments = map(str, meeting[:3])
        seconds = measure(FIT, *arguments, NUMBA_CACHE_DIR=empty, **environment)
    return f"{seconds:.1f}"


def main(console: Console) -> None:
    imports = median(measure(IMPORT) for _ in range(5))
    console.print(f"import onkel, beyond scikit-learn: {imports:.2f} s (aim 0.25)")
    shown = table(
        "first fit beyond scikit-learn's import, seconds, empty cache",
        ["estimator", *FORMS, "without shipped"],
    )
    for name in dict.fromkeys(meeting.estimator for meeting in meetings()):
        own = [meeting for meeting in meetings() if meeting.estimator == name]
        cells = [first_fit(meeting) for meeting in own]
        shown.add_row(name, *cells, first_fit(own[0], **{SHIPPED: ""}))
    console.print(shown)
