"""Our numbers beside published ones: kept in a file as they come, laid out in Markdown.

Keys of results are pairs, a data set and what was run on it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Results = dict[tuple[str, str], Any]


def known(path: Path) -> Results:
    """Results of earlier runs."""
    if not path.exists():
        return {}
    numbers = json.loads(path.read_text())
    found: Results = {}
    for key, outcome in numbers.items():
        data, what = key.split("/")
        found[data, what] = outcome
    return found


def keep(outcomes: Results, path: Path) -> None:
    """Write results where `known` finds them."""
    numbers = {"/".join(key): outcome for key, outcome in outcomes.items()}
    path.write_text(json.dumps(numbers, indent=1))


def _deviation(numbers: np.ndarray) -> float:
    return float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0


def spread_of(values: Sequence[float], factor: float, digits: int) -> str:
    """Mean and standard deviation.

    Examples
    --------
    >>> spread_of([0.1, 0.2], factor=100.0, digits=1)
    '15.0 ± 7.1'
    """
    numbers = factor * np.array(values)
    return f"{numbers.mean():.{digits}f} ± {_deviation(numbers):.{digits}f}"


def difference(
    values: Sequence[float],
    published: Sequence[float] | None,
    factor: float,
    rounding: float = 0.0,
) -> str:
    """Difference from the published mean, in standard deviations of both.

    Parameters
    ----------
    values
        Ours.
    published
        Mean and standard deviation; None for no answer.
    factor
        Of the published unit.
    rounding
        Least deviation: half a unit of the last digit that is published.

    Examples
    --------
    >>> difference([0.1, 0.1], (12.0, 1.0), factor=100.0)
    '-2.0'
    """
    if published is None:
        return ""
    numbers = factor * np.array(values)
    both = max(float(np.hypot(_deviation(numbers), published[1])), rounding)
    return f"{(numbers.mean() - published[0]) / both:+.1f}"


def power(parameters: Mapping[str, float], name: str, unit: str = "") -> str:
    """Write a parameter of a grid of powers of 2; a dash if there is none.

    Examples
    --------
    >>> power({"alpha": 0.25}, "alpha", unit="/n")
    '2^-2/n'
    """
    if name not in parameters:
        return "-"
    return f"2^{round(np.log2(parameters[name]))}{unit}"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, and an empty one after it."""
    cells = [list(heads), ["---"] * len(heads), *rows]
    return ["| " + " | ".join(row) + " |" for row in cells] + [""]
