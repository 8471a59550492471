"""DualSVRG's figure 2: the mean loss of the rows so far, beside DualSGD.

The paper compares at the same gamma and lambda, and does not say whose: both systems
run with those that the protocol takes for DualSVRG-H-B, and with those it takes for
DualSGD. Losses are those of rows before their update; each system's own, and the hinge
of both, which compare.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import onkel
from onkel.measuring.markdown import power
from onkel.problem import losses
from onkel.reproduce.axes import plain_numbers, points
from onkel.reproduce.bands import band
from onkel.reproduce.digits import short
from onkel.reproduce.online_data import OnlineData, task
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.summary import measured

REDUCED, CHOSEN_STEP, PLAIN = "DualSVRG-H-B", "DualSVRG-H-B, step chosen", "DualSGD"
OF_REDUCED, OF_PLAIN = "parameters of DualSVRG", "parameters of DualSGD"
OWN, HINGE = "own loss", "hinge"
SMOOTHING = 0.5
COLOURS = {REDUCED: "#CC6677", CHOSEN_STEP: "#332288", PLAIN: "#117733"}
LINES = {OF_REDUCED: "-", OF_PLAIN: "--"}


def mean_losses(
    work: OnlineData, model: Any, order: np.ndarray
) -> dict[str, list[float]]:
    """Return the mean loss of the rows so far at `points`, by kind of loss."""
    X, y = work.X[order], work.y[order]
    classes = np.unique(y)
    scores = onkel.progressive(model, X, y, classes=classes)
    signs = np.where(y == classes[1], 1.0, -1.0)
    seen = points(len(y))
    found = {}
    for name, loss in (
        (OWN, losses.make(model.loss, smoothing=SMOOTHING)),
        (HINGE, losses.make("hinge")),
    ):
        values = np.vectorize(partial(losses.value, loss))(scores, signs)
        means = np.cumsum(values) / np.arange(1, len(y) + 1)
        found[name] = means[seen - 1].tolist()
    return found


def of_either(
    name: str, cell: Cell, named: Callable[[str], Mapping[str, EstimatorSetup]]
) -> EstimatorSetup:
    """Return the setup whose parameters a cell has: its own, or the other system's.

    Parameters
    ----------
    name, cell
        As `Table.lender` has them.
    named
        Returns the setups of both systems on a data set.
    """
    assert cell.setup is not None
    if cell.algorithm.startswith(CHOSEN_STEP):
        return cell.setup
    return named(name)[REDUCED if cell.algorithm.endswith(OF_REDUCED) else PLAIN]


def convergence(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn in several orders, and note losses on the way."""
    work, setup = task(name), cell.setup
    assert setup is not None
    found: dict[str, list[list[float]]] = {OWN: [], HINGE: []}
    values = []
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(len(work.y))
        model = setup.build(work, len(order), random_state=seed)
        means = mean_losses(work, model, order)
        values.append(means[HINGE][-1])
        for kind, curve in means.items():
            found[kind].append(short(curve))
    return {
        **{"rows": len(work.y), "features": work.X.shape[1]},
        **{"values": values, "curves": found},
    }


def restlessness(curve: list[float]) -> float:
    """Return how far a curve rises on its way from a tenth of the rows on.

    The sum of all rises, over its last value.
    """
    values = np.array(curve)
    # A tenth of the rows is a fixed share of the logarithmic axis.
    late = values[len(values) * 6 // 10 :]
    return float(np.maximum(np.diff(late), 0.0).sum() / values[-1])


def convergence_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out where the curves end, and how restless they are."""
    heads = ["at the end, own loss", "hinge", "rises, of the end", "gamma", "alpha n"]
    rows = [["data", "system", *heads]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            ends = [
                measured([run[-1] for run in outcome["curves"][kind]]).shown(4)
                for kind in (OWN, HINGE)
            ]
            rises = np.mean([restlessness(run) for run in outcome["curves"][OWN]])
            chosen = [power(outcome["parameters"][key]) for key in ("gamma", "alpha")]
            rows.append([data, label, *ends, f"{rises:.4f}", *chosen])
    return rows


def draw_convergence(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw mean losses: a row of panels by data set, a column by loss."""
    picture = Picture(figsize=(11, 3.9 * len(outcomes) + 0.8), layout="constrained")
    rows = picture.subplots(len(outcomes), 2, squeeze=False, sharey="row")
    for panels, (data, found) in zip(rows, outcomes.items(), strict=True):
        for panel, kind in zip(panels, (OWN, HINGE), strict=True):
            for label, outcome in found.items():
                system, _, whose = label.rpartition(", ")
                look = {"ls": LINES[whose], "label": label}
                seen = points(outcome["rows"])
                runs = outcome["curves"][kind]
                band(panel, seen, runs, COLOURS[system], **look)
            panel.set(xscale="log", yscale="log", xlabel="rows seen")
            panel.set_title(f"{data}: {kind}")
            panel.grid(alpha=0.3)
            plain_numbers(panel.xaxis)
            plain_numbers(panel.yaxis)
        panels[0].set_ylabel("mean loss so far")
    handles = rows[0][0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return picture
