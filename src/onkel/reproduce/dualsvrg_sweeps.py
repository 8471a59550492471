"""DualSVRG's figures 3 and 4, and its theta: mistakes and time as a setting varies."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.reproduce.axes import plain_numbers
from onkel.reproduce.bands import band
from onkel.reproduce.choosing import constant_error, pass_of
from onkel.reproduce.online_data import task
from onkel.reproduce.protocol import Cell
from onkel.reproduce.runner import PERCENT

SIZES = (10, 20, 50, 100, 200, 500, 1000)
# Of the paper's theta on cod-rna, which is 1.
THETAS = (0.6, 1.0, 2.0, 4.0)
VALUES: dict[str, tuple[float, ...]] = {
    "memory_size": SIZES,
    "snapshot_period": SIZES,
    "coverage_radius": tuple(theta / 2 for theta in THETAS),
}
SYMBOLS = {
    "memory_size": "memory m",
    "snapshot_period": "period n",
    "coverage_radius": "theta / 2",
}
COLOURS = ("#CC6677", "#332288", "#117733")


def sweep(
    name: str, cell: Cell, wanted: int, limit: float, setting: str
) -> dict[str, Any]:
    """Learn in several orders with every value of a setting.

    Values take turns, so that a busy moment of the machine hits all of them.
    """
    work, setup = task(name), cell.setup
    assert setup is not None
    keys = ("mistakes", "seconds", "size")
    found: dict[str, list[list[float]]] = {key: [] for key in keys}
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(len(work.y))
        runs: dict[str, list[float]] = {key: [] for key in keys}
        for value in VALUES[setting]:
            given = {setting: value, "random_state": seed}
            model = setup.build(work, len(order), **given)
            error, seconds = pass_of(work, model, order)
            numbers = (PERCENT * error, seconds, float(model.model_size_))
            for key, number in zip(keys, numbers, strict=True):
                runs[key].append(number)
        for key in keys:
            found[key].append(runs[key])
    return {
        **{"rows": len(work.y), "features": work.X.shape[1]},
        "constant": PERCENT * constant_error(work),
        **{"values": [run[-1] for run in found["mistakes"]], "curves": found},
        "setting": setting,
    }


def fastest(outcome: dict[str, Any]) -> np.ndarray:
    """Return the shortest time with every value."""
    return np.min(outcome["curves"]["seconds"], axis=0)


def sweep_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out mistakes, times and sizes by value."""
    some = next(iter(next(iter(outcomes.values())).values()))
    setting = some["setting"]
    heads = [f"{value:g}" for value in VALUES[setting]]
    rows = [["data", "system", SYMBOLS[setting], *heads]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            curves = outcome["curves"]
            means, sizes = (
                np.mean(curves[key], axis=0) for key in ("mistakes", "size")
            )
            rows += [
                [data, label, "mistakes, %", *(f"{one:.2f}" for one in means)],
                [data, label, "s", *(f"{one:.3f}" for one in fastest(outcome))],
            ]
            if setting == "coverage_radius":
                moved = PERCENT * (1 - sizes / outcome["rows"])
                rows.append([data, label, "moved, %", *(f"{one:.2f}" for one in moved)])
    return rows


def draw_sweep(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw mistakes and seconds against the setting, a row of panels by data set."""
    picture = Picture(figsize=(11, 3.5 * len(outcomes) + 0.4), layout="constrained")
    rows = picture.subplots(len(outcomes), 2, squeeze=False, sharex=True)
    for (left, right), (data, found) in zip(rows, outcomes.items(), strict=True):
        for colour, (label, outcome) in zip(COLOURS, found.items(), strict=False):
            values = VALUES[outcome["setting"]]
            look = {"label": label, "marker": "o", "ms": 3}
            band(left, values, outcome["curves"]["mistakes"], colour, **look)
            right.plot(values, fastest(outcome), color=colour, marker="o", ms=3)
            right.set_xlabel(SYMBOLS[outcome["setting"]])
            left.set_xlabel(SYMBOLS[outcome["setting"]])
        left.set(title=f"{data}: mistakes", ylabel="mistakes, %")
        right.set(title=f"{data}: time for a pass", ylabel="seconds")
        for panel in (left, right):
            panel.set_xscale("log")
            panel.set_ylim(0, 1.1 * panel.dataLim.ymax)
            panel.grid(alpha=0.3)
            plain_numbers(panel.xaxis)
    handles = rows[0][0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return picture
