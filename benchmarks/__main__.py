"""Run all benchmarks, or those named: python -m benchmarks learn_vs_predict csr."""

import importlib
import sys

from rich.console import Console

from onkel.data.catalogue import DataNotFoundError

NAMES = ("learn_vs_predict", "csr", "cold_start", "memory")

console = Console()
for name in sys.argv[1:] or NAMES:
    console.rule(name)
    module = importlib.import_module(f"benchmarks.{name}")
    try:
        module.main(console)
    except DataNotFoundError as missing:
        console.print(f"skipped: {missing}")
