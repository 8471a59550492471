"""Tune: parameters of a system for a data set, found on a part of its rows.

Two stages. First gamma by itself (`screening`). Then the system, over everything it has
to be told, by the error on rows held out: with optuna's search around that gamma, or
with the whole grid of a paper.
"""

import inspect
import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onkel.estimators._registry import systems
from onkel.tune import devices, grids
from onkel.tune.grid_search import Grid, Tried, best, combinations, judged, tried
from onkel.tune.sample import SPLITS, Sample
from onkel.tune.screening import screen
from onkel.tune.side_by_side import predictions

# How far around the screened gamma the search goes, as a factor.
AROUND = 16.0
OPTUNA = "optuna"  # the preset that is no paper's grid

Announce = Callable[[int], None]  # called with the number of trials that are done
T = TypeVar("T")


class Found(NamedTuple):
    """What a search has found."""

    best: Tried
    tested: list[Tried]  # in the order of the search
    screened: dict[float, float]  # error of ridge regression by gamma


def class_of(system: str, is_regression: bool) -> Any:
    """Find the estimator of a system's name, whatever its case and hyphens.

    Examples
    --------
    >>> class_of("kernel-sgd", is_regression=False).__name__
    'KernelSGDClassifier'
    """
    ending = "Regressor" if is_regression else "Classifier"
    found = {
        name.removesuffix(ending).lower(): cls for name, cls in systems(ending).items()
    }
    key = system.lower().replace("-", "").replace("_", "")
    if key not in found:
        task = "regression" if is_regression else "classification"
        known = ", ".join(sorted(found))
        raise ValueError(f"no system {system!r} for {task}; there are {known}")
    return found[key]


def accepted(system: str, is_regression: bool, **given: Any) -> dict[str, Any]:
    """Those of the parameters that the system has."""
    known = inspect.signature(class_of(system, is_regression)).parameters
    return {name: value for name, value in given.items() if name in known}


@dataclass(frozen=True)
class Tuning:
    """A system whose parameters are wanted, and what it is tried with."""

    sample: Sample  # rows in random order
    system: str  # name, for example "bsgd"
    seed: int = 0  # of everything random
    fixed: dict[str, Any] = field(default_factory=dict)  # given, not searched for
    device: str = devices.AUTO  # "cuda": a GPU learns with all parameters at once

    def __post_init__(self) -> None:
        if unknown := sorted(self.fixed.keys() - self.known):
            raise ValueError(
                f"{self.system} has no parameter {unknown[0]!r}, only "
                f"{', '.join(self.known)}"
            )

    @property
    def known(self) -> Sequence[str]:
        """Names of all parameters of the system."""
        return list(inspect.signature(self._class).parameters)

    @property
    def _class(self) -> Any:
        return class_of(self.system, self.sample.is_regression)

    def make(self, **parameters: Any) -> Any:
        """Return the system, unfitted."""
        seeded = {"random_state": self.seed} if "random_state" in self.known else {}
        return self._class(**self.fixed | seeded | parameters)

    def sought(self, values: Mapping[str, T], with_alpha: bool = False) -> dict[str, T]:
        """Return the values of what the system has and nobody has given.

        Constant-rate systems shrink by alpha too, by default not at all: so not theirs,
        unless it is asked for.
        """
        left_alone = set(self.fixed)
        if "eta0" in self.known and not with_alpha:
            left_alone.add("alpha")
        wanted = set(self.known) - left_alone
        return {name: value for name, value in values.items() if name in wanted}

    def tried(self, parameters: dict[str, Any]) -> Tried:
        """Try some parameters on rows held out."""
        splits = self.sample.splits(self.seed)
        return tried(parameters, self.make, splits, self.sample.held_out)

    def all_tried(self, several: Sequence[dict[str, Any]]) -> Iterator[Tried]:
        """Try several combinations, none of which depends on another's error."""
        rows = len(several) * SPLITS * self.sample.learnt_rows
        found = devices.carry_out(self.device, rows, lambda: self._at_once(several))
        yield from map(self.tried, several) if found is None else found

    def _at_once(self, several: Sequence[dict[str, Any]]) -> list[Tried]:
        """Try several combinations on a GPU, a split after the other."""
        errors: list[list[float]] = [[] for _ in several]
        for learnt, tested in self.sample.splits(self.seed):
            rows, truth = np.concatenate([learnt, tested]), self.sample.y[tested]
            models = [self.make(**parameters) for parameters in several]
            X, y = self.sample.X[rows], self.sample.y[rows]
            for own, predicted in zip(
                errors, predictions(models, X, y, len(learnt)), strict=True
            ):
                if predicted is None:  # it overflowed
                    own.append(math.inf)
                else:
                    own.append(self.sample.error(predicted, truth))
        return [judged(*one) for one in zip(several, errors, strict=True)]


def ranges(sample: Sample, gamma: float) -> dict[str, tuple[float, float]]:
    """Where optuna looks, on a logarithmic scale."""
    n = len(sample.y)
    mean, _ = sample.distances
    return {
        "gamma": (gamma / AROUND, gamma * AROUND),
        "alpha": (2.0**-4 / n, 2.0**12 / n),
        "C": (2.0**-5, 2.0**15),
        "eta0": (2.0**-10, 2.0**3),
        "coverage_radius": (mean / 32.0, mean),
        "projection_threshold": (0.01, 1.0),
    }


def tune(
    tuning: Tuning,
    preset: str = OPTUNA,
    trials: int = 40,
    announce: Announce = lambda done: None,
) -> Found:
    """Search for parameters; of those that err least the earliest are the best.

    The preset is "optuna", with so many trials, or a paper, whose grid is tried: avm,
    dualsvrg, nbsgd, bogd, bsca.
    """
    screened: dict[float, float] = {}
    if preset == OPTUNA:
        screened = screen(tuning.sample, tuning.seed)
        search = _with_optuna(tuning, screened, trials)
    else:
        search = tuning.all_tried(list(combinations(_paper_grid(tuning, preset))))
    tested = []
    for one in search:
        tested.append(one)
        announce(len(tested))
    found = best(tested)
    if not math.isfinite(found.error):
        raise ValueError(
            f"{tuning.system} overflowed with all parameters that were tried: scale "
            "the features, or give it a smaller eta0 or a larger alpha yourself"
        )
    return Found(found, tested, screened)


def _paper_grid(tuning: Tuning, preset: str) -> Grid:
    """Return the values of a paper for what the system has and nobody has given."""
    presets = grids.of_papers(tuning.sample)
    if preset not in presets:
        raise ValueError(
            f"no preset {preset!r}; there are {OPTUNA}, {', '.join(presets)}"
        )
    return tuning.sought(presets[preset], with_alpha=preset == "bogd")


def _with_optuna(
    tuning: Tuning, screened: dict[float, float], trials: int
) -> Iterator[Tried]:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            "the search is optuna's, which is not installed with onkel itself: "
            'pip install "onkel[cli]", or take the grid of a paper as preset'
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    gamma = min(screened, key=lambda gamma: (screened[gamma], gamma))
    limits = tuning.sought(ranges(tuning.sample, gamma))
    # At first parameters are drawn, whatever others have found.
    drawn = trials // 3 + 1
    sampler = optuna.samplers.TPESampler(seed=tuning.seed, n_startup_trials=drawn)
    study = optuna.create_study(sampler=sampler)
    middle = {name: math.sqrt(low * high) for name, (low, high) in limits.items()}
    if "gamma" in limits:
        middle["gamma"] = gamma
    study.enqueue_trial(middle)
    for count in (min(drawn, trials), *[1] * (trials - drawn)):
        asked, several = [study.ask() for _ in range(count)], []
        for trial in asked:
            several.append(
                {
                    name: trial.suggest_float(name, low, high, log=True)
                    for name, (low, high) in limits.items()
                }
            )
        for trial, found in zip(asked, tuning.all_tried(several), strict=True):
            # A trial without a number would end the study.
            study.tell(trial, min(found.error, 1e300))
            yield found


def smallest_budget(
    tuning: Tuning, parameters: dict[str, Any], budgets: Sequence[int]
) -> tuple[int, list[Tried]]:
    """Smallest budget whose error is within one spread of the best one's."""
    if "budget" not in tuning.known:
        raise ValueError(f"{tuning.system} has no budget")
    several = [parameters | {"budget": budget} for budget in sorted(budgets)]
    tested = list(tuning.all_tried(several))
    least = best(tested)
    enough = next(t for t in tested if t.error <= least.error + least.spread)
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
