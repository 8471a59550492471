"""Our ready-made estimators against SVC, Nystroem, LightGBM and falkon.

    python -m studies.comparison --methods onkel,onkel-auto
    python -m studies.comparison --methods svc-grid,svc,nystroem,lightgbm,lightgbm-tuned
    python -m studies.comparison --in-process --minutes 9 --methods onkel-cuda
    python -m studies.comparison --page

Every cell (data set, method, seed) runs in a process of its own with one thread, and is
put into a ledger when it is done; cells that are there are not measured again, so a run
can be stopped at any time. Another version is measured by PYTHONPATH, which names its
src, and `--ledger results/earlier.json`, of which `--page --earlier` tells the ratio.
`--page` writes docs/comparison.md from the ledgers, which also says how everything was
measured.
"""

import argparse
import functools
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from onkel.data.catalogue import load
from onkel.measuring.records import RecordFile, Records
from studies.comparison_cells import measure
from studies.comparison_ledger import gathered, stored
from studies.comparison_methods import DETERMINISTIC, MACHINES, METHODS, TABLE
from studies.comparison_sets import FIXED, LARGE, NEW, SETS

# SVC would take an hour for all seeds together, so there it has fewer.
SLOW = ("SUSY-30k", "a9a", "ijcnn1", "w8a", "cod-rna", "skin_nonskin", "cadata", "casp")
FEW = 2
VARIABLES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
EARLIER = "comparison_earlier.json"


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
    if name in NEW or (name in FIXED and method in DETERMINISTIC):
        return min(seeds, 1)
    # Each takes ten minutes, or more.
    if name in LARGE and method in (*MACHINES, "nystroem"):
        return min(seeds, 1)
    if name in SLOW and method in MACHINES:
        return min(seeds, FEW)
    return seeds


def cells(sets: Iterable[str], methods: Iterable[str], seeds: int) -> list[Cell]:
    """All cells, in the order of work: seed 0 of all sets first, large sets last."""
    sets, methods = list(sets), list(methods)
    every = [
        Cell(name, method, seed)
        for name in (*SETS, *NEW)
        for method in METHODS
        for seed in range(seeds_of(name, method, seeds))
        if name in sets and method in methods
    ]
    return sorted(every, key=lambda cell: (cell.set in LARGE, cell.seed))


def is_done(records: Records, cell: Cell) -> bool:
    """Tell whether a cell was measured."""
    return "failed" not in records.get(cell.key, {"failed": "not begun"})


# ---- running ---------------------------------------------------------------------


def run(cell: Cell, ledger: RecordFile, threads: int) -> dict[str, Any]:
    """Measure a cell in a process of its own."""
    names = [f"{variable}_NUM_THREADS" for variable in VARIABLES]
    environment = os.environ | dict.fromkeys(names, str(threads))
    module = "studies.comparison_cells"
    arguments = (*map(str, cell), str(ledger.path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        return failed(cell, reason)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def failed(cell: Cell, reason: str) -> dict[str, Any]:
    """Record why there is no measurement."""
    return {"set": cell.set, "method": cell.method, "failed": reason}


def in_process(ledger: RecordFile) -> Callable[[Cell], dict[str, Any]]:
    """Measure cells here, where files are read once."""
    read = functools.cache(load)

    def one(cell: Cell) -> dict[str, Any]:
        try:
            record = measure(*cell, ledger.records, read)
        except Exception as error:
            return failed(cell, f"{type(error).__name__}: {error}")
        # The peak would be that of all cells so far.
        del record["memory"]
        return record

    return one


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
    seconds: float,
) -> None:
    """Measure cells, and put each into the ledger when it is done.

    None begins after so many seconds.
    """
    end = time.perf_counter() + seconds

    def work(numbered: tuple[int, Cell]) -> None:
        number, cell = numbered
        if time.perf_counter() > end:
            return
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
    every = (*SETS, *NEW)
    parser.add_argument("--sets", type=_listed(every), default=list(SETS))
    parser.add_argument("--methods", type=_listed([*METHODS]), default=list(TABLE))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time")
    parser.add_argument("--threads", type=int, default=1, help="of a cell's process")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--in-process", action="store_true", help="one after another")
    parser.add_argument(
        "--ledger",
        nargs="+",
        type=Path,
        default=[Path("results/comparison.json")],
        help="for the page several: what two have is the later's",
    )
    parser.add_argument("--again", action="store_true", help="also what is there")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    parser.add_argument("--earlier", type=Path, help="ledger of an earlier version")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="of the page")
    given = parser.parse_args(argv)
    if given.page:
        from studies.comparison_page import save

        records = gathered(given.ledger, given.docs / "comparison.json")
        earlier = stored(given.earlier or given.docs / EARLIER)
        for path in save(records, earlier, given.docs):
            print(f"Wrote {path}")
        return
    ledger = RecordFile(given.ledger[0])
    if importlib.util.find_spec("falkon") is None:
        given.methods = [method for method in given.methods if method != "falkon"]
    wanted = cells(given.sets, given.methods, given.seeds)
    measured = in_process(ledger)

    def alone(cell: Cell) -> dict[str, Any]:
        return run(cell, ledger, given.threads)

    records = {} if given.again else ledger.records
    left = [cell for cell in wanted if not is_done(records, cell)]
    print(f"{len(wanted)} cells, {len(left)} of them to do", flush=True)
    how, jobs = (measured, 1) if given.in_process else (alone, given.jobs)
    run_all(left, ledger, how, jobs, 60 * given.minutes)


if __name__ == "__main__":
    main()
