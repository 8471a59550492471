"""What coverage costs and brings: the trade-off figures of the AVM paper.

    python -m studies.tradeoff --output results/tradeoff

draws, for a9a and cod-rna and AVM with the hinge, the progressive mistake rate and the
size of the model against the diameter delta of the cells (beta = 0), and over the
schedule beta, rho at the paper's delta. gamma and alpha are chosen by the papers'
protocol (see `choosing`) at the paper's delta, and stay.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from onkel.reproduce.avm import DIAMETERS, estimator_for
from onkel.reproduce.choosing import choose, pass_of
from onkel.reproduce.online_data import OnlineData, task
from onkel.tune.grids import ALPHAS, GAMMAS
from studies.convergence import band
from studies.progress import progress

LOSS = "hinge"
# Around the paper's.
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.7, 2.0)
BETAS = tuple(np.linspace(0.0, 10.0, 10).round(2).tolist())
RHOS = tuple(np.linspace(0.5, 1.5, 10).round(2).tolist())
ERROR, SIZE = "#CC6677", "#4477AA"


def in_orders(work: OnlineData, seeds: int, **parameters: Any) -> list[list[float]]:
    """Mistake rates, and sizes, in several orders."""
    rates, sizes = [], []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(work.y))
        model = estimator_for(work, LOSS, **parameters).set_params(
            max_core=None, random_state=seed
        )
        rates.append(100 * pass_of(work, model, order)[0])
        sizes.append(model.model_size_)
    return [rates, sizes]


def measure(name: str, seeds: int, announce: Any) -> dict[str, Any]:
    """All numbers of one data set."""
    work, diameter = task(name), DIAMETERS[name]
    announce(f"{name}: gamma and alpha")
    chosen = choose(
        work,
        lambda **given: estimator_for(
            work, LOSS, coverage_radius=diameter / 2, **given
        ),
        {"gamma": GAMMAS, "alpha": ALPHAS},
        lambda *given: pass_of(*given)[0],
    ).parameters
    diameters = [share * diameter for share in SHARES]
    by_diameter = []
    for delta in diameters:
        announce(f"{name}: delta {delta:.2f}")
        by_diameter.append(in_orders(work, seeds, coverage_radius=delta / 2, **chosen))
    surface = []
    for beta in BETAS:
        announce(f"{name}: beta {beta}")
        scheduled = {**chosen, "coverage_radius": diameter / 2, "approx_beta": beta}
        surface.append(
            [in_orders(work, seeds, **scheduled, approx_rho=rho) for rho in RHOS]
        )
    return {
        "parameters": chosen,
        "diameters": diameters,
        "by_diameter": by_diameter,
        "surface": surface,
    }


def _curves(panel: Any, name: str, outcome: dict[str, Any]) -> None:
    numbers = np.array(outcome["by_diameter"])  # (delta, rate or size, seed)
    diameters = outcome["diameters"]
    right = panel.twinx()
    for axis, values, colour, label in (
        (panel, numbers[:, 0], ERROR, "mistakes, %"),
        (right, numbers[:, 1], SIZE, "centres"),
    ):
        band(axis, diameters, values, colour, marker="o", ms=3)
        axis.set_ylabel(label, color=colour)
        axis.tick_params(axis="y", colors=colour)
    right.set_yscale("log")
    right.yaxis.set_major_formatter(ScalarFormatter())
    right.yaxis.set_minor_locator(NullLocator())
    panel.axvline(DIAMETERS[name], color="grey", lw=1, ls=":")
    panel.set(title=f"{name}: size of the cells", xlabel="diameter delta")
    panel.grid(alpha=0.3)


def _surface(
    figure: Figure, panel: Any, name: str, values: np.ndarray, what: str
) -> None:
    drawn = panel.pcolormesh(RHOS, BETAS, values, cmap="viridis", shading="nearest")
    figure.colorbar(drawn, ax=panel, label=what)
    panel.set(title=f"{name}: schedule", xlabel="rho", ylabel="beta")


def picture(outcomes: dict[str, Any]) -> Figure:
    """Draw one row of panels for each data set."""
    figure = Figure(figsize=(13, 3.8 * len(outcomes)), layout="constrained")
    rows = figure.subplots(len(outcomes), 3, squeeze=False)
    for (left, middle, right), (name, outcome) in zip(
        rows, outcomes.items(), strict=True
    ):
        _curves(left, name, outcome)
        means = np.array(outcome["surface"]).mean(axis=3)  # (beta, rho, rate or size)
        _surface(figure, middle, name, means[:, :, 0], "mistakes, %")
        _surface(figure, right, name, means[:, :, 1], "centres")
    return figure


def save(outcomes: dict[str, Any], folder: Path) -> None:
    """Write the numbers and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tradeoff.json").write_text(json.dumps(outcomes, indent=1))
    picture(outcomes).savefig(folder / "tradeoff.png", dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Draw the figures from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.tradeoff")
    parser.add_argument("--output", type=Path, default=Path("results/tradeoff"))
    parser.add_argument(
        "--data", nargs="+", choices=list(DIAMETERS), default=["a9a", "cod-rna"]
    )
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(argv)
    outcomes: dict[str, Any] = {}
    steps = 1 + len(SHARES) + len(BETAS)
    with progress(steps * len(options.data)) as announce:
        for name in options.data:
            outcomes[name] = measure(name, options.seeds, announce)
            save(outcomes, options.output)
    print(f"Wrote {options.output}/tradeoff.png and tradeoff.json")


if __name__ == "__main__":
    main()
