"""Comparators: what pairs of runs say about a claim."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr, ttest_ind_from_stats

from onkel.reproduce.agreement import half_interval
from onkel.reproduce.evidence import Pair
from onkel.reproduce.summary import Measured, measured

SUPPORTED, CONTRADICTED, MIXED = "supported", "contradicted", "mixed"
# Nobody has run it, or runs cannot tell; nobody here has the data.
NOT_TESTED, NO_DATA = "not tested", "no data"
VERDICTS = (SUPPORTED, CONTRADICTED, MIXED, NOT_TESTED, NO_DATA)
LEVEL = 0.01  # of the t-test
# Of times: least factor, and least seconds.
FACTOR, MEASURABLE = 1.5, 0.05
# Points that a trend needs: of five no order is as unlikely as that, 2/5! > 1 %.
FEWEST = 6
# No difference is shown, though there was a test; nothing can be told.
EQUAL, UNKNOWN = "≈", "?"


class Finding(NamedTuple):
    """A verdict on a claim, and the numbers behind it."""

    verdict: str
    shown: str


NOT_RUN = Finding(NOT_TESTED, "not run")


def joined(findings: Sequence[Finding]) -> Finding:
    """Return what the parts of a claim say together."""
    told = {one.verdict for one in findings} - {NOT_TESTED, NO_DATA}
    open_ones = {one.verdict for one in findings} & {NOT_TESTED}
    verdict = MIXED if told else NOT_TESTED if open_ones else NO_DATA
    if len(told) == 1:
        verdict = told.pop()
    return Finding(verdict, ". ".join(one.shown for one in findings))


def counted(holds: Sequence[bool]) -> str:
    """Return the verdict on a claim that holds in some cases: all, none, or mixed."""
    return {len(holds): SUPPORTED, 0: CONTRADICTED}.get(sum(holds), MIXED)


def sign_of_difference(pair: Pair, larger: bool = False) -> int | None:
    """Return 1 if the first is better, -1 if worse, 0 if no difference is shown.

    By Welch's t-test at 1 %; with a single run on either side nothing can be told,
    which is None.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_difference
    >>> from onkel.reproduce.evidence import Pair
    >>> sign_of_difference(Pair("", [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]))
    1
    """
    difference = float(np.mean(pair.first) - np.mean(pair.second))
    if min(len(pair.first), len(pair.second)) < 2:
        return None
    if difference == 0:
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


def sign_of_times(pair: Pair) -> int | None:
    """Return 1 if the first is faster, -1 if slower, 0 if they are about as fast.

    The fastest runs count, and a factor of less than 1.5 does not: the machine is busy,
    and cells are not run at the same time. Of what takes next to no time nothing can be
    told, which is None.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_times
    >>> from onkel.reproduce.evidence import Pair
    >>> sign_of_times(Pair("", [1.0, 9.0], [2.0, 2.1]))
    1
    """
    short, long = sorted([min(pair.first), min(pair.second)])
    if long < MEASURABLE:
        return None
    if long < FACTOR * short:
        return 0
    return 1 if min(pair.first) == short else -1


def sign_of_gap(pair: Pair, room: float) -> int | None:
    """Return 1 if both are within `room` of each other, -1 if they are further apart.

    By the 99 % interval of their difference: 0 if it has both, None of single runs.
    Where there are as many runs of both they are in the same orders, and go in pairs.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_gap
    >>> from onkel.reproduce.evidence import Pair
    >>> sign_of_gap(Pair("", [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]), room=0.5)
    -1
    """
    first, second = measured(pair.first), measured(pair.second)
    if first.runs == second.runs == 1:
        return None
    if first.runs == second.runs:
        first, second = measured(np.subtract(*pair[1:]).tolist()), Measured(0.0, 0.0)
    gap, margin = abs(first.mean - second.mean), half_interval(first, second)
    return 1 if gap + margin <= room else -1 if gap - margin > room else 0


def sign_of_trend(x: Iterable[float], y: Iterable[float]) -> int | None:
    """Return 1 if y rises with x, -1 if it falls, 0 if no trend is shown.

    By their rank correlation at 1 %; of fewer than six points nothing can be told.

    Examples
    --------
    >>> from onkel.reproduce.comparators import sign_of_trend
    >>> sign_of_trend(range(8), [0, 1, 3, 2, 5, 6, 8, 9])
    1
    """
    ranked = list(x), list(y)
    if len(ranked[0]) < FEWEST:
        return None
    rank = spearmanr(*ranked)
    return int(np.sign(rank.statistic)) if rank.pvalue < LEVEL else 0


def verdict_on(signs: Sequence[int | None]) -> str:
    """Return the verdict on statements of which each is right (1), wrong (-1) or open.

    All that can be told, none, or mixed.
    """
    told = [sign for sign in signs if sign is not None]
    if not told:
        return NOT_TESTED
    if min(told) == 1:
        return SUPPORTED
    return CONTRADICTED if max(told) == -1 else MIXED


def better(
    pairs: Iterable[Pair],
    larger: bool = False,
    digits: int = 2,
    about: str = "",
    or_equal: bool = False,
    mostly: bool = False,
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
    or_equal
        Whether the claim is only that the first is not worse.
    mostly
        Whether it is of most pairs only.
    """
    told = _with_runs(pairs)
    results = [sign_of_difference(pair, larger) for pair in told]
    means = [Pair(name, [_mean(a)], [_mean(b)]) for name, a, b in told]
    shown = _shown(means, results, "><"[:: -1 if larger else 1], digits)
    return _tally(results, shown, about, or_equal, mostly)


def faster(
    pairs: Iterable[Pair],
    digits: int = 2,
    about: str = "",
    or_equal: bool = False,
    mostly: bool = False,
) -> Finding:
    """Judge a claim that the first of each pair is faster; parameters as `better`."""
    told = _with_runs(pairs)
    results = [sign_of_times(pair) for pair in told]
    best = [Pair(name, [min(a)], [min(b)]) for name, a, b in told]
    shown = _shown(best, results, "><", digits)
    return _tally(results, shown, f"seconds, {about}", or_equal, mostly)


def alike(
    pairs: Iterable[Pair],
    room: float,
    digits: int = 2,
    about: str = "",
    mostly: bool = False,
) -> Finding:
    """Judge a claim that both of each pair are nearly equal: no further than `room`."""
    told = _with_runs(pairs)
    if not told:
        return NOT_RUN
    results = [sign_of_gap(pair, room) for pair in told]
    worst = max(told, key=lambda pair: abs(_mean(pair.first) - _mean(pair.second)))
    shown = (
        f"Largest gap: {worst.name} {_mean(worst.first):.{digits}f} and "
        f"{_mean(worst.second):.{digits}f}"
    )
    said = (f"within {room:g}", "further apart", "99 % intervals have both")
    return _tally(results, shown, about, mostly=mostly, said=said)


def _mean(runs: Sequence[float]) -> float:
    return float(np.mean(runs))


def _with_runs(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if len(pair.first) and len(pair.second)]


def _shown(
    pairs: Sequence[Pair], results: Sequence[int | None], signs: str, digits: int
) -> str:
    """Write pairs of single numbers; `signs` of worse and of better."""
    sign_of = {-1: signs[0], 0: EQUAL, 1: signs[1], None: UNKNOWN}
    return "; ".join(
        f"{name} {first[0]:.{digits}f} {sign_of[one]} {second[0]:.{digits}f}"
        for (name, first, second), one in zip(pairs, results, strict=True)
    )


def _tally(
    results: Sequence[int | None],
    shown: str,
    about: str,
    or_equal: bool = False,
    mostly: bool = False,
    said: tuple[str, str, str] = ("better", "worse", "no difference shown"),
) -> Finding:
    """Sum up comparisons.

    A claim needs more than half of the pairs that tell anything, and none against it;
    so does the contrary. One of most cases bears some against it. What shows no
    difference at all is mixed: the test was made, and neither the claim has come true
    nor its contrary.
    """
    if not results:
        return NOT_RUN
    lead = f"{about}: " if about else ""
    told = [one for one in results if one is not None]
    if not told:
        return Finding(NOT_TESTED, f"{lead}nothing can be told. {shown}")
    wins, losses = told.count(1), told.count(-1)
    half, verdict = len(told) / 2, MIXED
    good = len(told) - losses if or_equal else wins
    if good > half and (mostly or not losses):
        verdict = SUPPORTED
    elif losses > half and (mostly or not wins):
        verdict = CONTRADICTED
    tally = f"{wins} of {len(told)} {said[0]}, {losses} {said[1]}. "
    if not wins + losses:
        tally = f"{said[2]}. "
    return Finding(verdict, f"{lead}{tally}{shown}")
