"""Our ready-made estimators against SVC, Nystroem and LightGBM.

    python -m studies.comparison --methods svc-grid,svc,nystroem,lightgbm
    python -m studies.comparison --methods onkel --page

Every cell (data set, method, seed) runs in a process of its own with one thread, and is
put into a ledger when it is done; cells that are there are not measured again, so a run
can be stopped at any time. `--page` writes docs/comparison.md from the ledger, which
also says how everything was measured.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from onkel.measuring.records import RecordFile, Records
from studies.comparison_cells import DETERMINISTIC, METHODS
from studies.comparison_sets import CLASSIFICATION, FIXED, LARGE, REGRESSION

SETS = (*CLASSIFICATION, *REGRESSION)
# SVC would take an hour for all seeds together, so there it has fewer; so has ours
# where it grows.
SLOW = ("SUSY-30k", "a9a", "ijcnn1", "w8a", "cod-rna", "skin_nonskin", "cadata", "casp")
FEW = 2
VARIABLES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
BUDGETED = ("nystroem", "onkel")


class Cell(NamedTuple):
    """What is measured in one process."""

    set: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        """Name in the ledger."""
        return "/".join(map(str, self))


def seeds_of(name: str, method: str, seeds: int) -> int:
    """Return how many seeds are run."""
    if name in FIXED and method in DETERMINISTIC:
        return min(seeds, 1)
    # Each takes ten minutes, or more.
    if name in LARGE and method in ("svc-grid", "svc", "nystroem", "onkel-auto"):
        return min(seeds, 1)
    if name in SLOW and method in ("svc-grid", "svc", "onkel-auto"):
        return min(seeds, FEW)
    return seeds


def cells(sets: Iterable[str], methods: Iterable[str], seeds: int) -> list[Cell]:
    """All cells, in the order of work: seed 0 of all sets first, large sets last."""
    sets, methods = list(sets), list(methods)
    every = [
        Cell(name, method, seed)
        for name in SETS
        for method in METHODS
        for seed in range(seeds_of(name, method, seeds))
        if name in sets and method in methods
    ]
    return sorted(every, key=lambda cell: (cell.set in LARGE, cell.seed))


def is_done(records: Records, cell: Cell, budget: int) -> bool:
    """Tell whether a cell was measured, and with this budget."""
    record = records.get(cell.key)
    if record is None or "failed" in record:
        return False
    return cell.method not in BUDGETED or record["budget"] == budget


# ---- running ---------------------------------------------------------------------


def run(cell: Cell, budget: int, ledger: RecordFile, threads: int) -> dict[str, Any]:
    """Measure a cell in a process of its own."""
    names = [f"{variable}_NUM_THREADS" for variable in VARIABLES]
    environment = os.environ | dict.fromkeys(names, str(threads))
    module = "studies.comparison_cells"
    arguments = (*map(str, cell), str(budget), str(ledger.path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        return {"set": cell.set, "method": cell.method, "failed": reason}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def line(cell: Cell, record: dict[str, Any]) -> str:
    """Tell in one line what came out."""
    if "failed" in record:
        return f"{cell.key}: failed, {record['failed']}"
    stopped = " (extrapolated)" if {"fit_part", "search_part"} & set(record) else ""
    return (
        f"{cell.key}: error {100 * record['error']:.2f} %, "
        f"{record['seconds']:.1f} s{stopped}, predicts in "
        f"{record['predict_seconds']:.1f} s, size {record['model_size']}"
    )


def run_all(
    wanted: Sequence[Cell],
    ledger: RecordFile,
    measure: Callable[[Cell], dict[str, Any]],
    jobs: int,
) -> None:
    """Measure cells, and put each into the ledger when it is done."""

    def work(numbered: tuple[int, Cell]) -> None:
        number, cell = numbered
        record = measure(cell)
        ledger.add(cell.key, record)
        print(f"[{number}/{len(wanted)}] {line(cell, record)}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        # list() raises what a thread raised.
        list(pool.map(work, enumerate(wanted, 1)))


def _listed(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := set(names) - set(allowed):
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(allowed)}"
            )
        return names

    return parse


def main(argv: Sequence[str] | None = None) -> None:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.comparison")
    parser.add_argument("--sets", type=_listed(SETS), default=list(SETS))
    parser.add_argument("--methods", type=_listed(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time")
    parser.add_argument("--threads", type=int, default=1, help="of a cell")
    parser.add_argument("--ledger", type=Path, default=Path("results/comparison.json"))
    parser.add_argument("--again", action="store_true", help="also what is there")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="of the page")
    given = parser.parse_args(argv)
    ledger = RecordFile(given.ledger)
    if given.page:
        from studies.comparison_page import save

        for path in save(ledger.records, given.docs):
            print(f"Wrote {path}")
        return
    wanted = cells(given.sets, given.methods, given.seeds)

    def measure(cell: Cell) -> dict[str, Any]:
        return run(cell, given.budget, ledger, given.threads)

    records = {} if given.again else ledger.records
    left = [cell for cell in wanted if not is_done(records, cell, given.budget)]
    print(f"{len(wanted)} cells, {len(left)} of them to do", flush=True)
    run_all(left, ledger, measure, given.jobs)


if __name__ == "__main__":
    main()
