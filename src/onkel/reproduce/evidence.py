"""Evidence: outcomes of tables and figures, and what comparisons of them say."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind_from_stats

from onkel.reproduce.store import Outcome, file_of, read

SUPPORTED, CONTRADICTED, MIXED = "supported", "contradicted", "mixed"
UNTESTABLE = "untestable here"
LEVEL = 0.01  # of the t-test
# Of times: least factor, and least seconds.
FACTOR, MEASURABLE = 1.5, 0.05


class Finding(NamedTuple):
    """A verdict on a claim, and the numbers behind it."""

    verdict: str
    shown: str


class Pair(NamedTuple):
    """Two sets of runs, of which a claim says that the first is better."""

    name: str
    first: Sequence[float]
    second: Sequence[float]


class Evidence:
    """Looks up outcomes in a folder.

    Parameters
    ----------
    folder
        With the files that `reproduce` keeps.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def outcome(self, target: str, *key: str) -> Outcome | None:
        """Return the outcome of a cell that was run: data set, algorithm, size."""
        found: Outcome | None = read(file_of(target, self.folder))["cells"].get(
            "/".join(key)
        )
        return found if found is not None and "values" in found else None

    def values(self, target: str, *key: str, of: str = "values") -> list[float]:
        """Return the runs of a cell, none if it was not run."""
        found = self.outcome(target, *key)
        return [] if found is None else list(found.get(of, []))

    def keys(self, target: str) -> list[tuple[str, ...]]:
        """Return data set, algorithm and size of all cells that were run."""
        cells = read(file_of(target, self.folder))["cells"]
        return [tuple(key.split("/")) for key in cells if "values" in cells[key]]


def outcome_of(pair: Pair, larger: bool = False) -> int:
    """Return 1 if the first is better, -1 if worse, 0 if that cannot be told.

    By Welch's t-test at 1 %; with a single run on either side nothing can be told.

    Examples
    --------
    >>> from onkel.reproduce.evidence import Pair, outcome_of
    >>> outcome_of(Pair("", [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]))
    1
    """
    difference = float(np.mean(pair.first) - np.mean(pair.second))
    if min(len(pair.first), len(pair.second)) < 2 or difference == 0:
        return 0
    described = [
        number
        for runs in (pair.first, pair.second)
        for number in (np.mean(runs), np.std(runs, ddof=1), len(runs))
    ]
    if described[1] + described[4] > 0:
        p = ttest_ind_from_stats(*described, equal_var=False).pvalue
        if p > LEVEL:
            return 0
    return 1 if (difference > 0) == larger else -1


def time_of(pair: Pair) -> int:
    """Return 1 if the first is faster, -1 if slower, 0 if that cannot be told.

    The fastest runs count, and a factor of less than 1.5 does not: the machine is busy,
    and cells are not run at the same time.

    Examples
    --------
    >>> from onkel.reproduce.evidence import Pair, time_of
    >>> time_of(Pair("", [1.0, 9.0], [2.0, 2.1]))
    1
    """
    first, second = min(pair.first), min(pair.second)
    if max(first / second, second / first) < FACTOR:
        return 0
    return 1 if first < second else -1


def _judged(
    pairs: Iterable[Pair],
    result: Callable[[Pair], int],
    number: Callable[[Sequence[float]], float],
    signs: str,
    digits: int,
    about: str,
) -> Finding:
    """Judge a claim that the first of each pair is better; `signs` of worse to better.

    Pairs without runs are left out.
    """
    told = [pair for pair in pairs if len(pair.first) and len(pair.second)]
    if not told:
        return Finding(UNTESTABLE, "not run")
    results = [result(pair) for pair in told]
    shown = "; ".join(
        f"{pair.name} {number(pair.first):.{digits}f} {signs[one + 1]} "
        f"{number(pair.second):.{digits}f}"
        for pair, one in zip(told, results, strict=True)
    )
    wins, losses = results.count(1), results.count(-1)
    verdict = MIXED if wins or losses else UNTESTABLE
    if wins and not losses and wins >= len(told) / 2:
        verdict = SUPPORTED
    elif losses and not wins:
        verdict = CONTRADICTED
    lead = f"{about}: " if about else ""
    tally = f"{wins} of {len(told)} better, {losses} worse. "
    if not wins + losses:
        tally = "no difference can be told. "
    return Finding(verdict, f"{lead}{tally}{shown}")


def mean(runs: Sequence[float]) -> float:
    """Return the mean of some runs."""
    return float(np.mean(runs))


def better(
    pairs: Iterable[Pair], larger: bool = False, digits: int = 2, about: str = ""
) -> Finding:
    """Judge a claim that the first of each pair is better.

    Parameters
    ----------
    pairs
        Those without runs are left out.
    larger
        Whether larger is better.
    digits
        Of the numbers shown.
    about
        What is compared.
    """
    signs = "<≈>" if larger else ">≈<"
    return _judged(
        pairs, lambda pair: outcome_of(pair, larger), mean, signs, digits, about
    )


def faster(pairs: Iterable[Pair], digits: int = 2, about: str = "") -> Finding:
    """Judge a claim that the first of each pair is faster; parameters as `better`.

    Pairs that take next to no time are left out.
    """
    told = [pair for pair in pairs if len(pair.first) and len(pair.second)]
    pairs = [p for p in told if max(min(p.first), min(p.second)) >= MEASURABLE]
    if told and not pairs:
        return Finding(UNTESTABLE, f"less than {MEASURABLE} s")
    return _judged(pairs, time_of, min, ">≈<", digits, f"seconds, {about}")


def alike(
    pairs: Iterable[Pair], room: float, digits: int = 2, about: str = ""
) -> Finding:
    """Judge a claim that both of each pair are nearly equal: no further than `room`."""
    told = [pair for pair in pairs if len(pair.first) and len(pair.second)]
    if not told:
        return Finding(UNTESTABLE, "not run")
    gaps = [abs(mean(pair.first) - mean(pair.second)) for pair in told]
    near = sum(gap <= room for gap in gaps)
    verdict = {len(told): SUPPORTED, 0: CONTRADICTED}.get(near, MIXED)
    worst = told[int(np.argmax(gaps))]
    lead = f"{about}: " if about else ""
    return Finding(
        verdict,
        f"{lead}{near} of {len(told)} within {room:g}; largest gap: {worst.name} "
        f"{mean(worst.first):.{digits}f} and {mean(worst.second):.{digits}f}",
    )
