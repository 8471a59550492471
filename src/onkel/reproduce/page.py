"""Pages in Markdown: our numbers beside the published ones, and what to make of them.

Written from the files of outcomes alone, so that a page can always be made again.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onkel.measuring.markdown import markdown, power
from onkel.reproduce import published, store
from onkel.reproduce.agreement import NOT_RUN, OURS_ONLY, agreement
from onkel.reproduce.protocol import LINEAR, Cell, Figure, Table, title
from onkel.reproduce.summary import Measured, measured

UNITS = {
    "mistake_rate_pct": "mistakes, %",
    "accuracy_pct": "accuracy, %",
    "rmse": "root mean squared error",
}
EARLIER = "*"  # after the number of orders
HEADS = ("ours", "published", "size", "published", "verdict", "chosen", "orders", "s")


def said_of(table: Table, cell: Cell, outcome: store.Outcome | None) -> str:
    """Return what a cell says of its number; outcome is None if not asked for."""
    if cell.setup is None:
        return f"{NOT_RUN}: {cell.why_not}"
    if outcome is None:
        return f"{NOT_RUN}: not asked for"
    if "why_not" in outcome:
        return f"{NOT_RUN}: {outcome['why_not']}"
    theirs = _theirs(table, cell)
    if cell.published is None or theirs is None:
        return OURS_ONLY
    return agreement(
        measured(outcome["values"]),
        theirs,
        constant=outcome["constant"],
        same_data=outcome["rows"] == cell.published.n_train,
        digits=table.digits,
        larger_is_better=table.metric == "accuracy_pct",
    )


def _theirs(table: Table, cell: Cell) -> Measured | None:
    number = cell.published
    if number is None or number.value is None:
        return None
    return Measured(number.value, table.std_unit * (number.std or 0.0))


def _chosen(cell: Cell, outcome: store.Outcome) -> str:
    assert cell.setup is not None
    shown = []
    for name, value in outcome["parameters"].items():
        unit = cell.setup.units.get(name, "").replace("1/n", "/n")
        shown.append(f"{name} {power(value)}{unit}")
    return ", ".join(shown)


def _row(table: Table, cell: Cell, outcome: store.Outcome | None) -> list[str]:
    """Lay out a cell: what `HEADS` says, after its name."""
    number, theirs = cell.published, _theirs(table, cell)
    their_value, their_size = "-", "-"
    if number is not None and theirs is not None:
        is_single = number.std is None
        their_value = theirs.shown(table.digits, is_single)
    sizes = published.sizes(table.paper, table.name)
    size = number and sizes.get((number.dataset, number.algorithm, number.size))
    if size is not None and size.value is not None:
        their_size = f"{size.value:,.0f}"
    name = cell.algorithm
    if cell.size.isdigit() and size is None:
        name += f", {int(cell.size):,}"
    our_value, our_size, orders, seconds = _our_columns(table, cell, outcome)
    said = said_of(table, cell, outcome)
    chosen = _chosen(cell, outcome) if outcome and cell.setup else ""
    ours_beside_theirs = [our_value, their_value, our_size, their_size]
    return [name, *ours_beside_theirs, said, chosen, orders, seconds]


def _our_columns(
    table: Table, cell: Cell, outcome: store.Outcome | None
) -> tuple[str, str, str, str]:
    """Return value, size, orders and seconds of a cell."""
    if outcome is None or "values" not in outcome:
        return "-", "-", "0", "-"
    values, sizes = outcome["values"], outcome.get("sizes")
    orders = str(len(values))
    if outcome.get("earlier"):
        orders += EARLIER
    is_linear = cell.setup is not None and cell.setup.kind == LINEAR
    if len(values) < outcome["wanted"] and not is_linear:
        orders += f" of {outcome['wanted']}"
    seconds = outcome.get("seconds")
    return (
        measured(values).shown(table.digits, is_single=len(values) == 1),
        f"{measured(sizes).mean:,.0f}" if sizes else "-",
        orders,
        f"{measured(seconds).mean:.2f}" if seconds else "-",
    )


def _data_lines(
    table: Table, data: str, cells: Sequence[Cell], outcomes: dict[str, Any]
) -> list[str]:
    """Return the section of one data set."""
    if all(cell.setup is None for cell in cells):
        reasons = list(dict.fromkeys(cell.why_not for cell in cells))
        return [f"### {data}", "", f"{NOT_RUN.capitalize()}: {'; '.join(reasons)}.", ""]
    some = next((o for o in outcomes.values() if o is not None), None)
    if some is None:
        return [f"### {data}", "", f"{NOT_RUN.capitalize()}: not asked for.", ""]
    ours = table.data[data]
    note = "" if ours == data else f" (our {ours})"
    number = next((cell.published for cell in cells if cell.published), None)
    if number is not None and number.n_train != some["rows"]:
        note += f"; the paper has {number.n_train:,}"
    return [
        f"### {data}",
        "",
        f"{some['rows']:,} rows{note}, {some['features']} features. Constant "
        f"predictor: {some['constant']:.{table.digits}f}.",
        "",
        *markdown(
            ("system", *HEADS),
            (_row(table, cell, outcomes[cell.key]) for cell in cells),
        ),
    ]


def _counts(table: Table, content: dict[str, Any]) -> str:
    found: Counter[str] = Counter()
    for cell in table.cells():
        if cell.published is None:
            continue
        said = said_of(table, cell, content["cells"].get(cell.key))
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
            said = said_of(figure, cell, outcome)
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


def heading(name: str) -> str:
    """Return the heading of a target: its name, and its number if it has one.

    Examples
    --------
    >>> from onkel.reproduce.page import heading
    >>> heading("figure2"), heading("theorem11"), heading("times")
    ('Figure 2', 'Theorem 11', 'Times')
    """
    word = name.rstrip("0123456789")
    return f"{word.capitalize()} {name[len(word) :]}".strip()


def _section(
    table: Table, content: dict[str, Any], folder: Path, said: Sequence[str]
) -> list[str]:
    """Return the section of a target; `said` has readings that were given before."""
    about = content["about"]
    lines = [
        f"## {heading(table.name)}",
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


def write(paper: str, tables: Sequence[Table], folder: Path) -> Path:
    """Write the page of a paper, of all of its targets that have been run.

    Parameters
    ----------
    paper
        Name of the page.
    tables
        The paper's targets.
    folder
        With the outcomes; the page and its pictures go there, too.
    """
    contents = {t.target: store.file_of(t.target, folder).read() for t in tables}
    run = [table for table in tables if "about" in contents[table.target]]
    lines = [f"# {title(paper)}", "", *EXPLANATION.splitlines(), ""]
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
