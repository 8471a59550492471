"""Removal, approximate and exact projection: accuracy, and time of passes in turns.

What the paper says of them has no numbers (exact projection), or those of passes too
short to be timed here (DNA in table 1). All three run with the gamma and the lambda
that the protocol takes for exact projection, the reference: what that favours, if
anything, is not what the paper speaks for.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.measuring.markdown import power
from onkel.reproduce.batch_data import only_first
from onkel.reproduce.choosing import constant_error, error_of, pass_of
from onkel.reproduce.online_data import OnlineData, whole
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.runner import FEW, PERCENT
from onkel.reproduce.summary import measured

ROWS, TESTED, SEARCHED = 15_000, 10_000, 2000
EXACT = "exact projection"
STRATEGIES = {
    "removal": "removal",
    "approximate projection": "projection_knn",
    EXACT: "projection",
}
COLOURS = ("#CC6677", "#332288", "#117733", "#DDAA33")
MARKERS = dict(zip(STRATEGIES, "osD", strict=True))


@cache
def some_rows(name: str) -> OnlineData:
    """Load the first 15,000 training rows, and the first 10,000 of the test part."""
    return only_first(whole(name), ROWS, TESTED)


def of_exact(
    name: str, cell: Cell, named: Callable[[str], Mapping[str, EstimatorSetup]]
) -> EstimatorSetup:
    """Return the setup whose parameters a cell has: that of exact projection.

    Parameters
    ----------
    name, cell
        As `Table.lender` has them.
    named
        Returns the setups on a data set.
    """
    system, _, _ = cell.algorithm.rpartition(", ")
    return named(name)[f"{system}, {EXACT}"]


@cache
def _turns(name: str, described: str, wanted: int) -> dict[str, dict[str, Any]]:
    """Make passes with each maintenance in turns, of a setup as JSON."""
    work, common = some_rows(name), EstimatorSetup(**json.loads(described))
    kinds = {
        kind: common.settled({"maintenance": strategy})
        for kind, strategy in STRATEGIES.items()
    }
    keys = "values", "sizes", "seconds", "maintained"
    found: dict[str, dict[str, Any]] = {
        kind: {key: [] for key in keys} for kind in kinds
    }
    X, y = work.X[work.n_train :], work.y[work.n_train :]
    few = np.random.default_rng(0).permutation(work.n_train)[:FEW]
    for setup in kinds.values():  # so that compiling is not in the time
        model = setup.build(work, FEW, random_state=0)
        pass_of(work, model, few)
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(work.n_train)
        for kind, setup in kinds.items():
            model = setup.build(work, len(order), random_state=seed)
            _, seconds = pass_of(work, model, order)
            right = 1.0 - error_of(work, model.predict(X), y)
            numbers = PERCENT * right, model.model_size_, seconds, model.n_maintenance_
            for key, number in zip(keys, numbers, strict=True):
                found[kind][key].append(number)
    return found


def turns(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Return accuracy, size and time with one maintenance, which took turns."""
    work, setup = some_rows(name), cell.setup
    assert setup is not None
    _, _, kind = cell.algorithm.rpartition(", ")
    # The same for all kinds, so that they share the turns.
    described = json.dumps(asdict(setup.settled({"maintenance": ""})), sort_keys=True)
    tested = work._replace(y=work.y[work.n_train :])
    return {
        **{"rows": work.n_train, "features": work.X.shape[1]},
        "constant": PERCENT * (1.0 - constant_error(tested)),
        **_turns(name, described, wanted)[kind],
    }


def projection_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out accuracies, sizes, maintenance and the shortest times."""
    heads = ["accuracy, %", "constant", "centres", "maintained", "s", "gamma", "lambda"]
    rows = [["data", "system", *heads]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            sizes, often = (np.mean(outcome[key]) for key in ("sizes", "maintained"))
            numbers = [
                measured(outcome["values"]).shown(2),
                f"{outcome['constant']:.2f}",
                *(f"{sizes:,.0f}", f"{often:,.0f}", f"{min(outcome['seconds']):.3f}"),
                *(power(outcome["parameters"][key]) for key in ("gamma", "alpha")),
            ]
            rows.append([data, label, *numbers])
    return rows


def draw_projections(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw accuracy against time: a point an order, a panel by data set."""
    picture = Picture(figsize=(5.4 * len(outcomes), 4.8), layout="constrained")
    panels = picture.subplots(1, len(outcomes), squeeze=False)[0]
    for panel, (data, found) in zip(panels, outcomes.items(), strict=True):
        systems = list(dict.fromkeys(label.rpartition(", ")[0] for label in found))
        for label, outcome in found.items():
            system, _, kind = label.rpartition(", ")
            colour = COLOURS[systems.index(system) % len(COLOURS)]
            look = {"marker": MARKERS[kind], "ls": "", "ms": 5, "alpha": 0.6}
            places = outcome["seconds"], outcome["values"]
            panel.plot(*places, color=colour, label=label, **look)
        panel.set(xscale="log", title=data, xlabel="seconds of a pass")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("test accuracy, %")
    handles = panels[0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    return picture
