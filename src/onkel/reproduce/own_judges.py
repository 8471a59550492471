"""Judges of single claims that no comparison of pairs answers."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from onkel.reproduce import published
from onkel.reproduce.comparators import (
    CONTRADICTED,
    MIXED,
    NOT_RUN,
    SUPPORTED,
    Finding,
    counted,
)
from onkel.reproduce.evidence import Evidence, Question
from onkel.reproduce.summary import LATE

POOR = 5.0  # points of test error
RISEN = 1.02  # times the lowest objective
STEEP = 7.0  # times as long, with five times the centres
ALIKE = 1.25  # times the fewest cores
CLEAR, FEWEST = 0.5, 4  # rank correlation that shows a trend; data sets that it needs


def by_beta(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether size and accuracy of NBSGD fall as beta grows."""
    found = {
        float(system.removeprefix("beta = ").removesuffix(" n")): outcome
        for (_, system, *_), outcome in evidence.cells(asked.target).items()
    }
    if not found:
        return NOT_RUN
    betas = sorted(found)
    sizes = [np.mean(found[beta]["sizes"]) for beta in betas]
    rates = [np.mean(found[beta]["values"]) for beta in betas]
    is_smaller = all(a >= b for a, b in pairwise(sizes))
    is_worse = bool(np.corrcoef(np.arange(len(rates)), rates)[0, 1] < 0)
    shown = [
        f"beta {beta:g} n: {size:,.0f} centres, {rate:.2f} %"
        for beta, size, rate in zip(betas, sizes, rates, strict=True)
    ]
    text = "on ijcnn1, SenseIT not being at hand: {}"
    return _listed(counted([is_smaller, is_worse]), shown, text, ", ")


def monotone_dual(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the dual objective never falls, and the primal may rise."""
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
    holds = all(dual_holds) and any(primal_rises)
    return _listed(SUPPORTED if holds else MIXED, shown)


def poor_when_stopped(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the error depends on the epoch in which learning is stopped."""
    shown, poor = [], []
    for data, errors in _curves(asked, evidence, "error"):
        late = errors[:, -LATE:]
        poor.append(bool(late.max() - late.min() > POOR))
        shown.append(f"{data} {late.min():.1f} to {late.max():.1f} %")
    text = "test error over the last ten epochs and all seeds: {}"
    return _listed(counted(poor), shown, text, ", ")


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
    """Judge whether the primal objective rises late with a small budget."""
    shown, rises = [], []
    for name, primal in _curves(asked, evidence, "primal"):
        mean = primal.mean(axis=0)
        rises.append(mean[-1] > RISEN * mean.min())
        shown.append(
            f"{name}: primal lowest {mean.min():,.0f} in epoch "
            f"{int(mean.argmin()) + 1}, {mean[-1]:,.0f} at the end"
        )
    return _listed(SUPPORTED if any(rises) else CONTRADICTED, shown)


def cost_of_a_row(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the time of a row grows no faster than the budget."""
    shown, ratios = [], []
    for data in asked.data:
        times = []
        for budget in asked.first:
            found = evidence.outcome(asked.target, data, asked.cell.format(budget))
            if found is not None:
                seconds = np.array(found["curves"]["seconds"])
                rows = seconds.shape[1] * found["rows"]
                times.append(1e6 * seconds[:, -1].min() / rows)
        if len(times) == len(asked.first):
            ratios.append(times[-1] / times[0])
            values = ", ".join(f"{one:.1f}" for one in times)
            budgets = ", ".join(asked.first)
            shown.append(f"{data}: {values} µs a row with {budgets} centres")
    verdict = SUPPORTED if max(ratios, default=STEEP) < STEEP else MIXED
    return _listed(verdict, shown, "{} (five times the centres)")


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
    paper, table = asked.target.split("/")
    numbers = published.of(paper, table, "rmse")
    shown, near = [], []
    for data in asked.data:
        sides, printed = [], []
        for side in (asked.first, asked.second):
            sides.append(asked.best(evidence, side, {"data": data}))
            named = (e for e in numbers if e.dataset == data and e.algorithm in side)
            printed.append(min(e.value for e in named if e.value is not None))
        (name, runs), (best_name, best_runs) = sides
        if runs and best_runs:
            ours, best = float(np.mean(runs)), float(np.mean(best_runs))
            near.append(ours / best <= printed[0] / printed[1])
            shown.append(
                f"{data}: {name} {ours:.{asked.digits}f}, {best_name} "
                f"{best:.{asked.digits}f}, {ours / best:.2f} times as much; published "
                f"{printed[0] / printed[1]:.2f} times"
            )
    return _listed(counted(near), shown)


def gap_by_features(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether the second is the slower beside the first, the more features."""
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
    if len(gaps) < FEWEST:
        return NOT_RUN
    trend = float(spearmanr(features, gaps).statistic)
    verdict = SUPPORTED if trend >= CLEAR else CONTRADICTED if trend <= 0 else MIXED
    text = f"times the seconds of {asked.first} that {asked.second} takes: {{}}; "
    return _listed(verdict, shown, text + f"rank correlation {trend:.2f}", ", ")


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
