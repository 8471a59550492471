"""Pages in Markdown: our numbers beside the published ones, and what to make of them.

Written from the files of outcomes alone, so that a page can always be made again.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onkel.measuring.markdown import markdown, power
from onkel.reproduce import published, store
from onkel.reproduce.protocol import LINEAR, Cell, Figure, Table
from onkel.reproduce.verdict import (
    NOT_RUN,
    OURS_ONLY,
    Measured,
    measured,
    verdict,
)

UNITS = {
    "mistake_rate_pct": "mistakes, %",
    "accuracy_pct": "accuracy, %",
    "rmse": "root mean squared error",
}
EARLIER = "*"  # after the number of orders
HEADS = ("ours", "published", "size", "published", "verdict", "chosen", "orders", "s")


def verdict_of(table: Table, cell: Cell, outcome: store.Outcome | None) -> str:
    """Return the verdict on a cell; outcome is None if it was not asked for."""
    if cell.system is None:
        return f"{NOT_RUN}: {cell.why_not}"
    if outcome is None:
        return f"{NOT_RUN}: not asked for"
    if "why_not" in outcome:
        return f"{NOT_RUN}: {outcome['why_not']}"
    if cell.entry is None or cell.entry.value is None:
        return OURS_ONLY
    return verdict(
        measured(outcome["values"]),
        Measured(cell.entry.value, table.std_unit * (cell.entry.std or 0.0)),
        constant=outcome["constant"],
        same_data=outcome["rows"] == cell.entry.n_train,
        digits=table.digits,
        larger_is_better=table.metric == "accuracy_pct",
    )


def _spread(number: Measured, digits: int, known: bool) -> str:
    shown = f"{number.mean:.{digits}f}"
    return f"{shown} ± {number.std:.{digits}f}" if known else shown


def _chosen(cell: Cell, outcome: store.Outcome) -> str:
    assert cell.system is not None
    shown = []
    for name, value in outcome["parameters"].items():
        unit = cell.system.units.get(name, "").replace("1/n", "/n")
        shown.append(f"{name} {power(value)}{unit}")
    return ", ".join(shown)


def _row(table: Table, cell: Cell, outcome: store.Outcome | None) -> list[str]:
    """Lay out a cell: what `HEADS` says, after its name."""
    entry = cell.entry
    theirs = "-"
    if entry is not None and entry.value is not None:
        number = Measured(entry.value, table.std_unit * (entry.std or 0.0))
        theirs = _spread(number, table.digits, entry.std is not None)
    sizes = published.sizes(table.paper, table.name)
    size = sizes.get((entry.dataset, entry.algorithm, entry.size)) if entry else None
    name = cell.algorithm
    if cell.size and cell.size.isdigit() and size is None:
        name += f", {int(cell.size):,}"
    said = verdict_of(table, cell, outcome)
    their_size = "-" if size is None or size.value is None else f"{size.value:,.0f}"
    if outcome is None or "values" not in outcome:
        chosen = _chosen(cell, outcome) if outcome and cell.system else ""
        return [name, "-", theirs, "-", their_size, said, chosen, "0", "-"]
    values, seconds = outcome["values"], outcome.get("seconds") or []
    orders = str(len(values))
    if outcome.get("earlier"):
        orders += EARLIER
    is_linear = cell.system is not None and cell.system.kind == LINEAR
    if len(values) < outcome["wanted"] and not is_linear:
        orders += f" of {outcome['wanted']}"
    ours = measured(outcome.get("sizes") or [0])
    return [
        name,
        _spread(measured(values), table.digits, len(values) > 1),
        theirs,
        f"{ours.mean:,.0f}" if outcome.get("sizes") else "-",
        their_size,
        said,
        _chosen(cell, outcome),
        orders,
        f"{measured(seconds).mean:.2f}" if seconds else "-",
    ]


def _data_lines(
    table: Table, data: str, cells: Sequence[Cell], outcomes: dict[str, Any]
) -> list[str]:
    """Return the section of one data set."""
    if all(cell.system is None for cell in cells):
        reasons = list(dict.fromkeys(cell.why_not for cell in cells))
        return [f"### {data}", "", f"{NOT_RUN.capitalize()}: {'; '.join(reasons)}.", ""]
    some = next((o for o in outcomes.values() if o is not None), None)
    if some is None:
        return [f"### {data}", "", f"{NOT_RUN.capitalize()}: not asked for.", ""]
    entry = next((cell.entry for cell in cells if cell.entry is not None), None)
    ours = table.data[data]
    note = "" if ours == data else f" (our {ours})"
    if entry is not None and entry.n_train != some["rows"]:
        note += f"; the paper has {entry.n_train:,}"
    constant = f"{some['constant']:.{table.digits}f}"
    heads = ("system", *HEADS)
    return [
        f"### {data}",
        "",
        f"{some['rows']:,} rows{note}, {some['features']} features. Constant "
        f"predictor: {constant}.",
        "",
        *markdown(heads, (_row(table, cell, outcomes[cell.key]) for cell in cells)),
    ]


def _counts(table: Table, content: dict[str, Any]) -> str:
    found: Counter[str] = Counter()
    for cell in table.cells():
        if cell.entry is None:
            continue
        said = verdict_of(table, cell, content["cells"].get(cell.key))
        found[said.split(":")[0].split(" (")[0]] += 1
    return ", ".join(f"{name} {count}" for name, count in found.most_common())


def _table_lines(table: Table, content: dict[str, Any]) -> list[str]:
    lines = [f"Verdicts: {_counts(table, content)}.", ""]
    by_data: dict[str, list[Cell]] = {}
    for cell in table.cells():
        by_data.setdefault(cell.data, []).append(cell)
    if any(outcome.get("earlier") for outcome in content["cells"].values()):
        lines += [f"\\{EARLIER} from earlier runs, by the same protocol.", ""]
    lines += [f"In {UNITS[table.metric]}:", ""]
    for data, cells in by_data.items():
        outcomes = {cell.key: content["cells"].get(cell.key) for cell in cells}
        lines += _data_lines(table, data, cells, outcomes)
    return lines


def _figure_lines(figure: Figure, content: dict[str, Any], folder: Path) -> list[str]:
    outcomes: dict[str, dict[str, Any]] = {}
    lines = []
    for cell in figure.cells():
        outcome = content["cells"].get(cell.key)
        if outcome is not None and "values" in outcome:
            outcomes.setdefault(cell.data, {})[cell.algorithm] = outcome
        else:
            said = verdict_of(figure, cell, outcome)
            lines.append(f"- {cell.data}, {cell.algorithm}: {said}")
    if not outcomes:
        return [*lines, ""]
    name = f"{figure.paper}_{figure.name}.png"
    figure.draw(outcomes).savefig(folder / name, dpi=110)
    seeds = {len(o["values"]) for found in outcomes.values() for o in found.values()}
    runs = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
    heads, *rows = figure.rows(outcomes)
    return [
        f"![{figure.sentence}]({name})",
        "",
        f"Mean of {runs} seeds, the range as a band.",
        "",
        *markdown(heads, rows),
        *lines,
        "",
    ]


def _section(
    table: Table, content: dict[str, Any], folder: Path, said: Sequence[str]
) -> list[str]:
    """Return the section of a target; `said` has readings that were given before."""
    about = content["about"]
    lines = [
        f"## {table.name[:-1].capitalize()} {table.name[-1]}",
        "",
        table.sentence,
        "",
        f"    {about['command']}",
        "",
        f"Run on {about['machine']}; {about['date']}.",
        f"Parameters: {table.search.text}.",
        "",
        *(f"- {reading}" for reading in table.readings if reading not in said),
        "",
    ]
    if isinstance(table, Figure):
        lines += _figure_lines(table, content, folder)
    else:
        lines += _table_lines(table, content)
    if table.remarks:
        lines += ["What to make of it:", "", *(f"- {one}" for one in table.remarks), ""]
    return lines


EXPLANATION = """\
*ours*, *published*: mean and standard deviation over random orders, each learnt in a
single pass. *size*: centres. *agrees*: within two standard deviations of both, and
rounding. *constant predictor*: one of the two numbers equals it. *data differ*: not the
rows of the paper. *orders*: fewer than wanted where they did not fit into the time of a
cell. *s*: seconds for a pass, one thread, on a busy machine. Where parameters are
chosen by the error of passes, not on rows held out, the orders of the search are among
those reported, so that ours is a little too good there.
"""


def write(paper: str, title: str, tables: Sequence[Table], folder: Path) -> Path:
    """Write the page of a paper, of all of its targets that have been run.

    Parameters
    ----------
    paper
        Name of the page.
    title
        Its heading.
    tables
        The paper's targets.
    folder
        With the outcomes; the page and its pictures go there, too.
    """
    contents = {t.target: store.read(store.file_of(t.target, folder)) for t in tables}
    run = [table for table in tables if "about" in contents[table.target]]
    lines = [f"# {title}", "", *EXPLANATION.splitlines(), ""]
    shared = [one for one in tables[0].readings if all(one in t.readings for t in run)]
    if len(run) > 1 and shared:
        lines += ["How the paper is read:", "", *(f"- {one}" for one in shared), ""]
    else:
        shared = []
    for table in run:
        lines += _section(table, contents[table.target], folder, shared)
    path = folder / f"{paper}.md"
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path
