"""The streams of `studies.streaming`, and who runs on them with what parameters."""

import inspect
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import onkel
from onkel.data.catalogue import load
from onkel.measuring.machine import machine
from onkel.measuring.records import Record
from onkel.race import bandwidth
from onkel.race.contestants import library
from onkel.race.problem import Problem
from onkel.reproduce.choosing import constant_error, pass_of
from onkel.reproduce.online_data import OnlineData
from onkel.tune import grids
from onkel.tune.grid_search import best, grid_search

# The file of cod-rna is sorted by label but for five places, and whoever repeats the
# last label is right: so its rows are run in a random order, too.
SHUFFLED = "-shuffled"
STREAMS = ("elec2", "ijcnn1", "cod-rna", "cod-rna" + SHUFFLED)
BUDGET, SEED = 500, 0
SEARCHED = 10_000  # first rows, on which parameters are chosen
NEW = "KernelClassifier"
# What the race sets so that all cost the same, or that makes a variant.
SIZES = ("budget", "max_core", "n_components", "merge_size", "maintenance_rate")
VARIANTS = ("sampling", "variant", "aggressive")


class Stream(NamedTuple):
    """A stream: rows as they are, and as the rivals see them."""

    raw: OnlineData
    scaled: OnlineData

    @property
    def problem(self) -> Problem:
        """What is learnt, as the race describes it."""
        rows, features = self.raw.X.shape
        return Problem(rows, features, classes=2)


def stream(name: str) -> Stream:
    """Load a stream in the order of its file, or shuffled; labels become 0 and 1."""
    X, y = load(name.removesuffix(SHUFFLED))
    X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    _, codes = np.unique(y, return_inverse=True)
    if name.endswith(SHUFFLED):
        order = np.random.default_rng(SEED).permutation(len(codes))
        X, codes = X[order], codes[order]
    raw = OnlineData(name, X, codes, False, len(codes))
    scaled = StandardScaler().fit_transform(X.astype(np.float64)).astype(np.float32)
    return Stream(raw, raw._replace(X=scaled))


def rivals(problem: Problem) -> list[str]:
    """Names of the race's contestants, with a budget and with partial_fit."""
    starting = library(problem, BUDGET, gamma=1.0).entrants
    # The race may know the newcomer, too, under a name of its own.
    return [one.name for one in starting if not one.model.startswith(NEW + "(")]


def raced(system: str, problem: Problem, gamma: float, **own: Any) -> Any:
    """Return a system as the race would enter it, unfitted; its own parameters win.

    On gamma the radius of cells depends, too.
    """
    for entrant in library(problem, BUDGET, gamma).entrants:
        if entrant.name == system:
            model: Any = entrant.make(SEED)
            return model.model.set_params(**own)
    raise ValueError(f"no system {system!r}; there are {', '.join(rivals(problem))}")


def plain(system: str, problem: Problem) -> Any:
    """Return a system with nothing set but its size, unfitted."""
    if system == NEW:
        return getattr(onkel, NEW)(budget=BUDGET, random_state=SEED)
    model = raced(system, problem, gamma=1.0)
    kept = {k: v for k, v in model.get_params().items() if k in SIZES + VARIANTS}
    return type(model)(random_state=SEED, **kept)


def starters(problem: Problem, systems: Sequence[str] | None) -> list[str]:
    """Names of all, or of those wanted, which must be there."""
    everyone = [*([NEW] if hasattr(onkel, NEW) else []), *rivals(problem)]
    if systems is None:
        return everyone
    if unknown := [name for name in systems if name not in everyone]:
        raise ValueError(
            f"no system is called {', '.join(unknown)}; there are: "
            + ", ".join(everyone)
        )
    return list(systems)


def grid_of(system: str, problem: Problem, gamma: float) -> dict[str, list[float]]:
    """Values to try: gamma and the step, whatever the system calls it.

    The race's own values come first, so that they win ties.
    """
    model = raced(system, problem, gamma)
    known = inspect.signature(type(model)).parameters
    values: dict[str, Iterable[float]] = {
        "gamma": (gamma, gamma / bandwidth.STEP, gamma * bandwidth.STEP)
    }
    if "eta0" in known:
        # Two papers, whose values lie between each other's.
        values["eta0"] = (*grids.BOGD_ETAS, *grids.ETAS)
    elif "alpha" in known:
        values["alpha"] = [alpha / problem.rows for alpha in grids.ALPHAS]
    if "C" in known:
        values["C"] = grids.CS
    if "max_coef" in known:
        values["max_coef"] = grids.BOGD_MAX_COEFS
    return {
        name: list(dict.fromkeys([getattr(model, name), *tried]))
        for name, tried in values.items()
    }


def search(data: Stream, system: str, gamma: float) -> Record:
    """Choose parameters by the progressive error on the first rows of the stream."""
    problem, rows = data.problem, np.arange(min(SEARCHED, data.problem.rows))

    def make(**given: Any) -> Any:
        return raced(system, problem, **given)

    def error(model: Any, order: np.ndarray) -> float:
        return pass_of(data.scaled, model, order)[0]

    start = time.process_time()
    with threadpool_limits(1):
        tried = list(grid_search(grid_of(system, problem, gamma), make, [rows], error))
    found = best(tried)
    return {
        "parameters": found.parameters,
        "error": found.error,
        "tried": len(tried),
        "seconds": time.process_time() - start,
    }


def surroundings(data: Stream) -> Record:
    """The race's gamma, and what it takes no learning to reach."""
    X, y = data.scaled.X[: bandwidth.ROWS], data.scaled.y
    problem = data.problem
    with threadpool_limits(1):
        trials = bandwidth.tried(X, y[: bandwidth.ROWS], problem, BUDGET)
    return {
        "rows": problem.rows,
        "features": problem.features,
        "gamma": bandwidth.best(trials).gamma,
        "majority": constant_error(data.raw),
        # The first row has no row before it: a mistake.
        "last label": float((1 + np.count_nonzero(y[1:] != y[:-1])) / len(y)),
        "machine": machine(),
    }
