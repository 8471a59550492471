"""Faults that the tests must find: python -m tests.planted_faults [NAMES].

Each is planted into a copy of the sources, and the tests run, as plain Python, until
one fails. Whoever thins out the tests runs this before and after.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("tests/unit", "tests/exact", "tests/invariants", "tests/contract")
# Seconds for one fault: tests that find none take long.
LONGEST = 3600


class Fault(NamedTuple):
    """Another text in the place of one that occurs once in a file."""

    name: str
    file: str
    right: str
    wrong: str


FAULTS = [
    Fault(**fault)
    for fault in tomllib.loads((ROOT / "tests/planted_faults.toml").read_text())[
        "faults"
    ]
]


def planted(fault: Fault, tree: Path) -> None:
    """Put a fault into the sources of a tree."""
    path = tree / "src" / "onkel" / fault.file
    text = path.read_text()
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: {fault.file} has {text.count(fault.right)}")
    path.write_text(text.replace(fault.right, fault.wrong))


def caught_by(fault: Fault) -> str:
    """Return the first test that finds a fault, or that none does."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in ("src", "tests", "benchmarks"):
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, tree / name, ignore=left_out)
        shutil.copy(ROOT / "pyproject.toml", tree)
        planted(fault, tree)
        here = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tree / "src")}
        options = ["-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
        command = [sys.executable, "-P", "-m", "pytest", *options, *ROOMS]
        try:
            done = subprocess.run(
                command,
                cwd=tree,
                env={**os.environ, **here},
                capture_output=True,
                text=True,
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "not found in an hour"
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[0] if found else "NOT FOUND"


def main(names: list[str]) -> None:
    """Plant the faults whose names have one of the words, and say who finds them."""
    for fault in FAULTS:
        if not names or any(name in fault.name for name in names):
            start = time.monotonic()
            test = caught_by(fault)
            took = time.monotonic() - start
            print(f"{fault.name:40} {took:5.0f} s  {test}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
