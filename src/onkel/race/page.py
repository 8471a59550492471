"""Page: a race as one HTML file that asks for nothing from anywhere else."""

import io
import re
from collections.abc import Iterable
from html import escape
from string import Template
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from onkel.race.bandwidth import CHOOSERS, ROWS
from onkel.race.contestants import Problem
from onkel.race.outcome import Outcome, Result
from onkel.race.pictures import (
    COLOURS,
    FAINT,
    GREY,
    INK,
    Pictures,
    decimals,
    front,
    measure,
    microseconds,
    shown_error,
)
from onkel.race.references import piece_for

# The colours of the pictures where the page is dark; black on black is not seen.
DARK_COLOURS = (
    "#9a90f0",
    "#e58a98",
    "#55c080",
    "#88ccee",
    "#d978ab",
    "#5fd0bd",
    "#c8c855",
    "#dc84cf",
)
PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { --ground: #fff; --raised: #f6f6f4; --ink: $ink; --grey: #666; --faint: $faint;
  --accent: #117733; $light }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181b; --raised: #202327; --ink: #e9e9e6; --grey: #a0a4a8;
    --faint: #3a3e43; --accent: #55c080; $dark }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--ground); font: 1rem/1.5 system-ui, sans-serif }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem }
p, ul { max-width: 46rem }
.lead, figcaption, .small { color: var(--grey) }
.lead { margin-top: 0 }
.small, figcaption { font-size: .88rem }
section + section { border-top: 3px solid var(--faint); margin-top: 3rem;
  padding-top: 2rem }
.cards { display: grid; gap: .8rem; margin: 1.2rem 0;
  grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)) }
.card { background: var(--raised); border-radius: .5rem; padding: .8rem 1rem }
.card b { display: block; font-size: 1.15rem; line-height: 1.35 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap }
thead th { border-bottom: 2px solid var(--grey); padding: 0; vertical-align: bottom }
tbody tr { border-bottom: 1px solid var(--faint) }
table.trials { width: auto } table.trials th { padding: .3rem .6rem }
td.name, th.name { text-align: left; position: sticky; left: 0;
  background: var(--ground) }
td.why { text-align: left; white-space: normal; min-width: 15rem }
tr.reference td, tr.unranked td { color: var(--grey) }
tr.best td { font-weight: 600; color: var(--accent) }
thead button { all: unset; box-sizing: border-box; width: 100%; cursor: pointer;
  padding: .3rem .6rem; font-weight: 600 }
thead button:focus-visible { outline: 2px solid var(--accent) }
thead button::after { content: "\\2195"; color: var(--faint); margin-left: .25rem }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--accent) }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--accent) }
figure { margin: 1.2rem 0 2rem }
figure svg { display: block; width: 100%; min-width: 36rem; height: auto;
  max-width: 56rem }
figure svg text { font-family: system-ui, sans-serif !important }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem }
dt { color: var(--grey) } dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 40rem) { dl { display: block } dd { margin: 0 0 .5rem }
  table { font-size: .88rem } th, td, thead button { padding: .3rem .3rem } }
code, pre { font: .85rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: var(--raised); border-radius: .5rem; overflow-x: auto;
  padding: .8rem 1rem }
summary { cursor: pointer }
</style>
</head>
<body>
$sections
<script>
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => row.cells[column].dataset.value;
      const rows = [...table.tBodies[0].rows];
      rows.sort((one, other) => {
        const a = value(one), b = value(other);
        // what has no value stays at the end
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
</script>
</body>
</html>
""")


def _variables(values: Iterable[str]) -> str:
    return " ".join(f"--c{number}: {value};" for number, value in enumerate(values))


def svg(figure: Figure, name: str, words: str) -> str:
    """Return a figure as SVG to be put into a page.

    Parameters
    ----------
    figure
        To be drawn.
    name
        Prefix of all identifiers, of which there must be no two alike in a page.
    words
        What is to be seen, for those who do not.
    """
    buffer = io.StringIO()
    # letters stay letters, and the same race gives the same file
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawn = buffer.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    drawn = re.sub(r'href="#', f'href="#{name}-', drawn)
    drawn = drawn.replace("url(#", f"url(#{name}-")
    # The page's own colours, so that dark is dark.
    themed = {INK: "ink", GREY: "grey", FAINT: "faint"}
    themed |= {colour: f"c{number}" for number, colour in enumerate(COLOURS)}
    for colour, variable in themed.items():
        drawn = drawn.replace(colour, f"var(--{variable})")
    label = f'<svg role="img" aria-label="{escape(words)}"'
    return drawn.replace("<svg", label, 1)


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _cell(text: str, value: float | str | None, kind: str = "") -> str:
    known = value is not None and value == value  # NaN is not itself
    data = escape(str(value)) if known else ""
    marked = f' class="{kind}"' if kind else ""
    return f'<td{marked} data-value="{data}">{escape(text)}</td>'


def with_spread(problem: Problem, result: Result) -> str:
    """An error and its standard deviation, as one reads them."""
    if result.error != result.error:
        return "-"
    if result.spread is None:
        return shown_error(problem, result.error)
    if problem.is_regression:
        digits = decimals(result.error, 4)
        return f"{result.error:,.{digits}f} ± {result.spread:,.{digits}f}"
    return f"{100 * result.error:.2f} ± {100 * result.spread:.2f} %"


def _row(outcome: Outcome, place: int | None, result: Result) -> str:
    kinds = {
        "best": place == 1,
        "reference": result.is_reference,
        "unranked": place is None,
    }
    kind = " ".join(name for name, holds in kinds.items() if holds)
    memory = None if result.memory is None else result.memory / 1024
    cells = [
        _cell("-" if place is None else str(place), place),
        _cell(result.name, result.name, "name"),
        _cell(with_spread(outcome.problem, result), result.error),
        _cell(_number(result.rows_per_second), result.rows_per_second),
        _cell("grows: " * result.grows + _number(result.size), result.size),
        _cell(_number(memory, 1 if memory and memory < 10 else 0), memory),
        _cell(_number(result.updates), result.updates),
    ]
    return f'<tr class="{kind}">' + "".join(cells) + "</tr>"


def _table(outcome: Outcome) -> str:
    heads = {
        "place": "",
        "system": "name",
        measure(outcome): "",
        "rows/s": "",
        "model size": "",
        "memory, KB": "",
        "updates": "",
    }
    drawn = "".join(
        f'<th scope="col" class="{kind}"'
        + (' aria-sort="ascending"' if text == "place" else "")
        + f'><button type="button">{escape(text)}</button></th>'
        for text, kind in heads.items()
    )
    ranked = len(outcome.ranked)
    rows = "\n".join(
        _row(outcome, number if number <= ranked else None, result)
        for number, result in enumerate(outcome.results, 1)
    )
    return (
        '<div class="scroll"><table class="sortable leaderboard"><thead><tr>'
        f"{drawn}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _cards(outcome: Outcome) -> str:
    ranked = outcome.ranked
    if not ranked:
        return "<p>Nobody finished.</p>"

    def card(head: str, name: str, text: str) -> str:
        return (
            f'<div class="card"><span class="small">{escape(head)}</span>'
            f"<b>{escape(name)}</b>{escape(text)}</div>"
        )

    problem = outcome.problem
    cards = [card("Errs least", ranked[0].name, with_spread(problem, ranked[0]))]
    on_budget = [r for r in ranked if not r.is_reference and not r.grows]
    if on_budget and on_budget[0] is not ranked[0]:
        best = on_budget[0]
        cards.append(
            card("Errs least on the budget", best.name, with_spread(problem, best))
        )
    timed = [(r, cost) for r in ranked if (cost := microseconds(r)) is not None]
    if timed:
        costs = np.array([cost for _, cost in timed])
        errors = np.array([result.error for result, _ in timed])
        names = [timed[i][0].name for i in front(costs, errors)]
        cards.append(card("Nobody is both faster and better", ", ".join(names), ""))
    cards.append(card("Without looking at a row", *without_looking(outcome)))
    return f'<div class="cards">{"".join(cards)}</div>'


def without_looking(outcome: Outcome) -> tuple[str, str]:
    """The best constant, in words, and its error."""
    baselines = outcome.baselines
    constant = baselines.constant
    value = f"{constant:.4g}, the mean" if baselines.is_regression else str(constant)
    return f"always {value}", shown_error(outcome.problem, baselines.constant_error)


def caption(outcome: Outcome) -> str:
    """What was raced on, in a sentence or two."""
    always, error = without_looking(outcome)
    last = ""
    if outcome.in_order:
        repeated = shown_error(outcome.problem, outcome.baselines.last_error)
        last = f"; who repeats the answer of the row before, one of {repeated}"
    rows, features, classes = outcome.problem
    task = "regression" if outcome.problem.is_regression else f"{classes} classes"
    runs = outcome.settings["permutations"]
    return (
        f"{rows:,} rows, {features:,} features, {task}; budget "
        f"{outcome.settings['budget']:,}, gamma {outcome.gamma:.4g}, "
        f"{runs} run{'s' * (runs > 1)}. {outcome.order} Each row is predicted, then "
        f"learnt. Who looks at no row, and says {always}, has an error of {error}"
        + " ".join([f"{last}.", *outcome.description.get("notes", ())])
    )


def warnings(outcome: Outcome) -> list[str]:
    """What the reader should not miss."""
    said = outcome.baselines.warning
    if said is None:
        return []
    return [f"{said}. These errors say little about rows that come in another order"]


def method(outcome: Outcome) -> str:
    """How it was measured."""
    spread = " ± standard deviation over the runs" * (
        outcome.settings["permutations"] > 1
    )
    growing = [result.name for result in outcome.results if result.grows]
    beyond = (
        f" Beyond the budget or without one: {', '.join(growing)}." if growing else ""
    )
    chosen = ""
    if outcome.trials:
        chosen = (
            "gamma was chosen with the labels of the first "
            f"{min(ROWS, outcome.problem.rows):,} rows of the first run, which count, "
            "too. "
        )
    if outcome.problem.is_regression:
        chosen += "Targets are in units of the spread of the first rows for learning. "
    return (
        f"Errors are progressive: over all rows, the first ones included{spread}. "
        f"{chosen}Files are scaled by statistics of all their rows. "
        "rows/s: processor time of predicting and learning on one thread, compiled "
        "before, without reading. Model size: centres and features at the end; memory: "
        "bytes of the saved model (LightGBM: and of the rows it keeps). scikit-learn's "
        f"models predict, then learn, {piece_for(outcome.problem.rows)} rows at a time."
        + beyond
    )


def _list(items: dict[str, str], code: bool = False) -> str:
    def value(text: str) -> str:
        return f"<code>{escape(text)}</code>" if code else escape(text)

    rows = (f"<dt>{escape(k)}</dt><dd>{value(v)}</dd>" for k, v in items.items())
    return f"<dl>{''.join(rows)}</dl>"


def _trials(outcome: Outcome) -> str:
    heads = "".join(f"<th>{escape(text)}</th>" for text in ("gamma", *CHOOSERS, "mean"))
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{value:.4g}</td>"
            for value in (trial.gamma, *trial.errors.values(), trial.error)
        )
        + "</tr>"
        for trial in outcome.trials
    )
    return (
        f'<table class="trials"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _told(values: dict[str, Any]) -> dict[str, str]:
    """What is known, as text."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value is not None
    }


def _stopped(outcome: Outcome) -> dict[str, str]:
    return {r.name: r.stopped for r in outcome.results if r.stopped is not None}


def _section(outcome: Outcome, number: int, command: str, drawn: Pictures) -> str:
    titles = {
        "time": "Error against time",
        "size": "Error against size",
        "curves": "Learning curves",
    }
    bands = " Bands: from the best run to the worst." * (
        outcome.settings["permutations"] > 1
    )
    texts = {
        "time": "Time to predict a row and learn it. The best are coloured.",
        "size": "What a model keeps between two rows. The best are coloured.",
        "curves": f"The best are coloured.{bands} Dashed: not of the library.",
    }
    figures = "".join(
        f'<h2>{titles[name]}</h2><figure id="{name}-{number}"><div class="scroll">'
        f"{svg(figure, f'{name}{number}', words)}</div>"
        f"<figcaption>{escape(texts[name])}</figcaption></figure>"
        for name, (figure, words) in drawn.items()
    )
    parts = [
        f"<section><h1>Race on {escape(outcome.name)}</h1>",
        f'<p class="lead">{escape(caption(outcome))}</p>',
        *(f"<p><b>Note</b>: {escape(said)}.</p>" for said in warnings(outcome)),
        _cards(outcome),
        _table(outcome),
        f'<p class="small">{escape(method(outcome))} A click on a heading sorts.</p>',
    ]
    if stopped := _stopped(outcome):
        parts.append("<h2>Started, but without a place</h2>" + _list(stopped))
    parts.append(figures)
    if outcome.left_out:
        parts.append("<h2>Did not start</h2>" + _list(outcome.left_out))
    parts.append("<h2>Data</h2>")
    parts.append(_list({"name": outcome.name} | _told(outcome.description)))
    parts.append("<h2>Parameters</h2>")
    parts.append(_list(_told(outcome.settings) | {"gamma": f"{outcome.gamma:.6g}"}))
    if outcome.trials:
        parts.append(
            f'<p class="small">gamma was chosen on the first {ROWS:,} rows: the mean '
            f"progressive error of {' and '.join(CHOOSERS)} at the same budget is "
            "least. Tried:</p>" + _trials(outcome)
        )
    models = {result.name: result.model for result in outcome.results}
    parts.append(
        "<details><summary>Models with all their parameters</summary>"
        f"{_list(models, code=True)}</details>"
    )
    machine = outcome.machine
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
    parts.append("<h2>Machine</h2>")
    parts.append(
        f"<p>{escape(machine['processor'])}, {machine['cores']} cores, "
        f"{escape(machine['platform'])}; {escape(versions)}. The race took "
        f"{outcome.seconds:,.0f} s.</p>"
    )
    parts.append(f"<h2>Again</h2><pre>{escape(command)}</pre></section>")
    return "\n".join(parts)


def page(outcomes: list[Outcome], commands: list[str], drawn: list[Pictures]) -> str:
    """Write a page about one race or several.

    Parameters
    ----------
    outcomes
        The races.
    commands
        For each, how to repeat it.
    drawn
        For each, its pictures.

    Returns
    -------
    html
        A whole file. It loads nothing, and its policy forbids that.
    """
    names = ", ".join(outcome.name for outcome in outcomes)
    sections = "\n".join(
        _section(outcome, number, command, figures)
        for number, (outcome, command, figures) in enumerate(
            zip(outcomes, commands, drawn, strict=True)
        )
    )
    return PAGE.substitute(
        title=escape(f"Race on {names}"),
        ink=INK,
        faint=FAINT,
        light=_variables(COLOURS),
        dark=_variables(DARK_COLOURS),
        sections=sections,
    )
