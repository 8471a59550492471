"""Reproduces tables and figures of the papers: chooses cells, runs them, writes pages.

    onkel reproduce bogd/table3 --output docs/reproduce

Outcomes are kept in a file for each target after every cell. What is there already, by
the same protocol, is not run again: delete the file to begin anew.
"""

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed

from onkel.reproduce import (
    avm,
    bogd,
    bsca,
    check,
    claims,
    dualsvrg,
    nbsgd,
    page,
    papers,
    runner,
    store,
)
from onkel.reproduce.protocol import Cell, Table

PAPERS: dict[str, Any] = {
    "nbsgd": nbsgd,
    "bogd": bogd,
    "bsca": bsca,
    "avm": avm,
    "dualsvrg": dualsvrg,
}
CLAIMS, PAPERS_PAGE = "claims", "papers"
CHECK, PAGES = "check", "pages"
CELL_SECONDS = 60.0


class Request(NamedTuple):
    """What is asked for; parameters of `reproduce`."""

    output: Path
    permutations: int | None
    datasets: Sequence[str] | None
    systems: Sequence[str] | None
    cell_seconds: float
    jobs: int


def tables() -> dict[str, Table]:
    """Return everything that can be run, by target."""
    return {t.target: t for module in PAPERS.values() for t in module.TABLES}


def targets() -> dict[str, str]:
    """Return what can be asked for, with a sentence for each.

    Examples
    --------
    >>> from onkel.reproduce import targets
    >>> targets()["bogd/table3"]
    'Mistakes of six systems with three budgets each.'
    """
    found = {name: table.sentence for name, table in tables().items()}
    return {
        **found,
        CLAIMS: "All claims of the papers, judged by what was measured.",
        PAPERS_PAGE: "What was run of each paper, and what holds.",
        CHECK: "Stored cells, drawn at random and run again.",
        PAGES: "The papers' pages, from what was measured.",
    }


def asked(what: str) -> list[Table]:
    """Return the tables of a target, or of all targets of a paper.

    Raises
    ------
    ValueError
        If there is no such target; the message has the list.
    """
    found = [t for name, t in tables().items() if what in (name, t.paper)]
    if not found:
        known = ", ".join([*PAPERS, *targets()])
        raise ValueError(f"nothing to reproduce as {what!r}; there is {known}")
    return found


def _picked(
    table: Table, datasets: Sequence[str] | None, systems: Sequence[str] | None
) -> list[Cell]:
    cells = table.cells()
    for kind, wanted, present in (
        ("data set", datasets, {cell.data for cell in cells}),
        ("system", systems, {cell.algorithm for cell in cells}),
    ):
        unknown = sorted(set(wanted or ()) - present)
        if unknown:
            known = ", ".join(sorted(present))
            raise ValueError(
                f"{table.target} has no {kind} {unknown[0]!r}, only {known}"
            )
    return [
        cell
        for cell in cells
        if (not datasets or cell.data in datasets)
        and (not systems or cell.algorithm in systems)
    ]


def _is_enough(outcome: store.Outcome, wanted: int, limit: float) -> bool:
    """Whether an earlier outcome answers what is asked now."""
    if "why_not" in outcome:
        return outcome.get("needs", limit + 1) > limit
    done, seconds = len(outcome["values"]), outcome.get("seconds")
    if done >= wanted or not seconds:
        return True
    # Fewer than were wanted then: there was no time for another, and is none now.
    another = sum(seconds) / len(seconds)
    return done < outcome["wanted"] and done * another + another > limit


def _about(table: Table, request: Request) -> dict[str, str]:
    """Describe the run: command, computer and day."""
    words = ["onkel", "reproduce", table.target]
    for option, values in (
        ("permutations", [request.permutations] if request.permutations else ()),
        ("data", request.datasets or ()),
        ("system", request.systems or ()),
        ("cell-seconds", [f"{request.cell_seconds:g}"]),
    ):
        for value in map(str, values):
            words += [f"--{option}", f'"{value}"' if " " in value else value]
    return {
        "command": " ".join([*words, "--output", str(request.output)]),
        "machine": f"{os.cpu_count()} cores {platform.machine()}, "
        f"{platform.system()}, Python {platform.python_version()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _outcomes(
    table: Table,
    cells: Sequence[tuple[Cell, store.Outcome | None]],
    wanted: int,
    limit: float,
    jobs: int,
) -> Iterator[tuple[Cell, store.Outcome]]:
    """Run cells, each with what is chosen for it, and yield as they end.

    One after the other, or in processes.
    """
    if jobs == 1:
        for cell, choice in cells:
            yield cell, runner.run(table, cell, wanted, limit, choice)
        return
    by_key = {cell.key: cell for cell, _ in cells}
    tasks = (
        delayed(_by_name)(table.target, cell.key, wanted, limit, choice)
        for cell, choice in cells
    )
    found = Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
    for key, outcome in found:
        yield by_key[key], outcome


def _by_name(
    target: str, key: str, wanted: int, limit: float, choice: store.Outcome | None
) -> tuple[str, store.Outcome]:
    """Run a cell in another process, to which names are sent, not tables."""
    return key, runner.run(*_named(target, key), wanted, limit, choice)


def _named(target: str, key: str) -> tuple[Table, Cell]:
    table = tables()[target]
    return table, next(cell for cell in table.cells() if cell.key == key)


def reproduce(
    what: str,
    output: Path,
    *,
    permutations: int | None = None,
    datasets: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    cell_seconds: float = CELL_SECONDS,
    jobs: int = 1,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Run a table or figure of a paper by its protocol, and write it beside theirs.

    Parameters
    ----------
    what
        A target such as "bogd/table3", or a paper for all of its targets; "claims"
        writes the page of claims from what was run before, and "pages" the papers'. For
        "check" there is `check_stored`.
    output
        Folder for pages, pictures and outcomes.
    permutations
        Random orders; None for as many as the paper has.
    datasets, systems
        Only these, by the paper's names; None for all.
    cell_seconds
        Time for the passes of one cell. One that does not fit at all is not run, and
        the page says how long it would take; otherwise as many orders as fit.
    jobs
        Cells at a time, in processes.
    announce
        Called with a line about every cell that was run.

    Returns
    -------
    pages
        Files that were written for people, one for each paper.
    """
    output = Path(output)
    if what == CLAIMS:
        return [claims.write(output)]
    if what == PAPERS_PAGE:
        return [papers.write(tables(), output)]
    if what == PAGES:
        return _pages(output)
    request = Request(output, permutations, datasets, systems, cell_seconds, jobs)
    chosen = asked(what)
    for table in chosen:
        _run(table, request, announce)
    names = dict.fromkeys(table.paper for table in chosen)
    return [page.write(name, PAPERS[name].TABLES, output) for name in names]


def check_stored(
    output: Path,
    *,
    cells: int = 20,
    seed: int = 0,
    jobs: int = 1,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Run stored cells again, and say whether they are what they were.

    Parameters
    ----------
    output
        Folder of outcomes.
    cells, seed
        How many are drawn, and how.
    jobs
        Cells at a time, in processes.
    announce
        Called with a line about every cell that is run.

    Returns
    -------
    pages
        That of the check, and those of the papers, on which what was confirmed is no
        longer stale.
    """
    output = Path(output)
    again = check.one_by_one if jobs == 1 else partial(_again, jobs)
    draw = {"cells": cells, "seed": seed}
    written = check.check(tables(), output, **draw, again=again, announce=announce)
    return [written, *_pages(output)]


def _again(
    jobs: int, drawn: Sequence[check.Drawn], orders: int
) -> Iterator[tuple[check.Drawn, list[float]]]:
    """Do what `check.one_by_one` does, in processes, to which names are sent."""
    tasks = (
        delayed(_again_by_name)(place, *one.name, one.outcome, orders)
        for place, one in enumerate(drawn)
    )
    for place, values in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
        yield drawn[place], values


def _again_by_name(
    place: int, target: str, key: str, outcome: store.Outcome, orders: int
) -> tuple[int, list[float]]:
    return place, runner.again(*_named(target, key), outcome, orders)


def _pages(output: Path) -> list[Path]:
    """Write the pages of all papers of which there are outcomes."""
    names = [name for name in PAPERS if [*output.glob(f"{name}_*.json")]]
    return [page.write(name, PAPERS[name].TABLES, output) for name in names]


def _run(table: Table, request: Request, announce: Callable[[str], None]) -> None:
    """Run the cells of a table that are asked for and not known, and keep them."""
    wanted = request.permutations or table.permutations
    file = store.file_of(table.target, request.output)
    content = file.read()
    known = store.everything(request.output)
    waiting = []
    for cell in _picked(table, request.datasets, request.systems):
        if cell.setup is None:
            content["cells"].pop(cell.key, None)
            continue
        before = known.get(store.fingerprint(table, cell))
        if before is not None:
            before = store.in_metric(before, table.metric)
        if before is not None and _is_enough(before, wanted, request.cell_seconds):
            content["cells"][cell.key] = before
        else:
            waiting.append((cell, store.choice_of(table, cell, known)))
    content["about"] = _about(table, request)
    file.write(content)
    done = _outcomes(table, waiting, wanted, request.cell_seconds, request.jobs)
    for count, (cell, outcome) in enumerate(done, start=1):
        announce(f"{table.target}: {cell.key} ({count} of {len(waiting)})")
        content["cells"][cell.key] = outcome
        file.write(content)
