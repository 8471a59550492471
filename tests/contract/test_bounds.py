"""Compiled code stays within its arrays: part of the suite with bounds checked.

Compiled code checks no index, so that a wrong one reads or writes somebody else's
memory and mostly nobody notices. numba can check them, at a price; then it compiles
code of its own, which must not get into the usual cache.
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Merging in single precision, where squares underflow, removal, sparse and dense rows,
# Fourier features: about a minute, nearly all of it compilation.
SELECTED = [
    "contract/test_numbers.py::test_weights_that_underflow_in_single_precision_do_not_stop_merging",
    "contract/test_numbers.py::test_a_budget_of_255_in_one_byte_is_kept",
    "contract/test_numbers.py::test_a_broken_sparse_matrix_is_refused_everywhere[beyond]",
]


def test_with_bounds_checked_nothing_is_out_of_bounds(tmp_path: Path) -> None:
    own = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    own["NUMBA_OPT"] = "0"  # indices are the same, and sooner compiled
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(TESTS / s) for s in SELECTED)],
        cwd=TESTS.parent,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
