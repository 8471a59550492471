"""Grid search: every combination of values is tried, and what errs least is taken."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Grid = Mapping[str, Sequence[Any]]  # values to try, by parameter


class Tried(NamedTuple):
    """Parameters, and their error over the splits of some rows."""

    parameters: dict[str, Any]
    error: float  # mean; infinite if it overflowed
    spread: float  # standard deviation; 0 of a single split


def tried(
    parameters: dict[str, Any],
    make: Callable[..., Any],
    splits: Iterable[Any],
    error_on: Callable[[Any, Any], float],
) -> Tried:
    """Try one combination of parameters, of which `make` makes an unfitted model.

    Splits are parts of the rows, in whatever way `error_on`, the error of an unfitted
    model on a split, understands them.
    """
    errors = []
    for split in splits:
        try:
            with warnings.catch_warnings():
                # A kernel too narrow is among what is tried, and its error tells.
                warnings.filterwarnings("ignore", ".*no other in single precision")
                errors.append(error_on(make(**parameters), split))
        except ValueError as failure:
            if "overflow" not in str(failure):
                raise
            # Steps too long for numbers: never the best.
            return judged(parameters, [math.inf])
    return judged(parameters, errors)


def judged(parameters: dict[str, Any], errors: Sequence[float]) -> Tried:
    """Sum up the errors on several splits; nothing is known where one is infinite.

    Examples
    --------
    >>> judged({"x": 1}, [0.25, 0.75]).error, judged({"x": 1}, [0.5, math.inf]).error
    (0.5, inf)
    """
    if math.inf in errors:
        return Tried(parameters, math.inf, 0.0)
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
    return Tried(parameters, float(np.mean(errors)), spread)


def combinations(grid: Grid) -> Iterator[dict[str, Any]]:
    """Combine the values of a grid, in its order.

    Examples
    --------
    >>> list(combinations({"x": (1, 2), "y": (3,)}))
    [{'x': 1, 'y': 3}, {'x': 2, 'y': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def grid_search(
    grid: Grid,
    make: Callable[..., Any],
    splits: Sequence[Any],
    error_on: Callable[[Any, Any], float],
) -> Iterator[Tried]:
    """Try all combinations of a grid, in its order; parameters as `tried`.

    Examples
    --------
    >>> def error(model, split):
    ...     return (model["x"] - 3) ** 2
    >>> best(grid_search({"x": (1, 3, 4)}, dict, [0, 1], error))
    Tried(parameters={'x': 3}, error=0.0, spread=0.0)
    """
    for parameters in combinations(grid):
        yield tried(parameters, make, splits, error_on)


def best(found: Iterable[Tried]) -> Tried:
    """Return what errs least, the first of several; what has no error comes last."""
    return min(found, key=lambda one: math.inf if math.isnan(one.error) else one.error)
