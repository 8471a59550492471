"""DualSVRG (Machine Learning 2022): table 1, batch learning, and 2, mistakes online.

The paper sets DualSVRG's step to 1/(76 M), as its theorem suggests, whose conditions
are never met. So there is a second block, "step chosen", with the step from the same
protocol, and a shorter list of alphas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from onkel.reproduce import batch_baselines
from onkel.reproduce.avm import DIAMETERS, baseline, linear
from onkel.reproduce.batch_data import batch
from onkel.reproduce.dualsvrg_convergence import (
    CHOSEN_STEP,
    OF_PLAIN,
    OF_REDUCED,
    PLAIN,
    REDUCED,
    convergence,
    convergence_rows,
    draw_convergence,
    of_either,
)
from onkel.reproduce.dualsvrg_memory import (
    MEMORIES,
    NO_MEMORY,
    OF_NO_MEMORY,
    draw_memory,
    memory,
    memory_rows,
    of_own_or_no_memory,
)
from onkel.reproduce.dualsvrg_rate import draw_gaps, gap_rows, gaps, rows_of, systems
from onkel.reproduce.dualsvrg_sweeps import draw_sweep, sweep, sweep_rows
from onkel.reproduce.online_data import OnlineData, task
from onkel.reproduce.protocol import LINEAR, EstimatorSetup, table
from onkel.reproduce.published import PublishedNumber
from onkel.tune.grids import ALPHAS, GAMMAS

# NOGD's budget; FOGD has four features for each. ijcnn1 is from the AVM paper.
BUDGETS = {
    name: batch_baselines.BUDGETS[name]
    for name in ("w8a", "cod-rna", "covtype", "covtype-2", "nycflights", "ijcnn1")
}
# Data sets that the paper does not have, or not so.
OURS = ("ijcnn1", "covtype-2")
# DualSGD and DualSVRG: D^ = 200 frequencies are 400 features.
SMALL_BUDGET, FEATURES, MEMORY, PERIOD, SMOOTHING = 100, 400, 100, 100, 0.5
MOST_CORES = 1000
ORACLES = {"B": "budget", "C": "coverage", "AM": "always_move"}
# Loss, and 1/(76 M) with the paper's M: 1/smoothing, and 1 (1/4 would do).
LOSSES = {"H": ("smooth_hinge", SMOOTHING / 76), "L": ("log_loss", 1 / 76)}
DUAL_SGD = "DualSGD-Hinge"
VARIANTS = tuple(f"DualSVRG-{loss}-{oracle}" for loss in LOSSES for oracle in ORACLES)
CHOSEN = ", step chosen"
SYSTEMS = (
    *("FOGD", "NOGD", DUAL_SGD, *VARIANTS),
    *(variant + CHOSEN for variant in VARIANTS),
)
STEPS = (SMOOTHING / 76, 0.02, 0.1, 0.5, 2.0)
FEW_ALPHAS = (2.0**-4, 2.0**2, 2.0**8)


def named(data: str, name: str) -> EstimatorSetup:
    """Return the setup of a system for one of our data sets."""
    if name == LINEAR:
        return linear()[LINEAR]
    budget = BUDGETS[data]
    known = baseline(name, str(4 * budget if name == "FOGD" else budget))
    if known is not None:
        return known
    fixed: dict[str, Any] = {"n_components": FEATURES, "budget": SMALL_BUDGET}
    grid: dict[str, Any] = {"gamma": GAMMAS, "alpha": ALPHAS}
    units = {"alpha": "1/n"}
    if name == DUAL_SGD:
        return EstimatorSetup("DualSGDClassifier", fixed, grid, units)
    _, letter, oracle = name.removesuffix(CHOSEN).split("-")
    loss, step = LOSSES[letter]
    fixed |= {
        "loss": loss,
        "smoothing": SMOOTHING,
        "eta0": step,
        "oracle": ORACLES[oracle],
        # theta, which the paper calls a diameter and whose sizes are those of AVM
        "coverage_radius": DIAMETERS[data] / 2,
        "lazy_core": False,  # as in the paper: rows without a loss become cores, too
        "max_core": MOST_CORES,
        "memory_size": MEMORY,
        "snapshot_period": PERIOD,
    }
    if name.endswith(CHOSEN):
        grid = {"eta0": STEPS, "gamma": GAMMAS, "alpha": FEW_ALPHAS}
    return EstimatorSetup("DualSVRGClassifier", fixed, grid, units)


def estimator_for(work: OnlineData, name: str, **parameters: Any) -> Any:
    """Return a system with the settings for a data set; alpha is in units of 1/n."""
    given = {"random_state": 0, **parameters}
    return named(work.name, name).build(work, len(work.y), **given)


def grid_of(work: OnlineData, name: str) -> Mapping[str, Sequence[Any]]:
    """Return the values tried for a system."""
    return named(work.name, name).grid


def setup_of(number: PublishedNumber, name: str) -> EstimatorSetup:
    """Return our setup for a published number."""
    if number.algorithm in ("Perceptron", "OGD"):
        unlimited = baseline(number.algorithm, "")
        assert unlimited is not None
        return unlimited
    return named(name, number.algorithm)


def batch_setup_of(number: PublishedNumber, name: str) -> EstimatorSetup | str:
    """Return our setup for a number of table 1."""
    if number.algorithm in batch_baselines.SEARCH_ROWS:
        return batch_baselines.batch_baseline(number.algorithm, name)
    return named(name, number.algorithm)


def extra(name: str) -> dict[str, EstimatorSetup]:
    """Return setups that the paper does not have, or not on this data set."""
    own = SYSTEMS if name in OURS else SYSTEMS[-len(VARIANTS) :]
    return {**{system: named(name, system) for system in own}, **linear()}


def both(name: str) -> dict[str, EstimatorSetup]:
    """Return DualSVRG-H-B, as published, and DualSGD."""
    return {REDUCED: named(name, REDUCED), PLAIN: named(name, DUAL_SGD)}


def curves(name: str) -> dict[str, EstimatorSetup]:
    """Return both with parameters of either, and DualSVRG with a chosen step."""
    found = {
        f"{system}, {whose}": setup
        for whose in (OF_REDUCED, OF_PLAIN)
        for system, setup in both(name).items()
    }
    return {**found, f"{CHOSEN_STEP}, {OF_REDUCED}": named(name, REDUCED + CHOSEN)}


def steps(name: str, oracle: str = "B") -> dict[str, EstimatorSetup]:
    """Return DualSVRG-H with the paper's step and with a chosen one."""
    system = f"DualSVRG-H-{oracle}"
    return {label: named(name, label) for label in (system, system + CHOSEN)}


def memories(name: str) -> dict[str, EstimatorSetup]:
    """Return DualSGD, and descent with a memory: DualSVRG, a checkpoint at every row.

    The largest memory has the parameters found for m = 1, too.
    """
    setup = named(name, REDUCED + CHOSEN)
    found = {PLAIN: named(name, DUAL_SGD)}
    for size in MEMORIES:
        fixed = {**setup.fixed, "memory_size": size, "snapshot_period": 1}
        label = NO_MEMORY if size == 1 else f"m = {size}"
        found[label] = replace(setup, fixed=fixed)
    return {**found, label + OF_NO_MEMORY: found[label]}


def without_limit(name: str) -> dict[str, EstimatorSetup]:
    """Return DualSVRG-H-C with as many cores as it wants."""
    return {
        label: EstimatorSetup(
            setup.kind, {**setup.fixed, "max_core": None}, setup.grid, setup.units
        )
        for label, setup in steps(name, "C").items()
    }


def _sweep(target: str, setting: str, added: Any) -> Any:
    return table(
        "dualsvrg",
        target,
        load=task,
        measure=partial(sweep, setting=setting),
        extra=added,
        draw=draw_sweep,
        rows=sweep_rows,
    )


TABLES = (
    table("dualsvrg", "table1", load=batch, setup_of=batch_setup_of, extra=extra),
    table("dualsvrg", "table2", load=task, setup_of=setup_of, extra=extra),
    table(
        "dualsvrg",
        "figure2",
        load=task,
        measure=convergence,
        lender=partial(of_either, named=both),
        extra=curves,
        draw=draw_convergence,
        rows=convergence_rows,
    ),
    _sweep("figure3", "memory_size", steps),
    _sweep("figure4", "snapshot_period", steps),
    _sweep("theta", "coverage_radius", without_limit),
    table(
        "dualsvrg",
        "memory",
        load=task,
        measure=memory,
        lender=partial(of_own_or_no_memory, named=memories),
        extra=memories,
        draw=draw_memory,
        rows=memory_rows,
    ),
    table(
        "dualsvrg",
        "theorem2",
        load=rows_of,
        measure=gaps,
        extra=systems,
        draw=draw_gaps,
        rows=gap_rows,
    ),
)
