"""Faults that the tests must find: python -m tests.planted_faults [NAMES].

Each is planted into a copy of the sources, and the tests run until one fails that does
not fail without the fault. Whoever thins out the tests runs this before and after.
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
# Where to look first. Whatever this says, every room is looked through until a fault
# is found.
NEAR = {
    "problem/losses.py": ["unit/test_losses", "exact/test_engine"],
    "problem/rates.py": ["unit/test_rates", "exact/test_engine"],
    "problem/steps.py": ["exact/test_engine"],
    "problem/tasks.py": ["exact/test_engine"],
    "problem/kernels.py": ["unit/test_kernels", "exact/test_engine"],
    "model/rows.py": ["unit/test_rows", "exact/test_engine"],
    "model/expansion.py": ["unit/test_expansion", "unit/test_merge"],
    "model/averages.py": ["unit/test_averages", "exact/test_averages"],
    "budget/bernoulli.py": ["exact/test_engine"],
    "budget/discard.py": ["exact/test_engine"],
    "budget/sample.py": ["exact/test_engine"],
    "budget/forget.py": ["exact/test_engine"],
    "budget/slide.py": ["unit/test_budgets", "exact/test_engine"],
    "budget/cover.py": ["unit/test_cover", "exact/test_engine"],
    "engine/online.py": ["contract/test_numbers", "invariants/test_degenerate"],
    "engine/evaluation.py": ["unit/test_threads", "exact/test_engine"],
    "estimators/_labels.py": ["contract/test_labels"],
    "estimators/_class_weights.py": ["contract/test_labels", "exact/test_refit"],
    "estimators/_checks.py": ["contract/test_bad_input"],
}
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


class Tests:
    """The tests of this checkout, on sources with a fault and without."""

    def __init__(self, folder: Path) -> None:
        self.whole, self.broken = folder / "whole", folder / "broken"
        self.useless: set[str] = set()  # they fail without a fault, too
        self._copy(self.whole)

    def _copy(self, tree: Path) -> None:
        shutil.rmtree(tree, ignore_errors=True)
        left_out = shutil.ignore_patterns("__pycache__")
        for name in ("src", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, tree / name, ignore=left_out)
        shutil.copy(ROOT / "pyproject.toml", tree)

    def _failing(self, tree: Path, tests: list[str], seconds: float) -> str | None:
        """Return the first test that fails in a tree."""
        here = {"PYTHONPATH": str(tree / "src")}
        options = ["-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
        # These only see that the text is another.
        options.append("--ignore=tests/unit/test_planted_faults.py")
        options += [f"--deselect={test}" for test in self.useless]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pytest", *options, *tests],
            cwd=tree,
            env={**os.environ, **here},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.M)
        return found[1] if found else None

    def find(self, fault: Fault) -> str:
        """Return the first test that finds a fault, or that none does."""
        self._copy(self.broken)
        planted(fault, self.broken)
        near = [f"tests/{name}.py" for name in NEAR.get(fault.file, [])]
        places = [*([place] for place in near), [*ROOMS]]
        until = time.monotonic() + LONGEST
        try:
            while places:
                left = until - time.monotonic()
                test = self._failing(self.broken, places[0], left)
                if test is None:
                    places.pop(0)
                    continue
                left = until - time.monotonic()
                if self._failing(self.whole, [test], left) is None:
                    return test
                self.useless.add(test)
        except subprocess.TimeoutExpired:
            return "not found in an hour"
        return "NOT FOUND"


def main(names: list[str]) -> None:
    """Plant the faults whose names have one of the words, and say who finds them."""
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(Path(folder))
        for fault in FAULTS:
            if not names or any(name in fault.name for name in names):
                start = time.monotonic()
                test = tests.find(fault)
                took = time.monotonic() - start
                print(f"{fault.name:40} {took:5.0f} s  {test}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
