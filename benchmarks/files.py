"""Files larger than memory should be: peak memory of `onkel fit` and `onkel race`.

Each command runs in a process of its own, with batches of two sizes; the last line
loads the file as a whole. "idle" is a process that has only loaded the library.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.tables import table

BATCHES = (8_192, 65_536)
SYSTEMS = ("BSGD", "RBP", "AVM", "FOGD")
FILES = {
    "flights-3m": ["--above", "15"],
    "covtype": [],
}


def peak_of(words: list[str]) -> tuple[float, float]:
    """MiB and seconds of a command."""
    code = (
        "import resource, subprocess, sys, json, time; start = time.perf_counter();"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(json.dumps([used.ru_maxrss / 1024, time.perf_counter() - start]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ,
    )
    return tuple(json.loads(done.stdout))


def main(console: Console) -> None:
    onkel = [sys.executable, "-m", "onkel.cli"]
    idle, _ = peak_of([sys.executable, "-c", "import onkel.cli.race"])
    columns = ["command", "batch", "peak MiB", "seconds"]
    shown = table(f"Idle: {idle:.0f} MiB", columns)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in FILES.items():
            fit = ["fit", name, *options, "--system", "bsgd", "--budget", "100"]
            fit += ["-o", str(Path(folder) / "model.onkel")]
            race = ["race", name, *options, "--budget", "100", "--alone"]
            race += [word for system in SYSTEMS for word in ("--system", system)]
            race += ["--permutations", "1", "-o", str(Path(folder) / "race")]
            for words in (fit, race):
                for rows in BATCHES:
                    how = ["--memory", "0", "--batch-rows", str(rows)]
                    peak, seconds = peak_of([*onkel, *words, *how])
                    row = (f"{peak:.0f}", f"{seconds:.0f}")
                    shown.add_row(f"{words[0]} {name}", f"{rows:,}", *row)
            peak, seconds = peak_of([*onkel, *fit, "--memory", "100000"])
            shown.add_row(f"fit {name}", "whole", f"{peak:.0f}", f"{seconds:.0f}")
    console.print(shown)
