"""Page: a race as one HTML file that asks for nothing from anywhere else."""

import io
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from onkel.measuring.machine import versions_in
from onkel.race.bandwidth import CHOOSERS, ROWS
from onkel.race.outcome import Outcome, Result
from onkel.race.report import words
from onkel.race.report.looks import COLOURS, FAINT, GREY, INK
from onkel.race.report.pictures import Pictures
from onkel.race.report.prices import kilobytes, microseconds, priced

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
TEMPLATE = Path(__file__).with_name("page.html")


def _variables(values: Iterable[str]) -> str:
    return " ".join(f"--c{number}: {value};" for number, value in enumerate(values))


def svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as SVG for a page, with a description for who cannot see it.

    `name` becomes the prefix of all identifiers: no two may be alike in a page.
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
    label = f'<svg role="img" aria-label="{escape(description)}"'
    return drawn.replace("<svg", label, 1)


def _cell(text: str, value: float | str | None, kind: str = "") -> str:
    known = value is not None and value == value  # NaN is not itself
    data = escape(str(value)) if known else ""
    marked = f' class="{kind}"' if kind else ""
    return f'<td{marked} data-value="{data}">{escape(text)}</td>'


def _row(outcome: Outcome, place: int | None, result: Result) -> str:
    kinds = {
        "best": place == 1,
        "reference": result.is_reference,
        "unranked": place is None,
    }
    kind = " ".join(name for name, holds in kinds.items() if holds)
    memory = kilobytes(result)
    cells = [
        _cell(words.number(place), place),
        _cell(result.name, result.name, "name"),
        _cell(words.with_spread(outcome.problem, result), result.error),
        _cell(words.number(result.rows_per_second), result.rows_per_second),
        _cell("grows: " * result.grows + words.number(result.size), result.size),
        _cell(words.number(memory, 1 if memory and memory < 10 else 0), memory),
        _cell(words.number(result.updates), result.updates),
    ]
    return f'<tr class="{kind}">' + "".join(cells) + "</tr>"


def _table(outcome: Outcome) -> str:
    heads = {
        "place": "",
        "system": "name",
        words.measure(outcome): "",
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
    rows = "\n".join(_row(outcome, *placed) for placed in outcome.places)
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

    def winner(head: str, best: Result) -> str:
        return card(head, best.name, words.with_spread(outcome.problem, best))

    cards = [winner("Errs least", ranked[0])]
    on_budget = [r for r in ranked if not r.is_reference and not r.grows]
    if on_budget and on_budget[0] is not ranked[0]:
        cards.append(winner("Errs least on the budget", on_budget[0]))
    timed = priced(outcome, microseconds)
    if timed.results:
        names = [timed.results[i].name for i in timed.front]
        cards.append(card("Nobody is both faster and better", ", ".join(names), ""))
    cards.append(card("Without looking at a row", *words.without_looking(outcome)))
    return f'<div class="cards">{"".join(cards)}</div>'


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


def _figures(number: int, runs: int, drawn: Pictures) -> str:
    bands = " Bands: from the best run to the worst." * (runs > 1)
    texts = {
        "time": (
            "Error against time",
            "Time to predict a row and learn it. The best are coloured.",
        ),
        "size": (
            "Error against size",
            "What a model keeps between two rows. The best are coloured.",
        ),
        "curves": (
            "Learning curves",
            f"The best are coloured.{bands} Dashed: not of the library.",
        ),
    }
    return "".join(
        f'<h2>{title}</h2><figure id="{name}-{number}"><div class="scroll">'
        f"{svg(figure, f'{name}{number}', described)}</div>"
        f"<figcaption>{escape(text)}</figcaption></figure>"
        for name, (figure, described) in drawn.items()
        for title, text in [texts[name]]
    )


def _details(outcome: Outcome) -> list[str]:
    """Data, parameters, models and machine."""
    parts = [
        "<h2>Data</h2>",
        _list({"name": outcome.name} | _told(outcome.description)),
        "<h2>Parameters</h2>",
        _list(_told(outcome.settings) | {"gamma": f"{outcome.gamma:.6g}"}),
    ]
    if outcome.trials:
        parts.append(
            f'<p class="small">gamma was chosen on the first {ROWS:,} rows: the mean '
            f"progressive error of {' and '.join(CHOOSERS)} at the same budget is "
            "least. Tried:</p>" + _trials(outcome)
        )
    models = {result.name: result.model for result in outcome.results}
    machine = outcome.machine
    return [
        *parts,
        "<details><summary>Models with all their parameters</summary>"
        f"{_list(models, code=True)}</details>",
        "<h2>Machine</h2>",
        f"<p>{escape(machine['processor'])}, {machine['cores']} cores, "
        f"{escape(machine['platform'])}; {escape(versions_in(machine))}. The race took "
        f"{outcome.seconds:,.0f} s.</p>",
    ]


def _section(number: int, outcome: Outcome, command: str, drawn: Pictures) -> str:
    parts = [
        f"<section><h1>Race on {escape(outcome.name)}</h1>",
        f'<p class="lead">{escape(words.caption(outcome))}</p>',
        *(f"<p><b>Note</b>: {escape(said)}.</p>" for said in words.warnings(outcome)),
        _cards(outcome),
        _table(outcome),
        f'<p class="small">{escape(words.method(outcome))} '
        "A click on a heading sorts.</p>",
    ]
    stopped = {r.name: r.stopped for r in outcome.results if r.stopped is not None}
    if stopped:
        parts.append("<h2>Started, but without a place</h2>" + _list(stopped))
    parts.append(_figures(number, outcome.settings["permutations"], drawn))
    if outcome.left_out:
        parts.append("<h2>Did not start</h2>" + _list(outcome.left_out))
    parts += _details(outcome)
    parts.append(f"<h2>Again</h2><pre>{escape(command)}</pre></section>")
    return "\n".join(parts)


def page(outcomes: list[Outcome], commands: list[str], drawn: list[Pictures]) -> str:
    """Write a page about one race or several: of each, how to repeat it, and pictures.

    It loads nothing, and its policy forbids that.
    """
    names = ", ".join(outcome.name for outcome in outcomes)
    sections = "\n".join(
        _section(number, *told)
        for number, told in enumerate(zip(outcomes, commands, drawn, strict=True))
    )
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"Race on {names}"),
        ink=INK,
        faint=FAINT,
        light=_variables(COLOURS),
        dark=_variables(DARK_COLOURS),
        sections=sections,
    )
