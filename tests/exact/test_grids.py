"""A GPU learns a grid as the processor does; here the GPU is numba-cuda's simulator."""

import importlib.util
import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="needs the simulator of numba-cuda: pip install numba-cuda",
)
def test_rows_of_a_grid_agree_with_the_processor() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.exact.grids"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("all rows agree") == 24
