"""Who runs on the streams of `studies.streaming`, and with what parameters."""

import inspect
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import onkel
from onkel.measuring.machine import machine
from onkel.measuring.records import Record
from onkel.race import bandwidth
from onkel.race.contestants import library
from onkel.race.problem import Problem
from onkel.reproduce.choosing import constant_error, pass_of
from onkel.tune import grids
from onkel.tune.grid_search import best, grid_search
from studies.streaming_references import REFERENCES
from studies.streaming_setup import Setup
from studies.streaming_streams import Stream

SEARCHED = 10_000  # first rows, on which parameters are chosen
NEWCOMERS = ("KernelClassifier", "KernelRegressor")
# What the race sets so that all cost the same, or that makes a variant.
SIZES = ("budget", "max_core", "n_components", "merge_size", "maintenance_rate")
VARIANTS = ("sampling", "variant", "aggressive")
# Parameters of the classes themselves, those of the race, and those searched for.
DEFAULTS, RACE, CHOSEN = "defaults", "race", "chosen"


def newcomer(problem: Problem) -> str:
    """Name of the system without knobs."""
    return f"Kernel{problem.task}"


def rivals(setup: Setup) -> list[str]:
    """Names of the race's contestants, with a budget and with partial_fit."""
    starting = library(setup.problem, setup.budget, setup.gamma).entrants
    # The race may know the newcomer, too, under a name of its own; and races of few
    # rows those whose size has no bounds.
    return [
        one.name
        for one in starting
        if one.budget and not one.model.startswith(NEWCOMERS)
    ]


def raced(system: str, setup: Setup, **own: Any) -> Any:
    """Return a system as the race would enter it, unfitted; its own parameters win.

    On gamma the radius of cells depends, too.
    """
    gamma = own.get("gamma", setup.gamma)
    for entrant in library(setup.problem, setup.budget, gamma).entrants:
        if entrant.name == system:
            model: Any = entrant.make(setup.seed)
            return model.model.set_params(**own)
    raise ValueError(f"no system {system!r}; there are {', '.join(rivals(setup))}")


def plain(system: str, setup: Setup) -> Any:
    """Return a system with nothing set but its size, unfitted."""
    if system in NEWCOMERS:
        return getattr(onkel, system)(budget=setup.budget, random_state=setup.seed)
    model = raced(system, setup)
    kept = {k: v for k, v in model.get_params().items() if k in SIZES + VARIANTS}
    return type(model)(random_state=setup.seed, **kept)


def everyone(setup: Setup) -> list[str]:
    """Names of all who can learn the problem, the references last."""
    return [newcomer(setup.problem), *rivals(setup), *REFERENCES]


def starters(setup: Setup, systems: Sequence[str] | None) -> list[str]:
    """Names of all, or of those wanted that can learn the problem.

    A name that means nothing in any problem is refused.
    """
    there = everyone(setup)
    if systems is None:
        return there
    kinds = (setup.problem._replace(classes=classes) for classes in (0, 2))
    known = {name for kind in kinds for name in everyone(setup._replace(problem=kind))}
    if unknown := [name for name in systems if name not in known]:
        raise ValueError(
            f"no system is called {', '.join(unknown)}; there are: "
            + ", ".join(sorted(known))
        )
    return [name for name in there if name in systems]


def grid_of(system: str, setup: Setup) -> dict[str, list[float]]:
    """Values to try: gamma and the step, whatever the system calls it.

    The race's own values come first, so that they win ties.
    """
    model, gamma = raced(system, setup), setup.gamma
    known = inspect.signature(type(model)).parameters
    values: dict[str, Iterable[float]] = {
        "gamma": (gamma, gamma / bandwidth.STEP, gamma * bandwidth.STEP)
    }
    if "eta0" in known:
        # Two papers, whose values lie between each other's.
        values["eta0"] = (*grids.BOGD_ETAS, *grids.ETAS)
    elif "alpha" in known:
        values["alpha"] = [alpha / setup.problem.rows for alpha in grids.ALPHAS]
    if "C" in known:
        values["C"] = grids.CS
    if "max_coef" in known:
        values["max_coef"] = grids.BOGD_MAX_COEFS
    return {
        name: list(dict.fromkeys([getattr(model, name), *tried]))
        for name, tried in values.items()
    }


def search(data: Stream, system: str, setup: Setup) -> Record:
    """Choose parameters by the progressive error on the first rows of the stream."""
    rows = np.arange(min(SEARCHED, setup.problem.rows))

    def make(**given: Any) -> Any:
        return raced(system, setup, **given)

    def error(model: Any, order: np.ndarray) -> float:
        return pass_of(data.scaled, model, order)[0]

    start = time.process_time()
    with threadpool_limits(1), np.errstate(all="ignore"):
        tried = list(grid_search(grid_of(system, setup), make, [rows], error))
    found = best(tried)
    return {
        "parameters": found.parameters,
        "error": found.error,
        "tried": len(tried),
        "seconds": time.process_time() - start,
    }


def surroundings(data: Stream, budget: int) -> Record:
    """The race's gamma, and what it takes no learning to reach."""
    X, y = data.scaled.X[: bandwidth.ROWS], data.scaled.y
    problem = data.problem
    with threadpool_limits(1), np.errstate(all="ignore"):
        trials = bandwidth.tried(X, y[: bandwidth.ROWS], problem, budget)
    before = problem.errors(y[:-1], y[1:]).mean()
    return {
        "rows": problem.rows,
        "features": problem.features,
        "classes": problem.classes,
        "gamma": bandwidth.best(trials).gamma,
        "constant": constant_error(data.scaled),
        "last": float(np.sqrt(before) if problem.is_regression else before),
        "machine": machine(),
    }
