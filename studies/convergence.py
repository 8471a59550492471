"""How DualSVRG converges, and what its memory and its period do: the paper's figures.

    python -m studies.convergence --output results/convergence

draws, for w8a and cod-rna and the smooth hinge with the budget oracle (DualSVRG-H-B),

- the mean loss of the rows seen so far, each before its update, against the rows, next
  to DualSGD (figure 2): each with its own loss, and both with the hinge;
- mistakes and seconds against the memory m (figure 3) and the period n (figure 4).

The paper compares at the same gamma and alpha, so DualSGD runs with those of DualSVRG,
and with its own. Everything of DualSVRG is drawn for the paper's step and for the
chosen one. Parameters are those of `onkel reproduce dualsvrg/table2`: out of its
outcomes, or chosen here in the same way. Seconds: the fastest run for each value, all
values taking turns, one thread.
"""

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

import onkel
from onkel.measuring.markdown import markdown, spread_of
from onkel.problem import losses
from onkel.reproduce.choosing import choose, pass_of
from onkel.reproduce.dualsvrg import (
    BUDGETS,
    CHOSEN,
    DUAL_SGD,
    MEMORY,
    PERIOD,
    SMOOTHING,
    estimator_for,
    grid_of,
)
from onkel.reproduce.online_data import OnlineData, task
from onkel.reproduce.store import Results, known
from studies.progress import progress

REDUCED, PLAIN = "DualSVRG-H-B", DUAL_SGD
PAPER_STEP, CHOSEN_STEP = "the paper's step", "step chosen"
BY_STEP = {PAPER_STEP: REDUCED, CHOSEN_STEP: REDUCED + CHOSEN}
# Label of a curve: the system, and the one whose parameters it has.
CURVES = {
    f"DualSVRG-H-B, {PAPER_STEP}": (REDUCED, REDUCED),
    f"DualSVRG-H-B, {CHOSEN_STEP}": (REDUCED, REDUCED + CHOSEN),
    "DualSGD, gamma and alpha of DualSVRG": (PLAIN, REDUCED),
    "DualSGD, its own gamma and alpha": (PLAIN, PLAIN),
}
SWEEPS = {
    "memory_size": (10, 20, 50, 100, 200, 500, 1000),
    "snapshot_period": (10, 20, 50, 100, 200, 500, 1000),
}
PAPERS = {"memory_size": MEMORY, "snapshot_period": PERIOD}
SYMBOLS = {"memory_size": "memory m", "snapshot_period": "period n"}
FILES = {"memory_size": "dualsvrg_m.png", "snapshot_period": "dualsvrg_n.png"}
OWN, HINGE = "its own loss", "hinge"
TITLES = {OWN: "each with its own loss", HINGE: "both with the hinge"}
POINTS = 200  # of a curve
FIRST = 200  # rows, before which a mean says little
COLOURS = ("#CC6677", "#332288", "#117733", "#88CCEE")


def parameters_of(work: OnlineData, system: str, results: Results) -> dict[str, Any]:
    """Parameters from earlier results, or chosen now."""
    if (work.name, system) in results:
        return dict(results[work.name, system]["parameters"])
    return choose(
        work,
        lambda **given: estimator_for(work, system, **given),
        grid_of(work, system),
        lambda *given: pass_of(*given)[0],
    ).parameters


def shared(parameters: dict[str, Any], system: str) -> dict[str, Any]:
    """Those that the system has, too."""
    given = ("gamma", "alpha", "eta0") if system == REDUCED else ("gamma", "alpha")
    return {name: parameters[name] for name in given if name in parameters}


def points(rows: int) -> np.ndarray:
    """Numbers of rows at which a curve is drawn, evenly on a logarithmic axis."""
    few = np.geomspace(min(FIRST, rows), rows, POINTS)
    return np.unique(few.round().astype(int))


def objective(
    work: OnlineData, model: Any, order: np.ndarray
) -> dict[str, list[float]]:
    """Mean loss of the rows so far, each before its update, at `points`.

    Under "late", that of the hinge without the first fifth.
    """
    X, y = work.X[order], work.y[order]
    classes = np.unique(y)
    scores = onkel.progressive(model, X, y, classes=classes)
    signs = np.where(y == classes[1], 1.0, -1.0)
    seen = points(len(y))
    curves = {}
    for name, loss in (
        (OWN, losses.make(model.loss, smoothing=SMOOTHING)),
        (HINGE, losses.make("hinge")),
    ):
        values = np.vectorize(partial(losses.value, loss))(scores, signs)
        means = np.cumsum(values) / np.arange(1, len(y) + 1)
        curves[name] = means[seen - 1].tolist()
        if name == HINGE:
            # After a fifth of the rows the start, where steps are longest, is over.
            curves["late"] = [float(values[len(y) // 5 :].mean())]
    return curves


def race(
    work: OnlineData, chosen: dict[str, dict[str, Any]], seeds: int
) -> dict[str, list[dict[str, list[float]]]]:
    """Objectives of all curves, in several orders."""
    found: dict[str, list[dict[str, list[float]]]] = {label: [] for label in CURVES}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(work.y))
        for label, (system, source) in CURVES.items():
            given = shared(chosen[source], system)
            model = estimator_for(work, system, **given, random_state=seed)
            found[label].append(objective(work, model, order))
    return found


def sweep(
    work: OnlineData, chosen: dict[str, dict[str, Any]], setting: str, seeds: int
) -> dict[str, dict[str, list[list[float]]]]:
    """Mistakes in percent, and seconds, by step, value of a setting, and order."""
    values = SWEEPS[setting]
    found: dict[str, dict[str, list[list[float]]]] = {
        label: {"mistakes": [[] for _ in values], "seconds": [[] for _ in values]}
        for label in BY_STEP
    }
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(work.y))
        # Values take turns, so that a busy moment of the machine hits all of them.
        for place, value in enumerate(values):
            for label, source in BY_STEP.items():
                given = shared(chosen[source], REDUCED) | {setting: value}
                model = estimator_for(work, REDUCED, **given, random_state=seed)
                error, seconds = pass_of(work, model, order)
                found[label]["mistakes"][place].append(100 * error)
                found[label]["seconds"][place].append(seconds)
    return found


def measure(
    name: str, results: Results, seeds: int, repetitions: int, announce: Any
) -> dict[str, Any]:
    """All numbers of one data set."""
    work = task(name)
    announce(f"{name}: parameters")
    systems = (REDUCED, REDUCED + CHOSEN, PLAIN)
    chosen = {system: parameters_of(work, system, results) for system in systems}
    announce(f"{name}: objective")
    outcome: dict[str, Any] = {
        "rows": len(work.y),
        "parameters": chosen,
        "objective": race(work, chosen, seeds),
    }
    for setting in SWEEPS:
        announce(f"{name}: {setting}")
        outcome[setting] = sweep(work, chosen, setting, repetitions)
    return outcome


def band(panel: Any, x: Any, values: np.ndarray, colour: str, **style: Any) -> None:
    """Draw the mean over orders (second axis), and their range."""
    panel.plot(x, values.mean(axis=1), color=colour, **style)
    low, high = values.min(axis=1), values.max(axis=1)
    panel.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)


def _plain(axis: Any) -> None:
    """Numbers without exponents on a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _name_curves(figure: Figure, panel: Any) -> None:
    """Put a legend of a panel's curves, which are those of all panels, below."""
    figure.legend(
        *panel.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )


def convergence_picture(outcomes: dict[str, Any]) -> Figure:
    """Draw the objective: a row of panels by data set, a column by loss."""
    figure = Figure(figsize=(11, 3.9 * len(outcomes) + 0.6), layout="constrained")
    rows = figure.subplots(len(outcomes), 2, squeeze=False, sharey="row")
    for panels, (name, outcome) in zip(rows, outcomes.items(), strict=True):
        seen = points(outcome["rows"])
        for panel, loss in zip(panels, (OWN, HINGE), strict=True):
            for colour, label in zip(COLOURS, CURVES, strict=True):
                runs = [run[loss] for run in outcome["objective"][label]]
                band(panel, seen, np.array(runs).T, colour, label=label)
            panel.set(xscale="log", yscale="log", xlabel="rows seen")
            panel.set_title(f"{name}: {TITLES[loss]}")
            panel.grid(alpha=0.3)
            _plain(panel.xaxis)
            _plain(panel.yaxis)
        panels[0].set_ylabel("mean loss so far")
    _name_curves(figure, rows[0][0])
    return figure


def sweep_picture(outcomes: dict[str, Any], setting: str) -> Figure:
    """Draw mistakes and seconds against a setting, a row of panels by data set."""
    figure = Figure(figsize=(11, 3.5 * len(outcomes) + 0.4), layout="constrained")
    rows = figure.subplots(len(outcomes), 2, squeeze=False, sharex=True)
    values = SWEEPS[setting]
    for panels, (name, outcome) in zip(rows, outcomes.items(), strict=True):
        left, right = panels
        for colour, (label, found) in zip(
            COLOURS, outcome[setting].items(), strict=False
        ):
            mistakes = np.array(found["mistakes"])
            band(left, values, mistakes, colour, marker="o", ms=3, label=label)
            fastest = np.min(found["seconds"], axis=1)
            right.plot(values, fastest, color=colour, marker="o", ms=3)
        left.set(title=f"{name}: mistakes", ylabel="mistakes, %")
        right.set(title=f"{name}: time for a pass", ylabel="seconds")
        for panel in panels:
            panel.set_xscale("log")
            panel.set_ylim(0, 1.1 * panel.dataLim.ymax)
            panel.axvline(PAPERS[setting], color="grey", lw=1, ls=":")
            panel.grid(alpha=0.3)
            _plain(panel.xaxis)
    for panel in rows[-1]:
        panel.set_xlabel(SYMBOLS[setting])
    _name_curves(figure, rows[0][0])
    return figure


def _objective_rows(name: str, outcome: dict[str, Any]) -> list[list[str]]:
    rows = []
    for label, runs in outcome["objective"].items():
        ends = [[run[loss][-1] for run in runs] for loss in (OWN, HINGE)]
        late = [run["late"][0] for run in runs]
        rows.append([name, label, *(spread_of(values, 4) for values in (*ends, late))])
    return rows


def _sweep_rows(name: str, outcome: dict[str, Any], setting: str) -> list[list[str]]:
    rows = []
    for label, found in outcome[setting].items():
        for kind, summary, digits in (("mistakes", np.mean, 2), ("seconds", np.min, 3)):
            numbers = [f"{summary(runs):.{digits}f}" for runs in found[kind]]
            unit = "mistakes, %" if kind == "mistakes" else "s"
            rows.append([name, label, unit, *numbers])
    return rows


def table(outcomes: dict[str, Any]) -> str:
    """Write the numbers of the pictures as tables in Markdown."""
    heads = ["data", "system", OWN, HINGE, "hinge, without the first fifth"]
    every = list(outcomes.items())
    lines = markdown(heads, (row for pair in every for row in _objective_rows(*pair)))
    for setting, values in SWEEPS.items():
        heads = ["data", SYMBOLS[setting], "", *map(str, values)]
        rows = (row for pair in every for row in _sweep_rows(*pair, setting))
        lines += markdown(heads, rows)
    return "\n".join(lines)


def save(outcomes: dict[str, Any], folder: Path) -> None:
    """Write numbers, tables and pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "convergence.json").write_text(json.dumps(outcomes, indent=1))
    (folder / "convergence.md").write_text(table(outcomes))
    picture = convergence_picture(outcomes)
    picture.savefig(folder / "dualsvrg_convergence.png", dpi=110)
    for setting, name in FILES.items():
        sweep_picture(outcomes, setting).savefig(folder / name, dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Draw the figures from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.convergence")
    parser.add_argument("--output", type=Path, default=Path("results/convergence"))
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("docs/reproduce/dualsvrg_table2.json"),
        help="where parameters may have been chosen already",
    )
    parser.add_argument(
        "--data", nargs="+", choices=list(BUDGETS), default=["w8a", "cod-rna"]
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=10)
    options = parser.parse_args(argv)
    results = known(options.results)
    outcomes: dict[str, Any] = {}
    start = time.perf_counter()
    with progress((2 + len(SWEEPS)) * len(options.data)) as announce:
        for name in options.data:
            outcomes[name] = measure(
                name, results, options.seeds, options.repetitions, announce
            )
            save(outcomes, options.output)
    print((options.output / "convergence.md").read_text())
    print(f"{time.perf_counter() - start:.0f} s; pictures in {options.output}")


if __name__ == "__main__":
    main()
