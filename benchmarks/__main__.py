"""Run all benchmarks, or those named: python -m benchmarks learn_vs_predict csr.

Ours beside those of others is not among them, since it takes a quarter of an hour and
writes a page: python -m benchmarks.peers.
"""

import importlib
import sys

from rich.console import Console

from onkel.data.catalogue import DataNotFoundError

NAMES = (
    *("learn_vs_predict", "roofline", "second_order", "recursive", "flat_cost"),
    *("keeping", "merging", "covering", "features", "csr", "cold_start", "levels"),
    *("memory", "files", "threads", "limits", "fit_stages", "gpu_grids", "river"),
    "stalls",
)

# Wide enough for the tables, also where the output is no terminal.
console = Console(width=max(Console().width, 120))
for name in sys.argv[1:] or NAMES:
    console.rule(name)
    module = importlib.import_module(f"benchmarks.{name}")
    try:
        module.main(console)
    except DataNotFoundError as missing:
        console.print(f"skipped: {missing}")
