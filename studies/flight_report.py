"""What is told of a pass over the flights: numbers, tables and a picture."""

import json
import os
import platform
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import onkel
from onkel.measuring.markdown import markdown
from studies.flight_encoder import NAMES
from studies.predictors import PIECE
from studies.tally import Tally

LINEAR, CONSTANT = "linear SGD", "constant"
COLOURS = ("#117733", "#CC6677", "#777777")


class StreamPass(NamedTuple):
    """How a pass over the stream went."""

    tallies: dict[str, Tally]
    seconds: dict[str, float]  # of reading, encoding, and each predictor
    memory: dict[str, float]  # MiB, by what and when


def numbers(passed: StreamPass) -> dict[str, Any]:
    """Everything that was measured, and where."""
    shared = {part: passed.seconds[part] for part in ("reading", "encoding")}
    results = {}
    for name, tally in passed.tallies.items():
        own = passed.seconds[name]
        seen, rate = tally.curve()
        results[name] = {
            "error": tally.error,
            "area": tally.area,
            "rows_per_second": tally.rows / own,
            "rows_per_second_in_all": tally.rows / (own + sum(shared.values())),
            "seconds": own,
            "curve": {"rows": seen.tolist(), "error": rate.tolist()},
        }
    return {
        "onkel": onkel.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        "rows": tally.rows,
        "features": list(NAMES),
        "seconds": shared,
        "memory": passed.memory,
        "results": results,
    }


def table(measured: dict[str, Any]) -> str:
    """Lay the results out as tables in Markdown."""
    heads = ["system", "error, %", "ROC area", "model size"]
    heads += ["rows/s, learning", "rows/s, in all"]
    lines = []
    for name, result in measured["results"].items():
        lines.append(
            [
                name,
                f"{100 * result['error']:.2f}",
                f"{result['area']:.4f}",
                f"{result['size']:,}" if "size" in result else "-",
                f"{result['rows_per_second']:,.0f}",
                f"{result['rows_per_second_in_all']:,.0f}",
            ]
        )
    memory = measured["memory"]
    chosen = "; ".join(
        f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in given.items())
        for name, given in measured["parameters"].items()
    )
    shown = ["resident", *(f"{value:.0f}" for value in memory.values())]
    return "\n".join(
        [
            *markdown(heads, lines),
            f"{measured['rows']:,} rows, {len(measured['features'])} features, "
            f"{measured['loss']}. {chosen}. {LINEAR} learns {PIECE} rows at a time, so "
            "its speed is that of the calls. In all: with reading and features.",
            "",
            *markdown(["memory, MiB", *memory], [shown]),
        ]
    )


def picture(measured: dict[str, Any]) -> Figure:
    """Draw mistakes by window, and how many fewer they are than the constant's."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    constant = np.array(measured["results"][CONSTANT]["curve"]["error"])
    for (name, result), colour in zip(
        measured["results"].items(), COLOURS, strict=True
    ):
        seen = np.array(result["curve"]["rows"]) / 1000
        error = np.array(result["curve"]["error"])
        named = f"{name}, {100 * result['error']:.2f} in all"
        above.plot(seen, 100 * error, color=colour, label=named)
        below.plot(seen, 100 * (error - constant), color=colour)
    above.set(title="Flights more than 15 minutes late", ylabel="mistakes, %")
    below.set(xlabel="rows seen, thousands", ylabel=f"mistakes less {CONSTANT}'s, %")
    above.legend(frameon=False, fontsize=8)
    for panel in (above, below):
        panel.grid(alpha=0.3)
    return figure


def save(measured: dict[str, Any], folder: Path) -> None:
    """Write the numbers, the table and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flights.json").write_text(json.dumps(measured, indent=1))
    (folder / "flights.md").write_text(table(measured))
    picture(measured).savefig(folder / "flights.png", dpi=110)
