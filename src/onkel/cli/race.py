"""onkel race: all systems on a data set, side by side."""

from pathlib import Path
from typing import Any

import click

from onkel.cli import options
from onkel.cli.screen import NOTES, as_json, note, show_json
from onkel.race import report
from onkel.race.outcome import Outcome
from onkel.race.race import race as run
from onkel.race.settings import SECONDS, RaceSettings
from onkel.race.streams import EMBEDDED

# Settings of the race that are given only if somebody says so.
SETTINGS = ("budget", "permutations", "gamma", "batch_rows", "seconds", "predictions")


def _raced(data: Any, settings: RaceSettings, quiet: bool) -> Outcome:
    with report.shares(NOTES) as announce:
        outcome = run(
            data,
            settings,
            announce,
            ready=lambda problem, result: note(report.line(problem, result)),
        )
    if not quiet:
        report.show(outcome)
    return outcome


@click.command()
@click.argument("data", required=False)
@options.of_data
@options.budget
@click.option(
    "--permutations",
    type=options.COUNT,
    help="Random orders of the rows [5, or 3 of more than 10,000 rows; 1 if they do "
    "not fit into --memory].",
)
@click.option(
    "--in-order",
    is_flag=True,
    help="A stream: the rows as they are in the file, once.",
)
@click.option("--gamma", type=float, help="Of the kernel [tried on the first rows].")
@click.option(
    "--system", "systems", multiple=True, help="Only this system; may be repeated."
)
@click.option("--alone", is_flag=True, help="Without linear models, trees and so on.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.0, min_open=True),
    help=f"Time limit of a contestant in one order [{SECONDS:g}].",
)
@options.output("Folder of the report.", options.FOLDER, Path("race"))
@click.option("--predictions", type=options.FOLDER, help="Folder for all predictions.")
@click.option("--batch-rows", type=options.COUNT, help="Rows at a time [8192].")
@options.memory
@options.seed
@as_json
@click.pass_context
def race(context: click.Context, /, data: str | None, **given: Any) -> None:
    """Race all systems at the same budget on DATA, in one pass.

    Each row is predicted, then learnt, by everyone: a line for each as soon as it is
    done, a leaderboard on the screen, and a
    page to open in a browser (race.html), pictures and all numbers (race.json) in the
    folder of --output. Without DATA: "digits", and "turning-rings", a stream that
    changes as it goes; neither needs a file.
    """
    if given["in_order"]:
        options.refuse_beside(context, "--in-order", ["permutations"])
    note("The first run compiles every system, some seconds each.")
    settings = {name: given[name] for name in SETTINGS if given[name] is not None}
    settings |= {"seed": given["seed"], "references": not given["alone"]}
    settings["systems"] = given["systems"] or None
    settings["in_order"] = True if given["in_order"] else None
    settings["most_bytes"] = given["memory"] * options.MIB
    if data is None or data in EMBEDDED:
        streams = [EMBEDDED[name]() for name in (EMBEDDED if data is None else [data])]
        races: list[Any] = [(one, one.settings | settings) for one in streams]
    else:
        races = [(options.opened(data, given), settings)]
    if len(races) > 1 and given["predictions"] is not None:
        for rows, how in races:
            how["predictions"] = given["predictions"] / rows.name
    quiet = given["as_json"]
    outcomes = [_raced(rows, RaceSettings(**how), quiet) for rows, how in races]
    command = options.command_line(context)
    paths = report.save(outcomes, given["output"], [command] * len(outcomes))
    if given["as_json"]:
        show_json([report.numbers(outcome) for outcome in outcomes])
    note(f"Open {paths[0]} in a browser.")
