"""DualSGD with a memory: steps by the mean gradient of the last m rows.

The paper made it, and prints nothing of it but that it is comparable, and slow. With a
checkpoint at every row DualSVRG's u is its w, and what is left of its step is the mean
gradient over the memory at w: descent with a memory in two spaces, and with m = 1 plain
descent. Loss and step size are DualSVRG's: they differ from those of DualSGD, so that
m = 1 is what a memory is to be compared with.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.measuring.markdown import power
from onkel.reproduce.choosing import constant_error, pass_of
from onkel.reproduce.online_data import task
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.runner import PERCENT
from onkel.reproduce.summary import measured

MEMORIES = (1, 10, 100)
NO_MEMORY = "m = 1"
OF_NO_MEMORY = ", parameters of m = 1"
COLOUR = "#332288"


def of_own_or_no_memory(
    name: str, cell: Cell, named: Callable[[str], Mapping[str, EstimatorSetup]]
) -> EstimatorSetup:
    """Return the setup whose parameters a cell has: its own, or that of m = 1.

    Parameters
    ----------
    name, cell
        As `Table.lender` has them.
    named
        Returns the setups on a data set.
    """
    is_lent = cell.algorithm.endswith(OF_NO_MEMORY)
    return named(name)[NO_MEMORY if is_lent else cell.algorithm]


def memory(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn in several orders."""
    work, setup = task(name), cell.setup
    assert setup is not None
    runs = []
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(len(work.y))
        model = setup.build(work, len(order), random_state=seed)
        runs.append(pass_of(work, model, order))
    return {
        **{"rows": len(work.y), "features": work.X.shape[1]},
        "constant": PERCENT * constant_error(work),
        "values": [PERCENT * error for error, _ in runs],
        "seconds": [seconds for _, seconds in runs],
    }


def memory_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out mistakes and the shortest times."""
    heads = ["mistakes, %", "s", "times that of m = 1", "step", "gamma", "alpha n"]
    rows = [["data", "system", *heads]]
    for data, found in outcomes.items():
        one = found.get(NO_MEMORY)
        for label, outcome in found.items():
            least = min(outcome["seconds"])
            ratio = f"{least / min(one['seconds']):.1f}" if one else "-"
            chosen = outcome["parameters"]
            numbers = [measured(outcome["values"]).shown(2), f"{least:.3f}", ratio]
            numbers.append(
                f"{chosen['eta0']:.2g}" if "eta0" in chosen else "1/(alpha t)"
            )
            numbers += [power(chosen[key]) for key in ("gamma", "alpha")]
            rows.append([data, label, *numbers])
    return rows


def draw_memory(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw mistakes and seconds of every order, a row of panels by data set."""
    picture = Picture(figsize=(11, 3.4 * len(outcomes)), layout="constrained")
    rows = picture.subplots(len(outcomes), 2, squeeze=False)
    for panels, (data, found) in zip(rows, outcomes.items(), strict=True):
        labels = [label.replace(", ", ",\n") for label in found]
        for panel, key in zip(panels, ("values", "seconds"), strict=True):
            for place, outcome in enumerate(found.values()):
                numbers = outcome[key]
                look = {"color": COLOUR, "ms": 5, "alpha": 0.5}
                panel.plot([place] * len(numbers), numbers, "o", **look)
            panel.set_xticks(range(len(labels)), labels, fontsize=8)
            panel.grid(alpha=0.3)
        panels[0].set(title=f"{data}: mistakes", ylabel="mistakes, %")
        panels[1].set(title=f"{data}: time for a pass", ylabel="seconds")
        panels[1].set_ylim(0, None)
    return picture
