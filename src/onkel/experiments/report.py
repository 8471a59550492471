"""What is left of a race: a table per stream, a picture, and the numbers as JSON."""

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

import onkel
from onkel.experiments.contestants import (
    BATCH,
    CONSTANT,
    LINEAR,
    REPETITIONS,
    Outcome,
    Result,
)
from onkel.experiments.streams import Stream

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter, StrMethodFormatter
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Table
except ImportError as error:
    raise ImportError(
        "the race draws with matplotlib and rich, which are not installed with onkel "
        f'itself ({error.name} is missing): pip install "onkel[race]"'
    ) from error

# Paul Tol's "muted" palette, told apart also by the colour-blind.
COLOURS = (
    "#332288",
    "#CC6677",
    "#117733",
    "#DDCC77",
    "#88CCEE",
    "#882255",
    "#44AA99",
    "#999933",
    "#AA4499",
)
REFERENCE_COLOURS = {CONSTANT: "#777777", LINEAR: "#000000"}
SOLID, DASHED, DOTTED = "-", (0, (6, 3)), (0, (1.2, 1.2))
BEST_WIDTH = 2.8
POINTS = 250  # of a curve
LABEL_GAP = 0.037  # between two labels, as a part of the height of a panel


# ---- on the screen -------------------------------------------------------------------


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; it advances when the function it yields is called with a text."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)
        started = 0

        def announce(text: str) -> None:
            nonlocal started
            bar.update(task, completed=started, description=text)
            started += 1

        yield announce
        bar.update(task, completed=total, description="done")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _caption(stream: Stream) -> str:
    rows, features = stream.X.shape
    return (
        f"{rows:,} rows, {features} features, {len(np.unique(stream.y))} classes, "
        f"gamma {stream.gamma:.3g}. Each row is predicted, then learnt; {LINEAR} "
        f"(scikit-learn) does so in batches of {BATCH}. rows/s: fastest of "
        f"{REPETITIONS} runs, one thread, compiled before."
    )


def table(outcome: Outcome) -> Table:
    """Lay out the results of one stream, the best first."""
    drawn = Table(
        title=f"[bold]{outcome.stream.name}",
        caption=_caption(outcome.stream),
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    drawn.add_column("system", no_wrap=True)
    drawn.add_column("mistakes", justify="right")
    for heading in ("budget", "model size", "updates", "rows/s"):
        drawn.add_column(heading, justify="right")
    for place, result in enumerate(outcome.results):
        style = "bold green" if place == 0 else "dim" if result.is_reference else ""
        drawn.add_row(
            result.name,
            f"{result.mistake_rate:.2%}",
            "none" if result.grows else _number(result.budget),
            _number(result.size),
            _number(result.updates),
            _number(result.rows_per_second),
            style=style,
        )
    return drawn


def show(outcomes: list[Outcome], console: Console | None = None) -> None:
    """Print a table per stream."""
    console = console or Console()
    for outcome in outcomes:
        console.print()
        console.print(table(outcome))


# ---- the picture ---------------------------------------------------------------------


def curve(
    mistakes: np.ndarray, window: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mistake rate over the last `window` rows, or over all so far.

    Parameters
    ----------
    mistakes : shape (rows,)
        Whether a row was predicted wrong.
    window
        Rows to average over; None for all so far.

    Returns
    -------
    seen, rate
        At most `POINTS` numbers of rows seen, and the rate there. The first twenty-
        fifth of the stream, where a rate would be one of a few rows, is left out.

    Examples
    --------
    >>> seen, rate = curve(np.array([1, 1, 0, 0]), window=2)
    >>> seen.tolist(), rate.tolist()
    ([1, 2, 3, 4], [1.0, 1.0, 0.5, 0.0])
    """
    rows = len(mistakes)
    seen = np.linspace(max(1, rows // 25), rows, POINTS).astype(int)
    seen = np.unique(seen)
    total = np.concatenate([[0], np.cumsum(mistakes)])
    before = np.maximum(seen - (window or rows), 0)
    return seen, (total[seen] - total[before]) / (seen - before)


def spread(ends: np.ndarray, gap: float) -> np.ndarray:
    """Move labels as little as possible until each has room.

    Parameters
    ----------
    ends
        Where the labels should be, ascending.
    gap
        Least distance of neighbours.

    Examples
    --------
    >>> spread(np.array([1.0, 1.0, 5.0]), gap=2.0).tolist()
    [0.0, 2.0, 5.0]
    """
    # Least squares under a least distance is isotonic regression once the distance is
    # taken off.
    offsets = gap * np.arange(len(ends))
    return isotonic_regression(ends - offsets) + offsets


class _Line(NamedTuple):
    """A curve, and how it is drawn."""

    name: str
    seen: np.ndarray
    rate: np.ndarray
    style: dict[str, Any]
    weight: str  # of the label

    @property
    def end(self) -> float:
        return float(self.rate[-1])


def _styles(results: list[Result]) -> dict[str, dict[str, Any]]:
    """Colour by name, so that a system looks the same in all panels."""
    styles = {}
    for grows, dashes in ((False, SOLID), (True, DOTTED)):
        group = [r.name for r in results if not r.is_reference and r.grows == grows]
        for name, colour in zip(sorted(group), cycle(COLOURS), strict=False):
            styles[name] = {"color": colour, "linestyle": dashes, "linewidth": 1.7}
    for name, colour in REFERENCE_COLOURS.items():
        styles[name] = {"color": colour, "linestyle": DASHED, "linewidth": 1.4}
    return styles


def _lines(outcome: Outcome) -> list[_Line]:
    styles = _styles(outcome.results)
    styles[outcome.results[0].name]["linewidth"] = BEST_WIDTH
    return [
        _Line(
            result.name,
            *curve(result.mistakes, outcome.stream.window),
            styles[result.name],
            "bold" if result is outcome.results[0] else "normal",
        )
        for result in outcome.results
    ]


def _label(axes: Axes, lines: list[_Line], top: float) -> None:
    """Write the names beside the ends of the curves, each tied to its own."""
    lines = sorted(lines, key=lambda line: line.end)
    gap = LABEL_GAP * top
    heights = spread(np.array([line.end for line in lines]), gap)
    heights += max(0.0, gap / 2 - heights[0])
    beside = axes.get_yaxis_transform()  # x in parts of the width, y in data
    for line, height in zip(lines, heights, strict=True):
        axes.plot(
            [1.0, 1.035, 1.075],
            [line.end, height, height],
            transform=beside,
            clip_on=False,
            **line.style | {"linewidth": 1.2},
        )
        axes.text(
            1.085,
            height,
            f"{line.name}  {line.end:.1%}",
            transform=beside,
            verticalalignment="center",
            fontsize=9.5,
            fontweight=line.weight,
        )


def _describe(axes: Axes, stream: Stream, above: list[_Line]) -> None:
    """Write what the panel shows, and what lies above its scale."""
    rows, features = stream.X.shape
    text = f"{len(np.unique(stream.y))} classes, {features} features, {rows:,} rows"
    axes.set_title(stream.name, loc="left", fontweight="bold", pad=22)
    for line in above:
        text += f"; off the scale: {line.name}, {line.end:.0%}"
    axes.text(0, 1.02, text, transform=axes.transAxes, fontsize=9.5, color="#444444")
    averaged = (
        "all rows so far" if stream.window is None else f"last {stream.window:,} rows"
    )
    axes.set_ylabel(f"mistakes, {averaged}")
    axes.set_xlabel("rows seen")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _panel(axes: Axes, outcome: Outcome) -> None:
    lines = _lines(outcome)
    # The scale is for those that learn; a constant far above them is only named.
    top = 1.15 * max(line.end for line in lines if line.name != CONSTANT) or 1.0
    # the best is drawn last, on top of the others
    for line in reversed(lines):
        axes.plot(line.seen, line.rate, **line.style)
    axes.set(xlim=(0, len(outcome.stream.y)), ylim=(0, top))
    _describe(axes, outcome.stream, [line for line in lines if line.end > top])
    _label(axes, [line for line in lines if line.end <= top], top)


def picture(outcomes: list[Outcome]) -> Figure:
    """Draw mistake rates over rows, one panel per stream."""
    figure = Figure(
        figsize=(7.4 * len(outcomes), 7.6),
        layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.12),
    )
    panels = figure.subplots(1, len(outcomes), squeeze=False)[0]
    for axes, outcome in zip(panels, outcomes, strict=True):
        _panel(axes, outcome)
    figure.suptitle("Predict each row, then learn it", fontsize=15)
    kinds: dict[str, dict[str, Any]] = {
        "on a budget": {"linestyle": SOLID},
        "without a budget": {"linestyle": DOTTED},
        "references": {"linestyle": DASHED},
        "fewest mistakes in all": {"linewidth": BEST_WIDTH},
    }
    figure.legend(
        [Line2D([], [], color="#444444", **style) for style in kinds.values()],
        list(kinds),
        loc="outside lower center",
        ncols=len(kinds),
        handlelength=3.5,
        frameon=False,
    )
    return figure


# ---- the numbers ---------------------------------------------------------------------


def _entry(result: Result) -> dict[str, Any]:
    return {
        "system": result.name,
        "model": result.model,
        "mistake_rate": result.mistake_rate,
        "budget": result.budget,
        "model_size": result.size,
        "updates": result.updates,
        "rows_per_second": result.rows_per_second,
    }


def numbers(outcomes: list[Outcome], seed: int) -> dict[str, Any]:
    """Everything in the tables, and where and with what it was measured."""
    return {
        "onkel": onkel.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        "seed": seed,
        "linear_batch": BATCH,
        "repetitions": REPETITIONS,
        "streams": [
            {
                "stream": stream.name,
                "rows": len(stream.y),
                "features": stream.X.shape[1],
                "classes": len(np.unique(stream.y)),
                "gamma": stream.gamma,
                "results": [_entry(result) for result in results],
            }
            for stream, results in outcomes
        ],
    }


def save(outcomes: list[Outcome], folder: Path, seed: int) -> list[Path]:
    """Write the picture and the numbers into a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    drawing, data = folder / "race.png", folder / "race.json"
    picture(outcomes).savefig(drawing, dpi=150)
    data.write_text(json.dumps(numbers(outcomes, seed), indent=2) + "\n")
    return [drawing, data]
