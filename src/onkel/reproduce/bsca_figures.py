"""Tables and pictures of the BSCA paper's figures: curves by epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from onkel.reproduce.summary import measured, unrest

SHOWN = (1, 5, 15)  # epochs in tables
MANY = (1, 15, 100, 300)  # where there are many
COLOURS = {"SCA": "#117733", "SCA, last iterate": "#88CCEE", "SGD": "#CC6677"}
BY_BUDGET = {200: "#DDAA33", 500: "#117733"}
STYLES = {200: ":", 500: "-", 1000: "--"}  # by budget
Outcomes = dict[str, dict[str, Any]]


def _errors(outcomes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Test errors by system; those of (B)SCA's last iterate are a system, too."""
    found = {}
    for label, outcome in outcomes.items():
        found[label] = np.array(outcome["curves"]["error"])
        last = np.array(outcome["curves"]["error_of_last"])
        if "SCA" in label and not np.array_equal(last, found[label]):
            found[label.replace("SCA", "SCA, last iterate")] = last
    return found


def error_rows(outcomes: Outcomes) -> list[list[str]]:
    """Lay out test errors after 1, 5 and all epochs."""
    rows = [["data", "system", *map(str, SHOWN), "unrest"]]
    for data, found in outcomes.items():
        for label, errors in _errors(found).items():
            numbers = [measured(errors[:, epoch - 1].tolist()) for epoch in SHOWN]
            restless = f"{unrest(errors).mean():.2f}"
            rows.append([data, label, *(one.shown(2) for one in numbers), restless])
    return rows


def _means(
    outcome: Mapping[str, Any], kind: str, shape: str, epochs: Sequence[int] = SHOWN
) -> list[str]:
    means = np.array(outcome["curves"][kind]).mean(axis=0)
    return [f"{means[epoch - 1]:{shape}}" for epoch in epochs]


def objective_rows(outcomes: Outcomes) -> list[list[str]]:
    """Lay out primal and dual objectives after 1, 5 and all epochs."""
    rows = [["data", "system", "objective", *map(str, SHOWN)]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            for kind in ("primal", "dual"):
                rows.append([data, label, kind, *_means(outcome, kind, ",.0f")])
    return rows


def merging_rows(outcomes: Outcomes, epochs: Sequence[int] = SHOWN) -> list[list[str]]:
    """Lay out the shares of steps with a merge in some epochs."""
    rows = [["data", "system", *map(str, epochs)]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            rows.append([data, label, *_means(outcome, "maintenance", ".3f", epochs)])
    return rows


def time_rows(outcomes: Outcomes) -> list[list[str]]:
    """Lay out seconds and test errors after 1, 5 and all epochs."""
    heads = [f"{what} {epoch}" for what in ("s", "error, %,") for epoch in SHOWN]
    rows = [["data", "system", *heads]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            numbers = [
                *_means(outcome, "seconds", ".2f"),
                *_means(outcome, "error", ".2f"),
            ]
            rows.append([data, label, *numbers])
    return rows


def _panels(outcomes: Outcomes, rows: int = 1) -> tuple[Picture, np.ndarray]:
    picture = Picture(figsize=(3.8 * len(outcomes), 3.4 * rows), layout="constrained")
    panels = picture.subplots(rows, len(outcomes), squeeze=False)
    for panel in panels.flat:
        panel.grid(alpha=0.3, which="both")
        panel.set_xlabel("epoch")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    for panel, data in zip(panels[0], outcomes, strict=True):
        panel.set_title(data)
    return picture, panels


def _legend(picture: Picture, panels: np.ndarray) -> None:
    """Name the curves once, those of all panels, below them."""
    named = {
        label: line
        for panel in panels.flat
        for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    picture.legend(
        named.values(), named, loc="outside lower center", ncols=6, frameon=False
    )


def _band(panel: Any, values: np.ndarray, label: str, colour: str, style: str) -> None:
    """Draw the mean over the seeds, and their range as a band."""
    epochs = np.arange(1, values.shape[1] + 1)
    panel.plot(epochs, values.mean(axis=0), color=colour, ls=style, label=label)
    low, high = values.min(axis=0), values.max(axis=0)
    panel.fill_between(epochs, low, high, color=colour, alpha=0.15, lw=0)


def _look(label: str) -> tuple[str, str]:
    """Colour by system, line by budget."""
    system, _, budget = label.partition(", B = ")
    return COLOURS[system.removeprefix("B")], STYLES[int(budget or 500)]


def draw_errors(outcomes: Outcomes) -> Picture:
    """Draw test errors by epoch."""
    picture, panels = _panels(outcomes)
    for panel, found in zip(panels[0], outcomes.values(), strict=True):
        for label, errors in _errors(found).items():
            _band(panel, errors, label, _look(label)[0], "-")
        _of_errors(panel)
    panels[0, 0].set_ylabel("test error, %")
    _legend(picture, panels)
    return picture


def _of_errors(panel: Any) -> None:
    """Give a panel an axis for errors."""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")
    panel.tick_params(which="both", labelsize=8)


def _of_objectives(panel: Any, kind: str) -> None:
    """Give a panel an axis for objectives."""
    if kind == "primal":
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    elif panel.dataLim.ymin < 0:
        # From far below 0 to a little above: linear in between.
        panel.set_yscale("symlog", linthresh=1e4, linscale=0.5)
    panel.yaxis.set_major_formatter(EngFormatter(sep=""))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _over_time(panel: Any, found: Mapping[str, Any], kind: str) -> None:
    """Draw the mean of curves against the mean time, and their range."""
    for label, outcome in found.items():
        seconds = np.array(outcome["curves"]["seconds"]).mean(axis=0)
        values = np.array(outcome["curves"][kind])
        colour = BY_BUDGET[int(label.partition(", B = ")[2])]
        panel.plot(seconds, values.mean(axis=0), color=colour, label=label, marker=".")
        low, high = values.min(axis=0), values.max(axis=0)
        panel.fill_between(seconds, low, high, color=colour, alpha=0.15, lw=0)
    panel.set_xlabel("seconds")
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())


def draw_errors_over_time(outcomes: Outcomes) -> Picture:
    """Draw test errors against time."""
    picture, panels = _panels(outcomes)
    for panel, found in zip(panels[0], outcomes.values(), strict=True):
        _over_time(panel, found, "error")
        _of_errors(panel)
    panels[0, 0].set_ylabel("test error, %")
    _legend(picture, panels)
    return picture


def draw_objectives_over_time(outcomes: Outcomes) -> Picture:
    """Draw primal objectives above, dual objectives below, against time."""
    picture, panels = _panels(outcomes, rows=2)
    for column, found in zip(panels.T, outcomes.values(), strict=True):
        for panel, kind in zip(column, ("primal", "dual"), strict=True):
            _over_time(panel, found, kind)
            _of_objectives(panel, kind)
    panels[0, 0].set_ylabel("primal objective")
    panels[1, 0].set_ylabel("dual objective")
    _legend(picture, panels)
    return picture


def draw_objectives(outcomes: Outcomes) -> Picture:
    """Draw primal objectives above, dual objectives below."""
    picture, panels = _panels(outcomes, rows=2)
    for column, found in zip(panels.T, outcomes.values(), strict=True):
        for panel, kind in zip(column, ("primal", "dual"), strict=True):
            for label, outcome in found.items():
                values = np.array(outcome["curves"][kind])
                _band(panel, values, label, _look(label)[0], "-")
            _of_objectives(panel, kind)
    panels[0, 0].set_ylabel("primal objective")
    panels[1, 0].set_ylabel("dual objective")
    _legend(picture, panels)
    return picture


def draw_merging(outcomes: Outcomes, scale: str = "linear") -> Picture:
    """Draw the shares of steps with a merge, epochs on an axis of this scale."""
    picture, panels = _panels(outcomes)
    for panel, found in zip(panels[0], outcomes.values(), strict=True):
        for label, outcome in found.items():
            values = np.array(outcome["curves"]["maintenance"])
            _band(panel, values, label, *_look(label))
        panel.set_ylim(0, None)
        panel.set_xscale(scale)
    panels[0, 0].set_ylabel("share of steps with a merge")
    _legend(picture, panels)
    return picture
