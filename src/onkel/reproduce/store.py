"""Outcomes in files: one for each table, written after every cell, found again.

A cell is known by what determines its numbers, not by its place: two papers that run
the same system by the same protocol on the same data share an outcome. Beside that an
outcome says which engine measured it, and by which code around it: code changes far
more often than numbers do, so that one of other code is stale, not void, until `check`
has confirmed it.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from onkel.compiled.compile_cache import STAMP
from onkel.measuring.records import RecordFile
from onkel.reproduce.protocol import Cell, Table

Outcome = dict[str, Any]
# By data set and algorithm.
Results = dict[tuple[str, str], Outcome]
PACKAGE = "onkel.reproduce"
# Beside the compiled code, what rows are loaded and parameters chosen by everywhere.
SOURCES = ("choosing.py", "online_data.py", "problems.py")
# What describes cells and outcomes, and changes no number. Whoever forgets one here has
# cells that are stale too early, not too late.
DESCRIBING = {"protocol", "published", "store", "bands", "digits", "summary"}
ACCURACY, PERCENT = "accuracy_pct", 100.0
# What a search leaves in an outcome.
CHOICE = ("parameters", "error_of_choice", "constant_of_choice")
OTHER_PROTOCOL, OTHER_ENGINE = "protocol", "engine"


def file_of(target: str, folder: Path) -> RecordFile:
    """Return where the outcomes of a target are kept."""
    return RecordFile(folder / f"{target.replace('/', '_')}.json")


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
    load = table.loader(table.data[cell.data])
    module = load.__module__.rpartition(".")[2]  # in whatever room
    described = [
        table.data[cell.data],
        f"{module}.{load.__qualname__}",
        table.held_out,
        table.dtype,
        [table.search.kind, table.search.splits],
        asdict(cell.setup),
    ]
    if own_way(table) is not None:
        described += [measured_by(table), cell.algorithm]
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def choice_of(table: Table, cell: Cell, known: Mapping[str, Outcome]) -> Outcome | None:
    """Return what was chosen for a cell when it was run before, or elsewhere.

    Parameters
    ----------
    table, cell
        Of a table or figure.
    known
        Outcomes by fingerprint: the cell's own, if it was run in fewer orders or had no
        time, and where cells are measured in their own way that of the same setup, or
        of who lends its parameters, by the same search in a table.

    Returns
    -------
    choice
        Parameters, and errors in the search; None if nobody has searched.
    """
    marks = [fingerprint(table, cell)]
    if own_way(table) is not None:
        plain = replace(table, measure=None, passes=None)
        marks.append(fingerprint(plain, cell._replace(setup=table.searched(cell))))
    for mark in marks:
        found = known.get(mark, {})
        if set(CHOICE) <= set(found):
            return {key: found[key] for key in CHOICE}
    return None


def own_way(table: Table) -> Any:
    """Return the function that measures cells in their own way, None for the runner."""
    measure = table.measure or table.passes
    return getattr(measure, "func", measure)


def measured_by(table: Table) -> list[str]:
    """Return the name of who measures, and what it and a lender are told by name."""
    given = (table.measure, table.passes, table.lender)
    told = [value for one in given for value in getattr(one, "keywords", {}).values()]
    named = [getattr(value, "__qualname__", value) for value in told]
    return [own_way(table).__qualname__, *map(str, named)]


@cache
def engine() -> str:
    """Return a digest of the code that measures: compiled code, loaders and search."""
    digest = hashlib.sha256(STAMP.encode())
    for name in SOURCES:
        digest.update(files(PACKAGE).joinpath(name).read_bytes())
    return digest.hexdigest()[:12]


def code_of(table: Table, cell: Cell) -> str:
    """Return a digest of the modules that a cell's loader and measure live in.

    And of those of this package that they import, but for what only describes. A cell
    without a measure of its own is measured by the runner.
    """
    measure = own_way(table)
    module = "runner" if measure is None else _in_package(measure)
    load = table.loader(table.data[cell.data])
    return _digest(frozenset({module, _in_package(load)} - {""}))


def _in_package(function: Any) -> str:
    """Return the name of a function's module in this package, "" if it is elsewhere."""
    package, _, name = function.__module__.rpartition(".")
    return str(name) if package == PACKAGE else ""


@cache
def _digest(modules: frozenset[str]) -> str:
    known: set[str] = set()
    waiting = set(modules)
    while waiting:
        known |= waiting
        waiting = {name for one in waiting for name in imported_by(one)} - known
    digest = hashlib.sha256()
    for name in sorted(known):
        digest.update(_source(name).encode())
    return digest.hexdigest()[:12]


def _source(module: str) -> str:
    return files(PACKAGE).joinpath(f"{module}.py").read_text(encoding="utf-8")


@cache
def imported_by(module: str) -> frozenset[str]:
    """Return the modules of this package that one imports, but for what describes.

    Examples
    --------
    >>> from onkel.reproduce.store import imported_by
    >>> sorted(imported_by("batch_data"))
    ['connections', 'hands', 'online_data']
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, name = node.module.rpartition(".")
            if package == PACKAGE:
                found.add(name)
            elif node.module == PACKAGE:
                found |= {alias.name for alias in node.names}
    return frozenset(found - DESCRIBING)


def staleness(table: Table, cell: Cell, outcome: Outcome, today: str) -> str:
    """Return what has changed since a cell was run: its protocol, the engine, or "".

    The engine is that of all cells, `today`, and the code of this one. Outcomes that do
    not say their code were stored when nobody asked.
    """
    if cell.setup is None or outcome.get("fingerprint") != fingerprint(table, cell):
        return OTHER_PROTOCOL
    if today not in (outcome.get("engine"), outcome.get("confirmed")):
        return OTHER_ENGINE
    code = code_of(table, cell)
    return "" if outcome.get("code", code) == code else OTHER_ENGINE


def everything(folder: Path) -> dict[str, Outcome]:
    """Return all outcomes of a folder by fingerprint."""
    found: dict[str, Outcome] = {}
    for path in sorted(folder.glob("*_*.json")):
        for outcome in RecordFile(path).records.values():
            mark = outcome.get("fingerprint", "")
            # Several targets may have run the same cell: the most orders count.
            if mark and _orders(outcome) >= _orders(found.get(mark, {})):
                found[mark] = outcome
    return found


def _orders(outcome: Outcome) -> int:
    return len(outcome.get("values", ()))


def in_metric(outcome: Outcome, metric: str) -> Outcome:
    """Return an outcome in the metric of a table, where papers share it.

    One may print accuracies of what the other prints errors of, both in percent. An
    outcome that does not say its metric has that of the table.
    """
    had = outcome.get("metric", metric)
    if (had == ACCURACY) == (metric == ACCURACY):
        return outcome
    turned: Outcome = {"metric": metric, "constant": PERCENT - outcome["constant"]}
    for name in {"values", "progressive"} & set(outcome):
        turned[name] = [PERCENT - value for value in outcome[name]]
    return outcome | turned


def known(path: Path) -> Results:
    """Return the outcomes of a table by data set and algorithm."""
    found: Results = {}
    for key, outcome in RecordFile(path).records.items():
        data, algorithm = key.split("/")[:2]
        if "parameters" in outcome:
            found[data, algorithm] = outcome
    return found
