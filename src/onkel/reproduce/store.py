"""Outcomes in files: one for each table, written after every cell, found again.

A cell is known by what determines its numbers, not by its place: two papers that run
the same system by the same protocol on the same data share an outcome.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onkel.reproduce.protocol import Cell, Table

Outcome = dict[str, Any]
# By data set and algorithm.
Results = dict[tuple[str, str], Outcome]


def file_of(target: str, folder: Path) -> Path:
    """Return where the outcomes of a target are kept."""
    return folder / f"{target.replace('/', '_')}.json"


def fingerprint(table: Table, cell: Cell) -> str:
    """Return a digest of all that determines the outcome of a cell.

    Parameters
    ----------
    table
        With the protocol; its paper and its name do not matter.
    cell
        With a setup.
    """
    assert cell.setup is not None
    module = table.load.__module__.rpartition(".")[2]  # in whatever room
    described = [
        table.data[cell.data],
        f"{module}.{table.load.__qualname__}",
        table.held_out,
        [table.search.kind, table.search.splits],
        asdict(cell.setup),
    ]
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path: Path) -> dict[str, Any]:
    """Return a file of outcomes: what was run, and its cells."""
    if not path.exists():
        return {"cells": {}}
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a file of outcomes, so that an interruption leaves the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps(content, indent=1) + "\n")
    fresh.replace(path)


def everything(folder: Path) -> dict[str, Outcome]:
    """Return all outcomes of a folder by fingerprint."""
    found: dict[str, Outcome] = {}
    for path in sorted(folder.glob("*_*.json")):
        for outcome in read(path)["cells"].values():
            mark = outcome.get("fingerprint", "")
            # Several targets may have run the same cell: the most orders count.
            if mark and _orders(outcome) >= _orders(found.get(mark, {})):
                found[mark] = outcome
    return found


def _orders(outcome: Outcome) -> int:
    return len(outcome.get("values", ()))


def known(path: Path) -> Results:
    """Return the outcomes of a table by data set and algorithm."""
    found: Results = {}
    for key, outcome in read(path)["cells"].items():
        data, algorithm = key.split("/")[:2]
        if "parameters" in outcome:
            found[data, algorithm] = outcome
    return found
