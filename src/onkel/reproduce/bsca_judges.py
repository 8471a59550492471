"""Judges of what BSCA's paper proves, or says of how BSCA and BSGD behave."""

from collections.abc import Callable

import numpy as np

from onkel.reproduce import (
    bsca_lemma,
    bsca_theorem,
)
from onkel.reproduce.comparators import (
    CONTRADICTED,
    MIXED,
    NOT_RUN,
    SUPPORTED,
    Finding,
    counted,
    sign_of_difference,
    sign_of_times,
)
from onkel.reproduce.evidence import Evidence, Pair, Question
from onkel.reproduce.store import Outcome

LEMMA = "bsca/lemma2"  # where the limits are
NEAR_LIMIT, ABOUT = 0.1, 0.25  # of the limit
MOST = 0.5  # of the margin violators
EARLY, LATE = 5, 250  # epochs of BSCA on 300 rows: until, from about
UNAFFECTED, STALLED, REMAINS = 1.1, 0.9, 10.0  # factors
GOOD = 1.0  # points of test error from the best


def lemma(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether shares of changing steps tend to the limits of the lemma.

    Both systems without a budget: a limit is reached if the mean over the last ten
    epochs is no further from it than a tenth of it. All, none, or mixed.
    """
    shown, near = [], []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        limits = found.get(bsca_lemma.EXACT, {}).get("limits", {})
        for system, limit in limits.items():
            if system in found:
                share = float(np.mean(found[system]["values"]))
                near.append(abs(share - limit) <= NEAR_LIMIT * limit)
                shown.append(f"{data}, {system}: {share:.3f}, limit {limit:.3f}")
    return Finding(counted(near), "; ".join(shown)) if shown else NOT_RUN


def merging_by_lemma(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether shares of merging steps, on a budget, are about the lemma's limits.

    Each system and budget on each data set: the mean over the last ten epochs is no
    further from the limit than a quarter of it. All, none, or mixed.
    """
    shown, near = [], []
    for data in asked.data:
        exact = evidence.outcome(LEMMA, data, bsca_lemma.EXACT)
        for system in (asked.first, asked.second):
            limit = (exact or {}).get("limits", {}).get(str(system).removeprefix("B"))
            shares = []
            for budget in asked.each["budget"]:
                label = asked.cell.format(system, budget=budget)
                found = evidence.outcome(asked.target, data, label)
                if found is not None and limit is not None:
                    late = _late_means(found["curves"][asked.of])
                    shares.append(float(np.mean(late)))
                    near.append(abs(shares[-1] - limit) <= ABOUT * limit)
            if shares:
                numbers = ", ".join(f"{share:.3f}" for share in shares)
                shown.append(f"{data}, {system} {numbers}, limit {limit:.3f}")
    if not shown:
        return NOT_RUN
    lead = f"{sum(near)} of {len(near)} within a quarter of the limit"
    return Finding(counted(near), f"{lead}. {'; '.join(shown)}")


def fixed_violators(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether BSCA fixes margin violators at C, and BSGD goes on with them.

    With 500 centres, over the last ten epochs, of the exact machine's violators: BSCA
    has most at C, and moves fewer in an epoch than are below the margin of BSGD, which
    steps on them at every visit (t-test at 1 %). All, none, or mixed.
    """
    shown, holds = [], []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        if not {"BSCA, B = 500", "BSGD, B = 500"} <= set(found):
            continue
        dual, gradient = found["BSCA, B = 500"], found["BSGD, B = 500"]
        at_C, moved = (_late_means(dual["curves"][key]) for key in ("at_C", "moved"))
        below = _late_means(gradient["curves"]["below"])
        fewer = sign_of_difference(Pair(data, moved, below))
        holds += [bool(np.mean(at_C) > MOST), fewer == 1]
        shown.append(
            f"{data}: BSCA has {100 * np.mean(at_C):.0f} % of them at C and moves "
            f"{100 * np.mean(moved):.0f} % in an epoch, BSGD steps on "
            f"{100 * np.mean(below):.0f} %"
        )
    return Finding(counted(holds), "; ".join(shown)) if shown else NOT_RUN


def _late_means(runs: list[list[float]]) -> list[float]:
    return [float(np.mean(run[-bsca_lemma.LAST :])) for run in runs]


def stalls(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether BSCA first goes on as without a budget, then stalls.

    Each budget on each data set. Early: after five epochs the dual suboptimality is no
    more than 1.1 times that without a budget. Late: over the last half of the epochs it
    does not fall by a tenth, without a budget it does. KKT violations over the last
    states are ten times those without a budget at least. All of these, none, or mixed.
    """
    cases: list[tuple[bool, bool, bool]] = []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        free = found.pop("no budget", None)
        if free is not None:
            cases += [_phases(one, free) for one in found.values()]
    if not cases:
        return NOT_RUN
    early, late, violated = (sum(column) for column in zip(*cases, strict=True))
    return Finding(
        counted([holds for case in cases for holds in case]),
        f"{len(cases)} cases: early as without a budget {early}, stalled late {late}, "
        f"KKT violations remain {violated}",
    )


def _phases(outcome: Outcome, free: Outcome) -> tuple[bool, bool, bool]:
    """Return whether early, late phase and violations are as the paper says."""
    left, left_free = (
        np.mean(one["curves"]["suboptimality"], axis=0) for one in (outcome, free)
    )
    last = bsca_theorem.LAST
    violated, violated_free = (
        np.mean(one["curves"]["violation"], axis=0)[-last:].mean()
        for one in (outcome, free)
    )
    points = np.array(bsca_theorem.POINTS)
    soon, half = np.searchsorted(points, EARLY), np.searchsorted(points, LATE)
    early = left[soon] <= UNAFFECTED * left_free[soon]
    falls = left_free[-1] < STALLED * left_free[half]
    late = falls and left[-1] >= STALLED * left[half]
    return bool(early), bool(late), bool(violated >= REMAINS * violated_free)


def promised_progress(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether a mean step gains what the theorem promises.

    At the end of every epoch. Supported if the promise, with E as printed, is kept at
    all of them, with and without a budget; contradicted if not even without one, or if
    the theorem's inequality, which is looser, is broken; else mixed.
    """
    free, printed, promised, bounded = [], [], [], []
    for data in asked.data:
        for system, outcome in evidence.systems(asked.target, data).items():
            share = bsca_theorem.kept(outcome, "promised")
            bounded.append(bsca_theorem.bounded(outcome))
            if system == "no budget":
                free.append(share)
            else:
                printed.append(share)
                promised.append(bsca_theorem.promising(outcome))
    if not free or not printed:
        return NOT_RUN
    verdict = MIXED
    if min(free) < 1 or min(bounded) < 1:
        verdict = CONTRADICTED
    elif min(printed) == 1:
        verdict = SUPPORTED
    return Finding(
        verdict,
        f"kept without a budget at {100 * min(free):.0f} % of the states at least; on "
        f"a budget, with E as printed, at {100 * min(printed):.0f} to "
        f"{100 * max(printed):.0f} %; with the least instead of the largest ratio, "
        f"which the proof needs, E < 1 at {100 * max(promised):.1f} % of the states at "
        "most. The theorem's inequality, which is loose, holds in "
        f"{100 * min(bounded):.0f} % of the epochs at least",
    )


def good_sooner(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the budget in `first` suffices to be good as soon as `second` is.

    Good: a mean test error within a point of the lowest of both budgets. It suffices if
    it is not slower, as times are compared; on the data in `opposite` `second` is said
    to be faster. All, none, or mixed.
    """
    shown, right = [], []
    for data in asked.data:
        found = [
            evidence.outcome(asked.target, data, str(side))
            for side in (asked.first, asked.second)
        ]
        if found[0] is None or found[1] is None:
            continue
        errors, seconds = (
            [np.mean(one["curves"][key], axis=0) for one in found if one]
            for key in ("error", "seconds")
        )
        good = min(one.min() for one in errors) + GOOD
        times = [
            float(when[np.argmax(one <= good)]) if (one <= good).any() else np.inf
            for one, when in zip(errors, seconds, strict=True)
        ]
        sign = sign_of_times(Pair(data, times[:1], times[1:]))
        right.append(sign == -1 if data in asked.opposite else sign != -1)
        said = [f"{one:.1f} s" if np.isfinite(one) else "never" for one in times]
        shown.append(f"{data} {said[0]}, {said[1]}")
    text = f"within {GOOD:g} point of the best, {asked.title}: {'; '.join(shown)}"
    return Finding(counted(right), text) if shown else NOT_RUN


JUDGES: dict[str, Callable[[Question, Evidence], Finding]] = {
    "shares reach their limits": lemma,
    "merges as the lemma says": merging_by_lemma,
    "violators are fixed": fixed_violators,
    "stalls late": stalls,
    "promised progress": promised_progress,
    "good sooner": good_sooner,
}
