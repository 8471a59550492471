"""Comparators: what pairs of runs say about a claim."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind_from_stats

from onkel.reproduce.evidence import Pair

SUPPORTED, CONTRADICTED, MIXED = "supported", "contradicted", "mixed"
UNTESTABLE = "untestable here"
LEVEL = 0.01  # of the t-test
# Of times: least factor, and least seconds.
FACTOR, MEASURABLE = 1.5, 0.05


class Finding(NamedTuple):
    """A verdict on a claim, and the numbers behind it."""

    verdict: str
    shown: str


NOT_RUN = Finding(UNTESTABLE, "not run")


def joined(findings: Sequence[Finding]) -> Finding:
    """Return what the parts of a claim say together."""
    told = {one.verdict for one in findings} - {UNTESTABLE}
    verdict = told.pop() if len(told) == 1 else MIXED if told else UNTESTABLE
    return Finding(verdict, ". ".join(one.shown for one in findings))


def counted(holds: Sequence[bool]) -> str:
    """Return the verdict on a claim that holds in some cases: all, none, or mixed."""
    return {len(holds): SUPPORTED, 0: CONTRADICTED}.get(sum(holds), MIXED)


def sign_of_difference(pair: Pair, larger: bool = False) -> int:
    """Return 1 if the first is better, -1 if worse, 0 if that cannot be told.

    By Welch's t-test at 1 %; with a single run on either side nothing can be told.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_difference
    >>> from onkel.reproduce.evidence import Pair
    >>> sign_of_difference(Pair("", [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]))
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


def sign_of_times(pair: Pair) -> int:
    """Return 1 if the first is faster, -1 if slower, 0 if that cannot be told.

    The fastest runs count, and a factor of less than 1.5 does not: the machine is busy,
    and cells are not run at the same time.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_times
    >>> from onkel.reproduce.evidence import Pair
    >>> sign_of_times(Pair("", [1.0, 9.0], [2.0, 2.1]))
    1
    """
    first, second = min(pair.first), min(pair.second)
    if max(first / second, second / first) < FACTOR:
        return 0
    return 1 if first < second else -1


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
    told = _with_runs(pairs)
    results = [sign_of_difference(pair, larger) for pair in told]
    means = [Pair(name, [_mean(a)], [_mean(b)]) for name, a, b in told]
    return _tally(means, results, "<≈>" if larger else ">≈<", digits, about)


def faster(pairs: Iterable[Pair], digits: int = 2, about: str = "") -> Finding:
    """Judge a claim that the first of each pair is faster; parameters as `better`.

    Pairs that take next to no time are left out.
    """
    run = _with_runs(pairs)
    told = [p for p in run if max(min(p.first), min(p.second)) >= MEASURABLE]
    if run and not told:
        return Finding(UNTESTABLE, f"less than {MEASURABLE} s")
    best = [Pair(name, [min(a)], [min(b)]) for name, a, b in told]
    results = [sign_of_times(pair) for pair in told]
    return _tally(best, results, ">≈<", digits, f"seconds, {about}")


def alike(
    pairs: Iterable[Pair], room: float, digits: int = 2, about: str = ""
) -> Finding:
    """Judge a claim that both of each pair are nearly equal: no further than `room`."""
    told = _with_runs(pairs)
    if not told:
        return NOT_RUN
    gaps = [abs(_mean(pair.first) - _mean(pair.second)) for pair in told]
    near = [gap <= room for gap in gaps]
    worst = told[int(np.argmax(gaps))]
    lead = f"{about}: " if about else ""
    return Finding(
        counted(near),
        f"{lead}{sum(near)} of {len(told)} within {room:g}; largest gap: {worst.name} "
        f"{_mean(worst.first):.{digits}f} and {_mean(worst.second):.{digits}f}",
    )


def _mean(runs: Sequence[float]) -> float:
    return float(np.mean(runs))


def _with_runs(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if len(pair.first) and len(pair.second)]


def _tally(
    told: Sequence[Pair], results: Sequence[int], signs: str, digits: int, about: str
) -> Finding:
    """Sum up pairs of single numbers; `signs` of worse, equal and better."""
    if not told:
        return NOT_RUN
    shown = "; ".join(
        f"{name} {first[0]:.{digits}f} {signs[one + 1]} {second[0]:.{digits}f}"
        for (name, first, second), one in zip(told, results, strict=True)
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
