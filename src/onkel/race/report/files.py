"""Files of a report: a page, pictures, a table in Markdown, numbers as JSON."""

import json
from pathlib import Path

import onkel
from onkel.measuring.markdown import literal, markdown
from onkel.race.outcome import Outcome
from onkel.race.predictions import slug
from onkel.race.report import words
from onkel.race.report.numbers import numbers
from onkel.race.report.page import page
from onkel.race.report.pictures import pictures

DPI = 130  # of the pictures that are files


def written(outcome: Outcome, command: str) -> str:
    """Leaderboard and pictures in Markdown."""
    name = slug(outcome.name)
    lines = [
        *(f"# {literal(outcome.name)}", ""),
        # a name may have several lines, which are to stay within the block
        *(f"    {line}" for line in command.splitlines()),
        "",
        *(literal(f"{words.caption(outcome)} {words.method(outcome)}"), ""),
        *(f"**Note**: {literal(said)}.\n" for said in words.warnings(outcome)),
        *markdown(
            words.heads(outcome), [[*map(literal, row)] for row in words.cells(outcome)]
        ),
        *(f"{literal(line)}  " for line in words.unplaced(outcome)),
        *("", "{processor}, {cores} cores, {platform}.".format(**outcome.machine), ""),
        *(f"![{kind}]({name}-{kind}.png)" for kind in ("time", "size", "curves")),
    ]
    return "\n".join(lines) + "\n"


def _call(outcome: Outcome) -> str:
    """Write down the call of `race` that led to an outcome."""
    given = outcome.settings | {"gamma": outcome.gamma}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"race(dataset({outcome.name!r}), RaceSettings({arguments}))"


def save(
    outcomes: list[Outcome], folder: Path, commands: list[str] | None = None
) -> list[Path]:
    """Write the page, the pictures and the numbers of one race or several.

    Commands say how to repeat each from a command line; None for the call of `race`.
    Returns the paths of race.html, race.json, and of each race a page in Markdown and
    its pictures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    commands = commands or [_call(outcome) for outcome in outcomes]
    document, data = folder / "race.html", folder / "race.json"
    drawn = [pictures(outcome) for outcome in outcomes]
    document.write_text(page(outcomes, commands, drawn), encoding="utf-8")
    measured = {
        "onkel": onkel.__version__,
        "races": [
            numbers(outcome) | {"command": command}
            for outcome, command in zip(outcomes, commands, strict=True)
        ],
    }
    text = json.dumps(measured, indent=1, default=str, allow_nan=False)
    data.write_text(text + "\n", encoding="utf-8")
    paths = [document, data]
    for outcome, command, figures in zip(outcomes, commands, drawn, strict=True):
        paths.append(folder / f"{slug(outcome.name)}.md")
        paths[-1].write_text(written(outcome, command), encoding="utf-8")
        for name, (figure, _) in figures.items():
            paths.append(folder / f"{slug(outcome.name)}-{name}.png")
            figure.savefig(paths[-1], dpi=DPI)
    return paths
