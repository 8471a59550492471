"""Checks stored cells: some are drawn, run again in part, and compared.

A cell's first orders are learnt anew with the parameters that are stored, so that a
check costs a fraction of what the cell did. What comes out the same is confirmed: it is
no longer stale, whatever has changed in the engine since.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onkel.measuring.markdown import markdown
from onkel.reproduce import runner, store
from onkel.reproduce.protocol import Cell, Table

NEAR = 1e-9  # of a value: more than that is another one
SAME, OTHER = "same", "differs"
HEADING = """\
# Stored cells, run again

{cells} of {known} stored cells, drawn with seed {seed}; {left_out} more were stored by
an earlier protocol and cannot be compared. The first order of each was learnt again
with the stored parameters, by engine `{engine}` on {date}. Values count as the same if
they differ by less than 1e-9 of themselves. {same} of {cells} are the same.

    onkel reproduce check --cells {cells} --seed {seed} --output {folder}
"""


class Checked(NamedTuple):
    """A cell that was run again."""

    target: str
    key: str
    engine: str  # that stored it
    stored: list[float]  # values of the orders that were run
    again: list[float]

    @property
    def is_same(self) -> bool:
        """Whether all values are as they were."""
        if len(self.stored) != len(self.again):
            return False
        return bool(np.allclose(self.again, self.stored, rtol=NEAR, atol=0.0))


class Drawn(NamedTuple):
    """A stored cell that may be checked."""

    table: Table
    cell: Cell
    outcome: store.Outcome

    @property
    def name(self) -> tuple[str, str]:
        """Target, and key of the cell."""
        return self.table.target, self.cell.key


def stored(tables: Mapping[str, Table], folder: Path) -> tuple[list[Drawn], int]:
    """Return the cells with values by today's protocol, and how many have another."""
    found, others = [], 0
    for table in tables.values():
        records = store.file_of(table.target, folder).records
        for cell in table.cells():
            outcome = records.get(cell.key)
            if outcome is None or "values" not in outcome or cell.setup is None:
                continue
            if outcome.get("fingerprint") == store.fingerprint(table, cell):
                found.append(Drawn(table, cell, outcome))
            else:
                others += 1
    return found, others


def one_by_one(
    drawn: Sequence[Drawn], orders: int
) -> Iterator[tuple[Drawn, list[float]]]:
    """Run the first orders of cells again; yield their values as they end."""
    for one in drawn:
        yield one, runner.again(one.table, one.cell, one.outcome, orders)


def check(
    tables: Mapping[str, Table],
    folder: Path,
    *,
    cells: int = 20,
    seed: int = 0,
    orders: int = 1,
    again: Callable[
        [Sequence[Drawn], int], Iterator[tuple[Drawn, list[float]]]
    ] = one_by_one,
    announce: Callable[[str], None] = lambda text: None,
) -> Path:
    """Run some stored cells again, and write a page of what came out.

    Parameters
    ----------
    tables
        By target, with the protocols.
    folder
        With the outcomes; the page goes there, too, and those that are the same are
        marked as confirmed.
    cells
        How many, at most.
    seed
        Of the draw.
    orders
        Of each.
    again
        Runs them.
    announce
        Called with a line about every cell.
    """
    known, left_out = stored(tables, folder)
    order = np.random.default_rng(seed).permutation(len(known))[:cells]
    checked = []
    for count, (drawn, values) in enumerate(
        again([known[i] for i in order], orders), start=1
    ):
        target, key = drawn.name
        announce(f"{target}: {key} ({count} of {len(order)})")
        before = [float(value) for value in drawn.outcome["values"][:orders]]
        one = Checked(target, key, drawn.outcome.get("engine", ""), before, values)
        checked.append(one)
        if one.is_same:
            code = store.code_of(drawn.table, drawn.cell)
            confirmed = drawn.outcome | {"confirmed": store.engine(), "code": code}
            store.file_of(target, folder).add(key, confirmed)
    about: dict[str, Any] = {"folder": folder, "seed": seed, "left_out": left_out}
    return _write(checked, len(known), about)


def _write(checked: list[Checked], known: int, about: dict[str, Any]) -> Path:
    lines = [
        HEADING.format(
            cells=len(checked),
            known=known,
            engine=store.engine(),
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            same=sum(one.is_same for one in checked),
            **about,
        )
    ]
    rows = (
        [
            *(one.target, one.key, f"`{one.engine}`", _shown(one.stored)),
            *(_shown(one.again), SAME if one.is_same else OTHER),
        ]
        for one in sorted(checked)
    )
    heads = ("target", "cell", "engine", "stored", "again", "")
    path = Path(about["folder"]) / "check.md"
    path.write_text("\n".join([*lines, *markdown(heads, rows)]))
    return path


def _shown(values: list[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
