"""Pages in Markdown: our numbers beside the published ones, and what to make of them.

Written from the files of outcomes alone, so that a page can always be made again.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onkel.measuring.markdown import markdown, power
from onkel.reproduce import published, store
from onkel.reproduce.agreement import (
    CONSTANT,
    NOT_RUN,
    OURS_ONLY,
    WORSE,
    Agreement,
    agreement,
    is_constant,
)
from onkel.reproduce.protocol import LINEAR, Cell, Figure, Table, title
from onkel.reproduce.summary import Measured, measured

UNITS = {
    "mistake_rate_pct": "mistakes, %",
    "accuracy_pct": "accuracy, %",
    "error_pct": "error, %",
    "rmse": "root mean squared error",
}
# After the number of orders.
MARKS = {store.OTHER_ENGINE: "†", store.OTHER_PROTOCOL: "‡"}
HEADS = (
    *("ours", "published", "difference", "size", "published"),
    *("verdict", "chosen", "orders", "s"),
)


def said_of(table: Table, cell: Cell, outcome: store.Outcome | None) -> str:
    """Return what a cell says of its number; outcome is None if not asked for."""
    if cell.setup is None:
        return f"{NOT_RUN}: {cell.why_not}"
    if outcome is None:
        return f"{NOT_RUN}: not asked for"
    if "why_not" in outcome:
        return f"{NOT_RUN}: {outcome['why_not']}"
    compared = _compared(table, cell, outcome)
    if compared is not None:
        return compared.verdict
    if "constant" not in outcome:  # what is measured is not an error
        return OURS_ONLY
    ours = measured(outcome["values"]).mean
    return f"{CONSTANT} (ours)" if is_constant(ours, outcome["constant"]) else OURS_ONLY


def _compared(table: Table, cell: Cell, outcome: store.Outcome) -> Agreement | None:
    """Compare a cell that was run with the published number, if there is one."""
    theirs = _theirs(table, cell)
    if theirs is None:
        return None
    return agreement(
        measured(outcome["values"]),
        theirs,
        constant=outcome["constant"],
        same_data=table.has_published_rows(cell, outcome["rows"]),
        digits=table.digits,
        larger_is_better=table.metric == "accuracy_pct",
    )


def _theirs(table: Table, cell: Cell) -> Measured | None:
    number = cell.published
    if number is None or number.value is None:
        return None
    if number.std is None:
        return Measured(number.value, 0.0)
    return Measured(number.value, table.std_unit * number.std, table.permutations)


def _chosen(cell: Cell, outcome: store.Outcome) -> str:
    assert cell.setup is not None
    shown = []
    for name, value in outcome["parameters"].items():
        unit = cell.setup.units.get(name, "").replace("1/n", "/n")
        shown.append(f"{name} {power(value)}{unit}")
    chosen = ", ".join(shown)
    constant = outcome.get("constant_of_choice")
    if shown and constant and is_constant(outcome["error_of_choice"], constant):
        chosen += f" ({CONSTANT} in the search)"
    return chosen


def _row(
    table: Table, cell: Cell, outcome: store.Outcome | None, engine: str
) -> list[str]:
    """Lay out a cell: what `HEADS` says, after its name."""
    number, theirs = cell.published, _theirs(table, cell)
    their_value, their_size, difference = "-", "-", "-"
    if number is not None and theirs is not None:
        their_value = theirs.shown(table.digits, is_single=number.std is None)
    if outcome and "values" in outcome and cell.setup:
        compared = _compared(table, cell, outcome)
        if compared is not None and table.has_published_rows(cell, outcome["rows"]):
            difference = compared.shown(table.digits)
    sizes = published.sizes(table.paper, table.name)
    size = number and sizes.get((number.dataset, number.algorithm, number.size))
    if size is not None and size.value is not None:
        their_size = f"{size.value:,.0f}"
    name = _name(cell, has_size=size is not None)
    our_value, our_size, orders, seconds = _our_columns(table, cell, outcome)
    if outcome:
        orders += MARKS.get(store.staleness(table, cell, outcome, engine), "")
    said = said_of(table, cell, outcome)
    chosen = _chosen(cell, outcome) if outcome and cell.setup else ""
    ours_beside_theirs = [our_value, their_value, difference, our_size, their_size]
    return [name, *ours_beside_theirs, said, chosen, orders, seconds]


def _name(cell: Cell, has_size: bool = False) -> str:
    """Return a cell's system, with its budget where no column has a size."""
    if cell.size.isdigit() and not has_size:
        return f"{cell.algorithm}, {int(cell.size):,}"
    return cell.algorithm


def _our_columns(
    table: Table, cell: Cell, outcome: store.Outcome | None
) -> tuple[str, str, str, str]:
    """Return value, size, orders and seconds of a cell."""
    if outcome is None or "values" not in outcome:
        return "-", "-", "0", "-"
    values, sizes = outcome["values"], outcome.get("sizes")
    orders = str(len(values))
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
    table: Table, cells: Sequence[Cell], outcomes: dict[str, Any], engine: str
) -> list[str]:
    """Return the section of one data set."""
    data = cells[0].data
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
        note += f"; the paper prints {number.n_train:,}"
    return [
        f"### {data}",
        "",
        f"{some['rows']:,} rows{note}, {some['features']} features. Constant "
        f"predictor: {some['constant']:.{table.digits}f}.",
        "",
        *markdown(
            ("system", *HEADS),
            (_row(table, cell, outcomes[cell.key], engine) for cell in cells),
        ),
        *_causes(table, cells, outcomes),
    ]


def worse_cells(table: Table, outcomes: dict[str, Any]) -> list[Cell]:
    """Return the cells whose number is worse than the published one."""
    return [
        cell
        for cell in table.cells()
        if said_of(table, cell, outcomes.get(cell.key)).startswith(WORSE)
    ]


def _causes(table: Table, cells: Sequence[Cell], outcomes: dict[str, Any]) -> list[str]:
    """Say why cells are worse, those of the same cause together."""
    found: dict[str, list[str]] = {}
    for cell in worse_cells(table, outcomes):
        if cell in cells:
            found.setdefault(table.cause_of(cell), []).append(_name(cell))
    lines = [f"- {'; '.join(names)}: {cause}" for cause, names in found.items()]
    return ["Why ours is worse:", "", *lines, ""] if lines else []


def counts(table: Table, content: dict[str, Any]) -> str:
    """Count the verdicts on a table's cells, the commonest first."""
    found: Counter[str] = Counter()
    for cell in table.cells():
        if table.is_extra(cell):
            continue
        said = said_of(table, cell, content["cells"].get(cell.key))
        found[said.split(":")[0].split(" (")[0]] += 1
    return ", ".join(f"{name} {count}" for name, count in found.most_common())


def _table_lines(table: Table, content: dict[str, Any], engine: str) -> list[str]:
    lines = [f"Verdicts: {counts(table, content)}.", ""]
    by_data: dict[str, list[Cell]] = {}
    for cell in table.cells():
        by_data.setdefault(cell.data, []).append(cell)
    lines += [f"In {UNITS[table.metric]}:", ""]
    for cells in by_data.values():
        outcomes = {cell.key: content["cells"].get(cell.key) for cell in cells}
        lines += _data_lines(table, cells, outcomes, engine)
    return lines


def _stale_lines(table: Table, content: dict[str, Any], engine: str) -> list[str]:
    """Say how many cells were not measured by the present engine and protocol."""
    found = Counter(
        store.staleness(table, cell, outcome, engine)
        for cell in table.cells()
        if (outcome := content["cells"].get(cell.key)) is not None
    )
    texts = {
        store.OTHER_ENGINE: "were measured by another engine, and not confirmed since",
        store.OTHER_PROTOCOL: "were measured by an earlier protocol: in single "
        "precision, or with another search",
    }
    lines = [
        f"- {MARKS[why]} {found[why]} of {found.total()} cells {text}."
        for why, text in texts.items()
        if found[why]
    ]
    return [*lines, ""] if lines else []


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
    table: Table,
    content: dict[str, Any],
    folder: Path,
    said: Sequence[str],
    engine: str,
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
        *_stale_lines(table, content, engine),
        "",
    ]
    if isinstance(table, Figure):
        lines += _figure_lines(table, content, folder)
    else:
        lines += _table_lines(table, content, engine)
    if table.remarks:
        lines += ["What to make of it:", "", *(f"- {one}" for one in table.remarks), ""]
    return lines


EXPLANATION = """\
*ours*, *published*: mean and standard deviation over random orders, each learnt in a
single pass. *difference*: ours less theirs, with its 99 % interval by the errors of
both means (Welch), of ours alone where the paper prints no deviation, and its rounding.
*agrees*: 0 is in that interval; else *better* or *worse*. *size*: centres. *constant
predictor*: one of the two numbers equals it. *data differ*: not the rows of the paper.
*orders*: fewer than wanted where they did not fit into the time of a cell. *s*: seconds
of a processor for a pass, one thread, on a busy machine. Where parameters are chosen by
the error of passes, not on rows held out, the orders of the search are among those
reported, so that ours is a little too good there. This page is of engine `{engine}`,
the digest of the code that measures.
"""


def write(paper: str, tables: Sequence[Table], folder: Path, engine: str = "") -> Path:
    """Write the page of a paper, of all of its targets that have been run.

    Parameters
    ----------
    paper
        Name of the page.
    tables
        The paper's targets.
    folder
        With the outcomes; the page and its pictures go there, too.
    engine
        With which outcomes are fresh; that of today if empty.
    """
    engine = engine or store.engine()
    contents = {t.target: store.file_of(t.target, folder).read() for t in tables}
    run = [table for table in tables if "about" in contents[table.target]]
    explained = EXPLANATION.format(engine=engine).splitlines()
    lines = [f"# {title(paper)}", "", *explained, ""]
    shared = [one for one in tables[0].readings if all(one in t.readings for t in run)]
    if len(run) > 1 and shared:
        lines += ["How the paper is read:", "", *(f"- {one}" for one in shared), ""]
    else:
        shared = []
    for table in run:
        lines += _section(table, contents[table.target], folder, shared, engine)
    path = folder / f"{paper}.md"
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path
