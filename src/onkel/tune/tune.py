"""Tune: parameters of a system for a data set, found on a part of its rows.

Two stages. First gamma by itself: the squared distances of the rows to some landmarks
are computed once, serve all gammas, and for each of them one factorisation serves all
penalties of a ridge regression on the landmarks' kernel values. What errs least on
rows held out is a good gamma for any method with that kernel, at the price of one pass.

Then the system itself, over everything it has to be told, by the error on rows held
out: with optuna's search around that gamma, or with the whole grid of a paper.
"""

import inspect
import itertools
import json
import math
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import threadpool_limits

import onkel
from onkel.tune import grids as values

HELD_OUT, SPLITS = 0.25, 3
LANDMARKS = 300
# Times 1 over the median of the squared distances.
SCREENED = tuple(2.0**k for k in range(-8, 9))
RIDGES = tuple(10.0**k for k in range(-6, 1))
# How far around the screened gamma the search goes, as a factor.
AROUND = 16.0


class Tried(NamedTuple):
    """Parameters, and their error on rows held out."""

    parameters: dict[str, Any]
    error: float  # share of mistakes, or root mean squared error; inf if it failed
    spread: float  # standard deviation over the splits


class Found(NamedTuple):
    """What a search has found."""

    best: Tried
    tested: list[Tried]  # in the order of the search
    screened: dict[float, float]  # error of ridge regression by gamma


class Sample(NamedTuple):
    """Rows to search with."""

    X: Any
    y: np.ndarray
    is_regression: bool

    def error(self, predicted: np.ndarray, truth: np.ndarray) -> float:
        """Share of mistakes, or root mean squared error."""
        if self.is_regression:
            return float(np.sqrt(np.mean((predicted - truth) ** 2)))
        return float(np.mean(predicted != truth))

    def splits(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to learn and rows to test, several times."""
        rng = np.random.default_rng(seed)
        for _ in range(SPLITS):
            rows = rng.permutation(len(self.y))
            yield np.split(rows, [round((1.0 - HELD_OUT) * len(rows))])  # type: ignore[misc]


def class_of(system: str, is_regression: bool) -> Any:
    """Find the estimator of a system's name, whatever its case and hyphens.

    Examples
    --------
    >>> class_of("kernel-sgd", is_regression=False).__name__
    'KernelSGDClassifier'
    """
    ending = "Regressor" if is_regression else "Classifier"
    systems = {
        name.removesuffix(ending).lower(): name
        for name in onkel.__all__
        if name.endswith(ending)
    }
    key = system.lower().replace("-", "").replace("_", "")
    if key not in systems:
        task = "regression" if is_regression else "classification"
        known = ", ".join(sorted(systems))
        raise ValueError(f"no system {system!r} for {task}; there are {known}")
    return getattr(onkel, systems[key])


def accepted(system: str, is_regression: bool, **given: Any) -> dict[str, Any]:
    """Those of the parameters that the system has."""
    known = inspect.signature(class_of(system, is_regression)).parameters
    return {name: value for name, value in given.items() if name in known}


# ---- the first stage: gamma ----------------------------------------------------------


# On matrices so small threads mostly wait: on a busy machine, for minutes.
@threadpool_limits.wrap(limits=1)
def screen(sample: Sample, seed: int = 0) -> dict[float, float]:
    """Error of kernel ridge regression on landmarks, by gamma.

    Parameters
    ----------
    sample
        The rows.
    seed
        Of the landmarks and the split.

    Returns
    -------
    errors
        By gamma, for the best penalty each.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> sample = Sample(*make_moons(400, noise=0.1, random_state=0), False)
    >>> errors = screen(sample)
    >>> min(errors.values()) < 0.03 < max(errors.values())
    True
    """
    learnt, tested = next(sample.splits(seed))
    landmarks = sample.X[learnt[:LANDMARKS]]
    # The only pass over the features.
    squared = euclidean_distances(sample.X, landmarks, squared=True).astype(np.float64)
    median = float(np.median(squared[tested]))
    if median <= 0.0:
        return {1.0: math.nan}
    targets = _targets(sample)
    errors = {}
    for gamma in (factor / median for factor in SCREENED):
        kernel = np.exp(-gamma * squared)
        # Features whose inner products are the kernel's, on the landmarks.
        values, vectors = scipy.linalg.eigh(kernel[learnt[:LANDMARKS]])
        kept = values > 1e-10 * values[-1]
        features = kernel @ (vectors[:, kept] / np.sqrt(values[kept]))
        learnt_features = features[learnt]
        spectrum, axes = scipy.linalg.eigh(learnt_features.T @ learnt_features)
        turned = axes.T @ (learnt_features.T @ targets[learnt])
        tested_features = features[tested] @ axes
        errors[gamma] = min(
            sample.error(
                _decided(sample, tested_features @ (turned / shrunk[:, np.newaxis])),
                sample.y[tested],
            )
            for shrunk in (spectrum + ridge * len(learnt) for ridge in RIDGES)
        )
    return errors


def _targets(sample: Sample) -> np.ndarray:
    """What ridge regression is to meet, a column an output."""
    if sample.is_regression:
        return sample.y[:, np.newaxis] - sample.y.mean()
    return np.where(sample.y[:, np.newaxis] == np.unique(sample.y), 1.0, -1.0)


def _decided(sample: Sample, scores: np.ndarray) -> np.ndarray:
    if sample.is_regression:
        return scores[:, 0] + sample.y.mean()
    return np.unique(sample.y)[scores.argmax(axis=1)]


# ---- the second stage: the system ----------------------------------------------------


def held_out(
    sample: Sample, make: Callable[[], Any], seed: int = 0
) -> tuple[float, float]:
    """Mean and spread of a system's error on rows held out."""
    errors = []
    for learnt, tested in sample.splits(seed):
        model = make()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(sample.X[learnt], sample.y[learnt])
        except ValueError as failure:
            if "overflow" in str(failure):
                return math.inf, 0.0  # steps too long for numbers: never the best
            raise
        errors.append(sample.error(model.predict(sample.X[tested]), sample.y[tested]))
    return float(np.mean(errors)), float(np.std(errors, ddof=1))


def radii_of(sample: Sample) -> tuple[float, float]:
    """Mean and standard deviation of the distances of rows."""
    some = sample.X[:1000]
    distances = euclidean_distances(some)[np.triu_indices(some.shape[0], 1)]
    return float(distances.mean()), float(distances.std())


def grids(sample: Sample) -> dict[str, dict[str, Sequence[float]]]:
    """The grids of the papers, by paper; what depends on n is for these rows."""
    n = round((1.0 - HELD_OUT) * len(sample.y))
    mean, deviation = radii_of(sample)
    # "Twice the mean distance, varied within twice its deviation" is a diameter.
    radii = [mean + k * deviation for k in (-2, -1.5, -1, -0.5, 0.0)]
    online: dict[str, Sequence[float]] = {
        "gamma": values.GAMMAS,
        "alpha": [alpha / n for alpha in values.ALPHAS],
        "C": values.CS,
        "eta0": values.ETAS,
        "coverage_radius": [radius for radius in radii if radius > 0.0],
    }
    return {
        "avm": online,
        "dualsvrg": online,
        "nbsgd": {"gamma": values.NBSGD, "alpha": values.NBSGD},
        "bogd": {
            "gamma": (values.BOGD_GAMMA,),
            "alpha": [alpha / n**2 for alpha in values.BOGD_ALPHAS],
            "eta0": values.BOGD_ETAS,
            "max_coef": values.BOGD_MAX_COEFS,
        },
        "bsca": {"gamma": values.BSCA_GAMMAS, "C": values.BSCA_CS},
    }


def ranges(sample: Sample, gamma: float) -> dict[str, tuple[float, float]]:
    """Where optuna looks, on a logarithmic scale."""
    n = len(sample.y)
    mean, _ = radii_of(sample)
    return {
        "gamma": (gamma / AROUND, gamma * AROUND),
        "alpha": (2.0**-4 / n, 2.0**12 / n),
        "C": (2.0**-5, 2.0**15),
        "eta0": (2.0**-10, 2.0**3),
        "coverage_radius": (mean / 32.0, mean),
        "projection_threshold": (0.01, 1.0),
    }


def tune(
    sample: Sample,
    system: str,
    preset: str = "optuna",
    trials: int = 40,
    seed: int = 0,
    fixed: dict[str, Any] | None = None,
    announce: Callable[[int, int], None] = lambda done, total: None,
) -> Found:
    """Search for parameters.

    Parameters
    ----------
    sample
        The rows to search with, in random order.
    system
        Name, for example "bsgd".
    preset
        "optuna", or a paper, whose grid is tried: avm, dualsvrg, nbsgd, bogd, bsca.
    trials
        Of optuna.
    seed
        Of everything random.
    fixed
        Parameters that are given, not searched for.
    announce
        Called with the trials done and their number.

    Returns
    -------
    found
        The best first; on ties the earlier.
    """
    given = fixed or {}
    cls = class_of(system, sample.is_regression)
    known = inspect.signature(cls).parameters
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise ValueError(
            f"{system} has no parameter {unknown[0]!r}, only {', '.join(known)}"
        )
    common = given | accepted(system, sample.is_regression, random_state=seed)
    # Constant-rate systems shrink by alpha too, by default not at all.
    left_alone = given.keys() | ({"alpha"} if "eta0" in known else set())
    tested: list[Tried] = []

    def run(parameters: dict[str, Any], total: int) -> float:
        error, spread = held_out(sample, partial(cls, **common | parameters), seed)
        tested.append(Tried(parameters, error, spread))
        announce(len(tested), total)
        return error

    screened: dict[float, float] = {}
    if preset == "optuna":
        screened = screen(sample, seed)
        start = min(screened, key=lambda gamma: (screened[gamma], gamma))
        limits = {
            name: limit
            for name, limit in ranges(sample, start).items()
            if name in known and name not in left_alone
        }
        _with_optuna(run, limits, start, trials, seed)
    else:
        presets = grids(sample)
        if preset not in presets:
            raise ValueError(
                f"no preset {preset!r}; there are optuna, {', '.join(presets)}"
            )
        grid = {
            k: v for k, v in presets[preset].items() if k in known and k not in given
        }
        if "eta0" in known and preset != "bogd":
            grid.pop("alpha", None)
        combinations = list(itertools.product(*grid.values()))
        for chosen in combinations:
            run(dict(zip(grid, chosen, strict=True)), len(combinations))
    best = min(tested, key=lambda trial: trial.error)
    if not math.isfinite(best.error):
        raise ValueError(
            f"{system} overflowed with all parameters that were tried: scale the "
            "features, or give it a smaller eta0 or a larger alpha yourself"
        )
    return Found(best, tested, screened)


def _with_optuna(
    run: Callable[[dict[str, Any], int], float],
    limits: dict[str, tuple[float, float]],
    gamma: float,
    trials: int,
    seed: int,
) -> None:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            "the search is optuna's, which is not installed with onkel itself: "
            'pip install "onkel[cli]", or take the grid of a paper as preset'
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=trials // 3 + 1)
    study = optuna.create_study(sampler=sampler)
    middle = {name: math.sqrt(low * high) for name, (low, high) in limits.items()}
    if "gamma" in limits:
        middle["gamma"] = gamma
    study.enqueue_trial(middle)

    def objective(trial: Any) -> float:
        parameters = {
            name: trial.suggest_float(name, low, high, log=True)
            for name, (low, high) in limits.items()
        }
        # A trial without a number would end the study.
        return min(run(parameters, trials), 1e300)

    study.optimize(objective, n_trials=trials)


def smallest_budget(
    sample: Sample,
    system: str,
    parameters: dict[str, Any],
    budgets: Sequence[int],
    seed: int = 0,
) -> tuple[int, list[Tried]]:
    """Smallest budget whose error is within one spread of the best one's."""
    cls = class_of(system, sample.is_regression)
    if "budget" not in inspect.signature(cls).parameters:
        raise ValueError(f"{system} has no budget")
    common = accepted(system, sample.is_regression, random_state=seed)
    tested = []
    for budget in sorted(budgets):
        given = parameters | {"budget": budget}
        error, spread = held_out(sample, partial(cls, **common | given), seed)
        tested.append(Tried(given, error, spread))
    best = min(tested, key=lambda trial: trial.error)
    enough = next(t for t in tested if t.error <= best.error + best.spread)
    return enough.parameters["budget"], tested


def command_line(data: Sequence[str], system: str, parameters: dict[str, Any]) -> str:
    """Return the command that fits the system with these parameters.

    Examples
    --------
    >>> command_line(["my data.csv", "--target", "price"], "bsgd", {"gamma": 0.5})
    "onkel fit 'my data.csv' --target price --system bsgd -p gamma=0.5"
    """
    words = ["onkel", "fit", *data, "--system", system]
    for name, value in parameters.items():
        number = f"{value:.6g}" if isinstance(value, float) else json.dumps(value)
        words += ["-p", f"{name}={number}"]
    return shlex.join(words)
