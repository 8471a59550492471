"""Judges of single claims that no comparison of pairs answers."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onkel.reproduce import published
from onkel.reproduce.comparators import (
    CONTRADICTED,
    MIXED,
    NOT_RUN,
    SUPPORTED,
    Finding,
    better,
    counted,
    sign_of_trend,
    verdict_on,
)
from onkel.reproduce.evidence import Evidence, Pair, Question, Side
from onkel.reproduce.powers import power_of
from onkel.reproduce.summary import LATE

POOR = 5.0  # points of test error
ERRORS = ("rmse", "error_pct", "mistake_rate_pct")
ALIKE = 1.25  # times the fewest cores


def by_beta(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether size and accuracy of NBSGD fall as beta grows, by their ranks."""
    found = {
        float(system.removeprefix("beta = ").removesuffix(" n")): outcome
        for (_, system, *_), outcome in evidence.cells(asked.target).items()
    }
    if not found:
        return NOT_RUN
    betas = sorted(found)
    sizes = [float(np.mean(found[beta]["sizes"])) for beta in betas]
    rates = [float(np.mean(found[beta]["values"])) for beta in betas]
    trends = [sign_of_trend(betas, numbers) for numbers in (sizes, rates)]
    falls = [None if sign is None else -sign for sign in trends]
    shown = [
        f"beta {beta:g} n: {size:,.0f} centres, {rate:.2f} %"
        for beta, size, rate in zip(betas, sizes, rates, strict=True)
    ]
    text = "on ijcnn1, SenseIT not being at hand: {}"
    return _listed(verdict_on(falls), shown, text, ", ")


def monotone_dual(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the dual objective never falls, and the primal does not keep to it.

    The dual of all systems on all data; a primal that rises once is not monotone. Both,
    none, or mixed.
    """
    shown, dual_holds, primal_rises = [], [], []
    for data, dual, primal in _curves(asked, evidence, "dual", "primal"):
        falls = float(np.mean(np.diff(dual, axis=1) < 0))
        rises = float(np.mean(np.diff(primal, axis=1) > 0))
        dual_holds.append(falls == 0)
        primal_rises.append(rises > 0)
        shown.append(
            f"{data}: dual falls in {100 * falls:.0f} % of the epochs, primal "
            f"rises in {100 * rises:.0f} %"
        )
    return _listed(counted([all(dual_holds), any(primal_rises)]), shown)


def poor_when_stopped(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether learning may be stopped at a bad time.

    It may if on any data set the errors of a run's late epochs are five points apart,
    in the mean over the runs.
    """
    shown, poor = [], []
    for data, errors in _curves(asked, evidence, "error"):
        late = errors[:, -LATE:]
        apart = float(np.ptp(late, axis=1).mean())
        poor.append(apart > POOR)
        shown.append(f"{data} {apart:.1f}")
    text = "points between the best and the worst of a run's last ten epochs: {}"
    return _listed(SUPPORTED if any(poor) else CONTRADICTED, shown, text, ", ")


def negative_dual(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the dual objective is below 0 on two problems, and stays there."""
    shown, begins, ends = [], 0, 0
    for data, dual in _curves(asked, evidence, "dual"):
        first, last = dual.mean(axis=0)[[0, -1]]
        shown.append(f"{data}: {first:,.0f} after one epoch, {last:,.0f} at the end")
        begins += bool(first < 0)
        ends += bool(last < 0)
    verdict = MIXED if begins else CONTRADICTED
    return _listed(SUPPORTED if ends == 2 else verdict, shown)


def late_rise(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether both objectives rise late, by their ranks over the last ten epochs.

    They may if they do in any case, they do not if the primal falls in all.
    """
    shown, rises, falls = [], [], []
    for name, *kinds in _curves(asked, evidence, "primal", "dual"):
        late = [runs.mean(axis=0)[-LATE:] for runs in kinds]
        trends = [sign_of_trend(range(LATE), one) for one in late]
        rises.append(trends == [1, 1])
        falls.append(trends[0] == -1)
        said = {1: "rises", -1: "falls", 0: "does neither", None: "is too short"}
        shown.append(
            f"{name}: primal {said[trends[0]]} ({late[0][0]:,.0f} to "
            f"{late[0][-1]:,.0f}), dual {said[trends[1]]}"
        )
    verdict = CONTRADICTED if all(falls) else MIXED
    text = "over the last ten epochs {}"
    return _listed(SUPPORTED if any(rises) else verdict, shown, text)


def cost_of_a_row(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the time of a row grows no faster than the budget.

    On each data set, by the 99 % interval of the power that it follows: 1 or less. All,
    none, or mixed.
    """
    shown, linear = [], []
    for data in asked.data:
        times = []
        for budget in asked.first:
            found = evidence.outcome(asked.target, data, asked.cell.format(budget))
            if found is not None:
                seconds = np.array(found["curves"]["seconds"])
                rows = seconds.shape[1] * found["rows"]
                times.append(1e6 * seconds[:, -1] / rows)
        if len(times) == len(asked.first):
            runs = np.array(list(zip(*times, strict=False)))
            power = power_of([float(one) for one in asked.first], runs.tolist())
            linear.append(power.is_at_most(1.0))
            values = ", ".join(f"{one:.1f}" for one in runs.min(axis=0))
            budgets = ", ".join(asked.first)
            shown.append(
                f"{data}: {values} µs a row with {budgets} centres, B^{power.shown()}"
            )
    return _listed(counted(linear), shown, "{} (the number of rows was not varied)")


def sizes_of_cover(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether sizes hardly depend on the order."""
    shown, alike = [], []
    for data in asked.data:
        found = evidence.outcome(asked.target, data, str(asked.first))
        if found is not None:
            least, most = min(found["sizes"]), max(found["sizes"])
            alike.append(most < ALIKE * least)
            shown.append(f"{data} {least:.0f} to {most:.0f}")
    return _listed(counted(alike), shown, "cores over the orders: {}", ", ")


def as_near_as_published(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the first are as near to the best of the second as published."""
    shown, near = [], []
    for data in asked.data:
        sides = [
            asked.best(evidence, side, {"data": data})
            for side in (asked.first, asked.second)
        ]
        printed = [
            _least_published(asked.target, data, side)
            for side in (asked.first, asked.second)
        ]
        (name, runs), (best_name, best_runs) = sides
        if runs and best_runs and all(printed):
            ours, best = float(np.mean(runs)), float(np.mean(best_runs))
            near.append(ours / best <= printed[0] / printed[1])
            shown.append(
                f"{data}: {name} {ours:.{asked.digits}f}, {best_name} "
                f"{best:.{asked.digits}f}, {ours / best:.2f} times as much; published "
                f"{printed[0] / printed[1]:.2f} times"
            )
    return _listed(counted(near), shown)


def _least_published(target: str, data: str, side: Side) -> float:
    """Return the lowest error that a paper prints of some systems; 0 if it has none.

    What we add to a system stands after a comma.
    """
    sides = [side] if isinstance(side, str) else side
    names = {name.partition(", ")[0] for name in sides}
    values = (
        e.value
        for e in published.numbers()
        if (f"{e.paper}/{e.table}", e.dataset) == (target, data)
        and e.metric in ERRORS
        and e.algorithm in names
    )
    return min((value for value in values if value is not None), default=0.0)


def larger_gains(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the first gain more on the second, on `data` than on those beside.

    A gain is the share of the second's error that the first saves, in each order; it is
    0 where nothing is saved.
    """
    gains = {}
    for data in {*asked.data, *asked.each["beside"]}:
        one, two = (
            asked.best(evidence, side, {"data": data})[1]
            for side in (asked.first, asked.second)
        )
        gains[data] = [
            100 * max(0.0, 1 - a / b) for a, b in zip(one, two, strict=False)
        ]
    pairs = [
        Pair(f"{data}, {small}", gains[data], gains[small])
        for data in asked.data
        for small in asked.each["beside"]
    ]
    return better(pairs, larger=True, digits=1, about=asked.about)


def gap_by_features(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the second is the slower beside the first, the more features.

    By ranks.
    """
    shown, features, gaps = [], [], []
    for data in asked.data:
        one, two = (
            evidence.outcome(asked.target, data, str(side))
            for side in (asked.first, asked.second)
        )
        if one is not None and two is not None:
            features.append(one["features"])
            gaps.append(min(two["seconds"]) / min(one["seconds"]))
            shown.append(f"{data} ({features[-1]} features) {gaps[-1]:.1f}")
    verdict = verdict_on([sign_of_trend(features, gaps)])
    text = f"times the seconds of {asked.first} that {asked.second} takes: {{}}"
    return _listed(verdict, shown, text, ", ")


def _curves(asked: Question, evidence: Evidence, *of: str) -> Iterator[Any]:
    """Yield a name and curves by seed and epoch, of every cell that was run."""
    is_one = isinstance(asked.first, str)
    for data in asked.data:
        for system in [str(asked.first)] if is_one else asked.first:
            found = evidence.outcome(asked.target, data, asked.cell.format(system))
            if found is not None:
                name = data if is_one else f"{data} {system}"
                yield name, *(np.array(found["curves"][kind]) for kind in of)


def _listed(
    verdict: str, shown: Sequence[str], text: str = "{}", between: str = "; "
) -> Finding:
    """Return a finding that shows all cases; without any, nothing was run."""
    return Finding(verdict, text.format(between.join(shown))) if shown else NOT_RUN
