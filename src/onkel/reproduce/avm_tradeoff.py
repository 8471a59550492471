"""AVM's figures 2 and 3: what coverage costs and brings.

Mistakes and size against the diameter delta of the cells, all rows approximated (beta =
0), and over the schedule beta, rho at the paper's delta. gamma and alpha are chosen by
the paper's protocol at its delta, and stay.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import NullLocator, ScalarFormatter

from onkel.reproduce.bands import band
from onkel.reproduce.choosing import constant_error, pass_of
from onkel.reproduce.online_data import OnlineData, task
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.runner import PERCENT
from onkel.reproduce.summary import measured

SYSTEM = "AVM-Hinge"
# Around the paper's diameter.
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.7, 2.0)
BETAS = (0.0, 2.5, 5.0, 7.5, 10.0)
RHOS = (0.5, 0.75, 1.0, 1.25, 1.5)
ERROR, SIZE = "#CC6677", "#4477AA"


def _in_orders(
    work: OnlineData, setup: EstimatorSetup, seeds: int, **given: Any
) -> list[list[float]]:
    """Return mistakes in percent, and sizes, in several orders."""
    rates: list[float] = []
    sizes: list[float] = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(work.y))
        model = setup.build(work, len(order), random_state=seed, **given)
        rates.append(PERCENT * pass_of(work, model, order)[0])
        sizes.append(float(model.model_size_))
    return [rates, sizes]


def rows_kept(rows: int) -> np.ndarray:
    """Return how many of so many rows a schedule keeps as they are, by beta and rho."""
    t = np.arange(1, rows + 1)
    return np.array(
        [[np.minimum(1.0, beta * t**-rho).sum() for rho in RHOS] for beta in BETAS]
    )


def tradeoff(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Measure passes with cells and schedules of all kinds."""
    work, setup = task(name), cell.setup
    assert setup is not None
    diameters = [share * 2 * setup.fixed["coverage_radius"] for share in SHARES]
    by_diameter = [
        _in_orders(work, setup, wanted, coverage_radius=delta / 2)
        for delta in diameters
    ]
    always = by_diameter[SHARES.index(1.0)]  # whatever rho is
    surface = [
        [
            _in_orders(work, setup, wanted, approx_beta=beta, approx_rho=rho)
            if beta
            else always
            for rho in RHOS
        ]
        for beta in BETAS
    ]
    return {
        **{"rows": len(work.y), "features": work.X.shape[1]},
        "constant": PERCENT * constant_error(work),
        "values": always[0],
        "diameters": diameters,
        "by_diameter": by_diameter,  # (delta, rate or size, seed)
        "surface": surface,  # (beta, rho, rate or size, seed)
    }


def tradeoff_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out mistakes and sizes by delta, then by beta and rho."""
    rows = [["data", "delta", "beta", "rho", "mistakes, %", "centres"]]
    for data, found in outcomes.items():
        outcome = found[SYSTEM]
        for delta, cell in zip(
            outcome["diameters"], outcome["by_diameter"], strict=True
        ):
            rows.append([data, f"{delta:.2f}", "0", "-", *_shown(cell)])
        paper = f"{outcome['diameters'][SHARES.index(1.0)]:.2f}"
        for beta, line in zip(BETAS, outcome["surface"], strict=True):
            for rho, cell in zip(RHOS, line, strict=True):
                if beta:
                    rows.append([data, paper, f"{beta:g}", f"{rho:g}", *_shown(cell)])
    return rows


def _shown(cell: list[list[float]]) -> list[str]:
    return [measured(cell[0]).shown(2), f"{np.mean(cell[1]):,.0f}"]


def draw_tradeoff(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw a row of panels a data set: by delta, mistakes and size by schedule."""
    picture = Picture(figsize=(13, 3.8 * len(outcomes)), layout="constrained")
    rows = picture.subplots(len(outcomes), 3, squeeze=False)
    for panels, (data, found) in zip(rows, outcomes.items(), strict=True):
        outcome = found[SYSTEM]
        _curves(panels[0], data, outcome)
        means = np.array(outcome["surface"]).mean(axis=3)
        for panel, kind, what in zip(
            panels[1:], (0, 1), ("mistakes, %", "centres"), strict=True
        ):
            drawn = panel.pcolormesh(RHOS, BETAS, means[:, :, kind], shading="nearest")
            picture.colorbar(drawn, ax=panel, label=what)
            panel.set(title=f"{data}: schedule", xlabel="rho", ylabel="beta")
    return picture


def _curves(panel: Any, data: str, outcome: dict[str, Any]) -> None:
    numbers = np.array(outcome["by_diameter"])
    right = panel.twinx()
    for axis, kind, colour, label in (
        (panel, 0, ERROR, "mistakes, %"),
        (right, 1, SIZE, "centres"),
    ):
        diameters = outcome["diameters"]
        band(axis, diameters, numbers[:, kind].T, colour, marker="o", ms=3)
        axis.set_ylabel(label, color=colour)
        axis.tick_params(axis="y", colors=colour)
    right.set_yscale("log")
    right.yaxis.set_major_formatter(ScalarFormatter())
    right.yaxis.set_minor_locator(NullLocator())
    paper = outcome["diameters"][SHARES.index(1.0)]
    panel.axvline(paper, color="grey", lw=1, ls=":")
    panel.set(title=f"{data}: size of the cells", xlabel="diameter delta")
    panel.grid(alpha=0.3)
