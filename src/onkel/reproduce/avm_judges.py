"""Judges of what AVM's paper says of its figures 4, 7 and 8: curves without numbers.

The rules are from the paper's words, and were written before the curves were drawn.
"""

from collections.abc import Callable, Iterator

import numpy as np

from onkel.reproduce import avm_budgets
from onkel.reproduce.avm_curves import Curve, curve_of
from onkel.reproduce.avm_tradeoff import SYSTEM
from onkel.reproduce.comparators import (
    NOT_RUN,
    Finding,
    better,
    counted,
    faster,
    sign_of_difference,
    sign_of_times,
)
from onkel.reproduce.evidence import Evidence, Pair, Question
from onkel.reproduce.store import Outcome

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)  # shares of the rows
SATURATED, SETTLED = FIFTHS[:2]
FLAT, SLIGHT = 0.05, 0.1  # of an error
SURE = 3.0  # standard errors
PERCENT = 100.0


def _judged(
    asked: Question, evidence: Evidence, holds: Callable[[Curve], bool]
) -> Finding:
    """Count the curves that are as claimed, of each system on each data set."""
    shown, right = [], []
    for data in asked.data:
        for system in asked.first:
            outcome = evidence.outcome(asked.target, data, system)
            if outcome is None:
                continue
            curve = curve_of(outcome)
            right.append(holds(curve))
            numbers = " ".join(
                f"{curve.at(share):.{asked.digits}f}"
                for share in (SATURATED, SETTLED, 1.0)
            )
            mark = "" if right[-1] else " (not so)"
            shown.append(f"{data} {system} {numbers}{mark}")
    if not shown:
        return NOT_RUN
    lead = f"{asked.about}: {sum(right)} of {len(right)} as claimed"
    text = "errors after a fifth and two fifths of the rows and at the end"
    return Finding(counted(right), f"{lead}; {text}: {'; '.join(shown)}")


def _is_flat(curve: Curve, share: float) -> bool:
    """Whether a curve stays within a twentieth of its end from some rows on."""
    late = curve.errors[curve.rows >= share * curve.rows[-1]]
    values = np.array([curve.at(share), *late])
    return bool(np.all(np.abs(values - values[-1]) <= FLAT * values[-1]))


def _fluctuates(curve: Curve, share: float) -> bool:
    """Whether a curve both rises and falls, more than by chance, within some rows.

    By three standard errors of the share of mistakes at the first of two places.
    """
    early = curve.rows <= share * curve.rows[-1]
    errors, rows = curve.errors[early], curve.rows[early] * curve.orders
    rates = (errors / PERCENT * rows + 1) / (rows + 2)  # of no mistakes, too
    chance = SURE * PERCENT * np.sqrt(rates * (1 - rates) / rows)
    changes = np.triu(errors[np.newaxis, :] - errors[:, np.newaxis])
    room = chance[:, np.newaxis]
    return bool(np.any(changes > room) and np.any(changes < -room))


def _at_fifths(curve: Curve, start: float) -> np.ndarray:
    """Return the errors at each fifth of the rows, from one on."""
    return np.array([curve.at(share) for share in FIFTHS if share >= start])


def settles(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether mistake rates fluctuate at the beginning, then are stable.

    The mean curve of each system on each data set. It fluctuates if, within the first
    two fifths of the rows, it both rises and falls by more than three standard errors;
    it is stable if from there on it stays within a twentieth of its end. (Two fifths:
    from there on, the paper says, w8a is otherwise.) All, none, or mixed.
    """

    def holds(curve: Curve) -> bool:
        return _fluctuates(curve, SETTLED) and _is_flat(curve, SETTLED)

    return _judged(asked, evidence, holds)


def saturates(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether mistake rates are at a plateau after one to two tenths of the rows.

    The mean curve of each system on each data set: from a fifth of the rows on it stays
    within a twentieth of its end. All, none, or mixed.
    """
    return _judged(asked, evidence, lambda curve: _is_flat(curve, SATURATED))


def improves(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether mistake rates regularly fall as more rows come.

    The mean curve of each system on each data set: it is lower at each fifth of the
    rows than at the one before, and in contrast to a plateau by more than a twentieth
    of its end from the first fifth on. All, none, or mixed.
    """

    def holds(curve: Curve) -> bool:
        errors = _at_fifths(curve, SATURATED)
        falls = np.all(np.diff(errors) < 0)
        return bool(falls and errors[0] - errors[-1] > FLAT * errors[-1])

    return _judged(asked, evidence, holds)


def keeps_rising(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether mistake rates keep increasing after two fifths of the rows.

    The mean curve of each system on each data set: it is higher at each further fifth.
    That the last group is "unexpectedly worse" there says nothing of its shape. All,
    none, or mixed.
    """
    return _judged(
        asked,
        evidence,
        lambda curve: bool(np.all(np.diff(_at_fifths(curve, SETTLED)) > 0)),
    )


def slightly_rises(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether errors increase slightly throughout.

    The mean curve of each system on each data set: it is higher at each fifth of the
    rows than at the one before, and at the end by no more than a tenth than at the
    first fifth. All, none, or mixed.
    """

    def holds(curve: Curve) -> bool:
        errors = _at_fifths(curve, SATURATED)
        rises = np.all(np.diff(errors) > 0)
        return bool(rises and errors[-1] <= (1 + SLIGHT) * errors[0])

    return _judged(asked, evidence, holds)


def _swept(asked: Question, evidence: Evidence) -> Iterator[tuple[str, str, Outcome]]:
    """Yield data set, system and outcome of every system with budgets."""
    for data in asked.data:
        for system in asked.first:
            outcome = evidence.outcome(asked.target, data, system)
            if outcome is not None:
                yield data, system, outcome


def larger_budgets(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether a larger budget means fewer mistakes, and more time.

    Each system on each data set, the largest budget beside the smallest: mistakes by a
    t-test at 1 %, times by a factor of 1.5 where they can be measured. All, none, or
    mixed.
    """
    shown, holds = [], []
    for data, system, outcome in _swept(asked, evidence):
        said = []
        for kind, first, second, sign_of, unit in (
            (avm_budgets.MISTAKES, -1, 0, sign_of_difference, "%"),
            (avm_budgets.SECONDS, 0, -1, sign_of_times, "s"),
        ):
            runs = np.array(outcome["curves"][kind])
            sign = sign_of(Pair("", runs[:, first].tolist(), runs[:, second].tolist()))
            if sign is not None:
                holds.append(sign == 1)
            said.append(f"{runs[:, 0].mean():.2f} to {runs[:, -1].mean():.2f} {unit}")
        shown.append(f"{data} {system} {', '.join(said)}")
    lead = f"{sum(holds)} of {len(holds)} comparisons as claimed"
    text = f"{lead}; from the smallest to the largest budget: {'; '.join(shown)}"
    return Finding(counted(holds), text) if holds else NOT_RUN


def _beside_cover(
    asked: Question, evidence: Evidence, kind: str, budget: Callable[[np.ndarray], int]
) -> Iterator[Pair]:
    """Yield AVM beside each system, with the budget that is taken by its runs."""
    for data, system, outcome in _swept(asked, evidence):
        cover = evidence.outcome(asked.target, data, SYSTEM)
        if cover is not None:
            runs = np.array(outcome["curves"][kind])
            place = budget(runs)
            name = f"{data} {system}, B = {outcome['budgets'][place]}"
            ours = [run[0] for run in cover["curves"][kind]]
            yield Pair(name, ours, runs[:, place].tolist())


def no_budget_reaches(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether AVM has fewer mistakes than any system with any of its budgets.

    Each system on each data set with the budget that has the least mistakes, by the
    rule of comparisons: AVM is better in half of them at least, and worse in none.
    """
    kind = avm_budgets.MISTAKES
    pairs = _beside_cover(
        asked, evidence, kind, lambda runs: int(runs.mean(axis=0).argmin())
    )
    return better(pairs, about="AVM and the best budget of each")


def small_budgets_faster(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the smallest budget is faster than AVM, slower on `opposite` data.

    Each system on each data set, by the rule of times.
    """
    pairs = [
        one
        if one.name.split()[0] in asked.opposite
        else Pair(one.name, one.second, one.first)
        for one in _beside_cover(asked, evidence, avm_budgets.SECONDS, lambda runs: 0)
    ]
    return faster(pairs, digits=3, about=asked.about)


JUDGES: dict[str, Callable[[Question, Evidence], Finding]] = {
    "fluctuates, then settles": settles,
    "saturates early": saturates,
    "keeps improving": improves,
    "keeps rising": keeps_rising,
    "rises slightly": slightly_rises,
    "larger budgets help and slow": larger_budgets,
    "no budget reaches AVM": no_budget_reaches,
    "small budgets are faster": small_budgets_faster,
}
