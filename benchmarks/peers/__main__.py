"""The command: run all, and write the page, the numbers and the pictures."""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scipy.sparse

from benchmarks.peers.bouts import bouts, fight
from benchmarks.peers.page import save
from benchmarks.peers.programs import (
    PROGRAMS,
    Built,
    MissingProgramError,
    SameTitleError,
    built,
    titled,
)
from benchmarks.peers.tasks import MOST_ROWS, SETS, rows_of, stored
from onkel.data.catalogue import DataNotFoundError
from onkel.measuring.machine import machine
from studies.comparison import VARIABLES
from studies.progress import progress


def _peer(text: str) -> Built:
    name, _, folder = text.partition("=")
    if name not in PROGRAMS or not folder:
        raise argparse.ArgumentTypeError(
            f"expected NAME=FOLDER, with a NAME of {', '.join(PROGRAMS)}; got {text!r}"
        )
    try:
        return built(name, Path(folder))
    except MissingProgramError as missing:
        raise argparse.ArgumentTypeError(str(missing)) from None


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--output", type=Path, default=Path("results/peers"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument(
        "--peer",
        action="append",
        type=_peer,
        default=[],
        metavar="NAME=FOLDER",
        help=(
            f"a built program: {', '.join(PROGRAMS)}; may be given several times, "
            "another build of the same program too: it is called after its folder"
        ),
    )
    parser.add_argument("--rounds", type=int, default=3, help="of a bout, at most")
    parser.add_argument(
        "--limit", type=float, default=45.0, help="seconds of a contestant (CPU)"
    )
    parser.add_argument(
        "--rows", type=int, default=MOST_ROWS, help="to learn, at most, to try it out"
    )
    parser.add_argument(
        "--without-roofline", action="store_true", help="leave it and the bandwidth out"
    )
    given = parser.parse_args(argv)
    if given.rounds < 1 or given.limit < 1 or given.rows < 100:
        parser.error("at least 1 round, a limit of 1 second, and 100 rows")
    try:
        given.peer = titled(given.peer)
    except SameTitleError as same:
        parser.error(str(same))
    return given


def main(argv: Sequence[str] | None = None) -> None:
    """Run the bouts from the command line."""
    given = _arguments(argv)
    os.environ |= dict.fromkeys([f"{name}_NUM_THREADS" for name in VARIABLES], "1")
    content: dict[str, Any] = {
        "machine": machine(),
        "limit": given.limit,
        "rounds": given.rounds,
        "sets": {},
        "cells": {},
    }
    if not given.without_roofline:
        from benchmarks import roofline, second_order

        with progress(2) as announce:
            announce("the roofline")
            content["roofline"] = roofline.results()
            announce("updates of O(budget^2)")
            content["second_order"] = second_order.results()
    with tempfile.TemporaryDirectory(prefix="onkel-peers-") as folder:
        for name in given.sets:
            try:
                _run_set(name, Path(folder) / name, given, content)
            except DataNotFoundError as missing:
                print(f"{name} is left out: {missing}", file=sys.stderr)
            else:
                # Also while others are still to come: who stops has those so far.
                paths = save(content, given.output)
    if not content["cells"]:
        sys.exit("no data set is there")
    print("Wrote", *paths)


def _run_set(
    name: str, folder: Path, given: argparse.Namespace, content: dict[str, Any]
) -> None:
    rows = rows_of(name, given.rows)
    tasks = stored(name, rows, folder, as_text=bool(given.peer))
    content["sets"][name] = {
        "rows": tasks[0].rows,
        "test_rows": len(rows.y_test),
        "features": tasks[0].features,
        "gamma": tasks[0].gamma,
        "C": tasks[0].C,
        "is_sparse": scipy.sparse.issparse(rows.X),
        "constant": float(min((rows.y_test == label).mean() for label in (-1, 1))),
    }
    of_task = {task: list(bouts(task, given.peer)) for task in tasks}
    total = given.rounds * sum(len(bout) for all_ in of_task.values() for bout in all_)
    with progress(total) as announce:
        for task, met in of_task.items():
            for bout in met:

                def say(text: str, budget: int = task.budget) -> None:
                    announce(f"{name}, budget {budget}: {text}")

                outcomes = fight(bout, given.rounds, given.limit, say)
                for who, record in outcomes.items():
                    content["cells"][f"{name}/{task.budget}/{who}"] = record


if __name__ == "__main__":
    main()
