"""Judges of what the papers prove, or say of how their systems behave, by measurements.

Each says its rule. A bound is an upper one: what stays below it supports the claim, and
so does a power of T that falls faster than the claimed one.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import linregress, ttest_rel

from onkel.reproduce import (
    avm_gap,
    avm_tradeoff,
    bogd_regret,
    dualsvrg_convergence,
    dualsvrg_rate,
    dualsvrg_sweeps,
    nbsgd_theorem,
)
from onkel.reproduce.agreement import is_constant
from onkel.reproduce.comparators import (
    CONTRADICTED,
    FACTOR,
    LEVEL,
    MIXED,
    NOT_RUN,
    SUPPORTED,
    Finding,
    counted,
    sign_of_difference,
    sign_of_times,
    sign_of_trend,
    verdict_on,
)
from onkel.reproduce.evidence import Evidence, Pair, Question
from onkel.reproduce.store import Outcome

AS_INVERSE = -1.0  # power of T, or of m
STRAIGHT = 0.9  # share of the variance
ABOUT_AS_GOOD = 1.1  # times the least mistakes


def _is_lower(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the first is lower, by a paired t-test at 1 %: orders are the same."""
    difference = np.array(first) - np.array(second)
    if len(difference) < 2 or difference.mean() >= 0:
        return False
    return bool(np.ptp(difference) == 0 or ttest_rel(first, second).pvalue < LEVEL)


def falls_like_inverse(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether what is left of NBSGD falls like 1/T, from T = 1,024 to 16,384.

    For the answer in `first`, on each data set. It does if the 99 % interval of the
    power of T reaches -1, or is below. All, none, or mixed.
    """
    shown, falls = [], []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        said = []
        for system in ("NBSGD", "SGD", "BSGD"):
            if system in found:
                runs = found[system]["curves"][str(asked.first)]
                power = nbsgd_theorem.late_power(runs)
                left = np.mean(runs, axis=0)[-1]
                said.append(f"{system} T^{power.shown()}, {left:.4f} at the end")
                if system == "NBSGD":
                    falls.append(power.is_at_most(AS_INVERSE))
        if said:
            shown.append(f"{data}: {', '.join(said)}")
    if not falls:
        return NOT_RUN
    return Finding(counted(falls), f"{asked.first}. {'; '.join(shown)}")


def objectives_of_a_pass(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether objectives are lowest with NBSGD, then BSGD, then SGD.

    Each data set and lambda; differences by a t-test at 1 %. At the end of the pass
    NBSGD is below both others; in the mean over the pass, by the logarithm of the rows,
    BSGD is between NBSGD and SGD. Of these four comparisons all, none, or mixed.
    """
    shown, right = [], []
    for data in asked.data:
        for power in asked.each["lambda"]:
            found = [
                evidence.outcome(
                    asked.target, data, asked.cell.format(system, **{"lambda": power})
                )
                for system in ("NBSGD", "BSGD", "SGD")
            ]
            if any(one is None for one in found):
                continue
            runs = [np.array(one["curves"]["objective"]) for one in found if one]
            ends = [one[:, -1].tolist() for one in runs]
            means = [one.mean(axis=1).tolist() for one in runs]
            right += [
                sign_of_difference(Pair("", first, second)) == 1
                for first, second in (
                    (ends[0], ends[1]),
                    (ends[0], ends[2]),
                    (means[0], means[1]),
                    (means[1], means[2]),
                )
            ]
            said = ", ".join(f"{np.mean(one):.4f}" for one in (*ends, *means))
            shown.append(f"{data}, lambda {power}: {said}")
    if not shown:
        return NOT_RUN
    lead = f"{sum(right)} of {len(right)} comparisons as claimed"
    heads = "at the end NBSGD, BSGD, SGD, and in the mean over the pass"
    return Finding(counted(right), f"{lead}; {heads}: {'; '.join(shown)}")


def bounded_regret(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether losses stay within a theorem's bound, constants included.

    Against what `first` says. Contradicted if the mean excess of both systems is above
    its bound somewhere, on one data set at least: a bound has no exceptions. Supported
    if it is nowhere, else mixed.
    """
    shown, broken = [], []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        of = {k: one for k, one in found.items() if k.endswith(str(asked.first))}
        shares = {label: bogd_regret.largest_share(one) for label, one in of.items()}
        broken.append([share > 1 for share in shares.values()])
        for label, share in shares.items():
            power = bogd_regret.growth(label, of[label])
            follows = f", regret {label[-1]}^{power}" if power != "-" else ""
            text = f"{data}, {label}: at most {share:.2f} times the bound{follows}"
            shown.append(text)
    if not shown:
        return NOT_RUN
    verdict = MIXED
    if any(one and all(one) for one in broken):
        verdict = CONTRADICTED
    elif not any(map(any, broken)):
        verdict = SUPPORTED
    is_broken = any(map(any, broken))
    lead = f"{asked.first} the bound is {'broken' if is_broken else 'kept'}"
    return Finding(verdict, f"{lead}: {'; '.join(shown)}")


def slightly_slower(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether BOGD++ takes longer than BOGD, but less than counts elsewhere.

    By processor time of passes that take turns: slower if it is so in at least eight
    of nine turns (p = 0.02), slightly if the median ratio is below the factor from
    which on times differ elsewhere. All, none, or mixed.
    """
    shown, slower = [], []
    for data in asked.data:
        for label, outcome in evidence.systems(asked.target, data).items():
            ratios = np.array(outcome["values"])
            enough = np.sum(ratios > 1) >= len(ratios) - 1
            slower.append(bool(enough and np.median(ratios) < FACTOR))
            shown.append(f"{data}, {label}: {np.median(ratios):.2f} times")
    return Finding(counted(slower), "; ".join(shown)) if shown else NOT_RUN


def tradeoff_of_cells(asked: Question, evidence: Evidence) -> Finding:
    """Judge what larger cells do: by ranks, sizes fall with delta, and mistakes rise.

    That the paper's delta balances the two is shown, and not judged: it does not say by
    what.
    """
    (data,) = asked.data
    found = evidence.outcome(asked.target, data, avm_tradeoff.SYSTEM)
    if found is None:
        return NOT_RUN
    means = np.array(found["by_diameter"]).mean(axis=2)
    rates, sizes = means[:, 0], means[:, 1]
    paper = avm_tradeoff.SHARES.index(1.0)
    signs = [
        sign_of_trend(found["diameters"], rates),
        sign_of_trend(found["diameters"], -sizes),
    ]
    shown = ", ".join(
        f"delta {found['diameters'][place]:.2g}: {rates[place]:.2f} %, "
        f"{sizes[place]:,.0f} centres"
        for place in (0, paper, len(rates) - 1)
    )
    return Finding(verdict_on(signs), f"{data}: {shown}")


def schedule(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether more approximation weakens predictions, and makes models smaller.

    By ranks over all schedules: the more rows one keeps, which beta and rho determine,
    the fewer mistakes, and the larger the model.
    """
    (data,) = asked.data
    found = evidence.outcome(asked.target, data, avm_tradeoff.SYSTEM)
    if found is None:
        return NOT_RUN
    means = np.array(found["surface"]).mean(axis=3)
    kept = avm_tradeoff.rows_kept(found["rows"])
    # Without beta all schedules are the same.
    kept, rates, sizes = (
        np.concatenate([one[0, :1], one[1:].ravel()])
        for one in (kept, means[..., 0], means[..., 1])
    )
    signs = [sign_of_trend(kept, -rates), sign_of_trend(kept, sizes)]
    shown = ", ".join(
        f"{rates[place]:.2f} % with {sizes[place]:,.0f} centres where "
        f"{kept[place]:,.0f} rows are kept"
        for place in np.argsort(kept)[[0, len(kept) // 2, -1]]
    )
    return Finding(verdict_on(signs), f"{data}: {shown}")


def always_approximating(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether mistakes with beta = 0 are within a tenth of the least of any."""
    (data,) = asked.data
    found = evidence.outcome(asked.target, data, avm_tradeoff.SYSTEM)
    if found is None:
        return NOT_RUN
    means = np.array(found["surface"]).mean(axis=3)
    always, least = float(means[0, 0, 0]), float(means[..., 0].min())
    size = means[..., 1].ravel()[means[..., 0].argmin()]
    verdict = SUPPORTED if always <= ABOUT_AS_GOOD * least else CONTRADICTED
    return Finding(
        verdict,
        f"{data}: {always:.2f} % with {means[0, 0, 1]:,.0f} centres, at best "
        f"{least:.2f} % with {size:,.0f}",
    )


def gap_by_delta(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether what cells add is at most in proportion to delta_Phi.

    Each data set and loss: at every delta_Phi the mean gap, less two standard errors,
    is no more than the largest gap times delta_Phi over the largest. All, none, or
    mixed. This asks for more than the theorem, whose constant is of the order of 1 /
    lambda, 1,000 here: no gap comes near that.
    """
    shown, holds = [], []
    deltas = np.array(avm_gap.GAPS)
    for data in asked.data:
        for label, outcome in evidence.systems(asked.target, data).items():
            runs = np.array(outcome["curves"]["gap"])
            means = runs.mean(axis=0)
            errors = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            line = max(0.0, float(means.max())) * deltas / deltas[-1]
            holds.append(bool(np.all(means - 2 * errors <= line + avm_gap.ROUNDING)))
            power = avm_gap.slope(outcome)
            follows = f", power {power.mean:.2f}" if power else ""
            shown.append(f"{data}, {label}: {means[0]:.2g} to {means[-1]:.2g}{follows}")
    text = f"delta_Phi from {deltas[0]:g} to {deltas[-1]:g}"
    return Finding(counted(holds), f"{text}: {'; '.join(shown)}") if shown else NOT_RUN


def steadier_and_lower(asked: Question, evidence: Evidence) -> Finding:
    """Judge DualSVRG-H-B, with the paper's step, beside DualSGD at equal parameters.

    Each data set and set of parameters: the mean loss at the end is lower, by its own
    loss and by the hinge of both, and the curve rises less on its last stretch (paired
    t-tests at 1 %). All, none, or mixed.
    """
    shown, holds = [], []
    for data in asked.data:
        found = evidence.systems(asked.target, data)
        for whose in (dualsvrg_convergence.OF_REDUCED, dualsvrg_convergence.OF_PLAIN):
            names = [f"{one}, {whose}" for one in ("DualSVRG-H-B", "DualSGD")]
            if not set(names) <= set(found):
                continue
            one, two = (found[name]["curves"] for name in names)
            kinds = (dualsvrg_convergence.OWN, dualsvrg_convergence.HINGE)
            for kind in kinds:
                ends = [[run[-1] for run in curves[kind]] for curves in (one, two)]
                holds.append(_is_lower(*ends))
            rises = [
                [dualsvrg_convergence.restlessness(run) for run in runs]
                for runs in (one[kinds[0]], two[kinds[0]])
            ]
            holds.append(_is_lower(*rises))
            hinge = [np.mean([r[-1] for r in c[kinds[1]]]) for c in (one, two)]
            shown.append(
                f"{data}, {whose}: hinge {hinge[0]:.3f} and {hinge[1]:.3f}, rises "
                f"{np.mean(rises[0]):.4f} and {np.mean(rises[1]):.4f}"
            )
    text = f"{sum(holds)} of {len(holds)} as claimed; DualSVRG-H-B and DualSGD: "
    return Finding(counted(holds), text + "; ".join(shown)) if shown else NOT_RUN


def _swept(asked: Question, evidence: Evidence) -> list[tuple[str, Outcome]]:
    """Return the sweeps of all data sets and systems that were run."""
    found = [
        (f"{data}, {system}", evidence.outcome(asked.target, data, system))
        for data in asked.data
        for system in asked.first
    ]
    return [(name, outcome) for name, outcome in found if outcome is not None]


def _mistakes(outcome: Outcome) -> np.ndarray:
    return np.asarray(np.mean(outcome["curves"]["mistakes"], axis=0))


def _stays(outcome: Outcome) -> list[bool]:
    """Whether mistakes are within a tenth of the least, whatever is varied.

    Where nothing is learnt but the best constant, nothing can be told.
    """
    mistakes = _mistakes(outcome)
    if all(is_constant(one, outcome["constant"]) for one in mistakes):
        return []
    return [bool(mistakes.max() <= ABOUT_AS_GOOD * mistakes.min())]


def linear_in_memory(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether more memory leaves accuracy as it is and costs linear time.

    Each data set and step: mistakes are within a tenth of the least over all m, unless
    nothing is learnt; a straight line through the times rises and explains nine tenths
    of their variance. All, none, or mixed.
    """
    shown, holds = [], []
    for name, outcome in _swept(asked, evidence):
        mistakes, times = _mistakes(outcome), dualsvrg_sweeps.fastest(outcome)
        line = linregress(dualsvrg_sweeps.SIZES, times)
        holds += _stays(outcome)
        holds.append(bool(line.slope > 0 and line.rvalue**2 >= STRAIGHT))
        shown.append(
            f"{name}: {mistakes[0]:.2f} to {mistakes[-1]:.2f} %, {times[0]:.3f} to "
            f"{times[-1]:.3f} s (r² {line.rvalue**2:.2f})"
        )
    return Finding(counted(holds), "; ".join(shown)) if shown else NOT_RUN


def faster_with_period(asked: Question, evidence: Evidence) -> Finding:
    """Judge whether a longer period leaves accuracy as it is and saves time.

    Each data set and step: mistakes are within a tenth of the least over all n, unless
    nothing is learnt; the longest period is faster than the shortest, as times are
    compared elsewhere. All, none, or mixed.
    """
    shown, holds = [], []
    for name, outcome in _swept(asked, evidence):
        mistakes, times = _mistakes(outcome), dualsvrg_sweeps.fastest(outcome)
        holds += _stays(outcome)
        holds.append(sign_of_times(Pair(name, [times[-1]], [times[0]])) == 1)
        shown.append(
            f"{name}: {mistakes[0]:.2f} to {mistakes[-1]:.2f} %, {times[0]:.3f} to "
            f"{times[-1]:.3f} s"
        )
    return Finding(counted(holds), "; ".join(shown)) if shown else NOT_RUN


def larger_theta(asked: Question, evidence: Evidence) -> Finding:
    """Judge what a larger theta does.

    More rows move with every larger theta; there may be more mistakes with the largest
    than with the smallest, and are so with some step (paired t-test at 1 %). Both,
    none, or mixed.
    """
    shown, moving, worse = [], [], []
    for name, outcome in _swept(asked, evidence):
        sizes = np.mean(outcome["curves"]["size"], axis=0)
        moved = 100 * (1 - sizes / outcome["rows"])
        runs = np.array(outcome["curves"]["mistakes"])
        ends = runs[:, 0].tolist(), runs[:, -1].tolist()
        moving.append(bool(np.all(np.diff(moved) > 0)))
        worse.append(_is_lower(*ends))
        shown.append(
            f"{name}: {moved[0]:.2f} to {moved[-1]:.2f} % move, mistakes "
            f"{runs[:, 0].mean():.2f} to {runs[:, -1].mean():.2f} %"
        )
    verdict = counted([all(moving), any(worse)])
    return Finding(verdict, "; ".join(shown)) if shown else NOT_RUN


def geometric_to_memory(asked: Question, evidence: Evidence) -> Finding:
    """Judge theorem 2 of DualSVRG where its conditions are met.

    Each data set and loss. Contradicted if a mean is above its bound. Supported if all
    are below, the first period shrinks what is left by rho at least, with the largest
    memory, and what remains in the last third of the periods follows 1/m or a faster
    power of the memory, by its 99 % interval; mixed if not.
    """
    shown, bounded, falls, shrinks = [], [], [], []
    for data in asked.data:
        for label, outcome in evidence.systems(asked.target, data).items():
            bounded.append(dualsvrg_rate.is_bounded(label, outcome))
            rho = dualsvrg_rate.rate_of(label)
            power = dualsvrg_rate.power_of_memory(outcome)
            shrinks.append(power.is_at_most(AS_INVERSE))
            left = dualsvrg_rate.floors(outcome).mean(axis=0)
            fall = dualsvrg_rate.first_fall(outcome)
            falls.append(fall <= rho)
            shown.append(
                f"{data}, {label}: first period {fall:.3f} (rho {rho:.2f}), then "
                f"{left[0]:.2g} with m = 2, {left[-1]:.2g} with m = 1000, "
                f"m^{power.shown()}"
            )
    if not shown:
        return NOT_RUN
    verdict = MIXED
    if not all(bounded):
        verdict = CONTRADICTED
    elif all(falls) and all(shrinks):
        verdict = SUPPORTED
    lead = f"within the bound in {sum(bounded)} of {len(bounded)}"
    return Finding(verdict, f"{lead}. {'; '.join(shown)}")


JUDGES: dict[str, Callable[[Question, Evidence], Finding]] = {
    "trade-off of cells": tradeoff_of_cells,
    "schedule of approximation": schedule,
    "always approximating": always_approximating,
    "gap by delta": gap_by_delta,
    "steadier and lower": steadier_and_lower,
    "accuracy stays, time grows linearly": linear_in_memory,
    "accuracy stays, time falls": faster_with_period,
    "larger theta": larger_theta,
    "geometric down to 1/m": geometric_to_memory,
    "regret within its bound": bounded_regret,
    "slightly slower": slightly_slower,
    "falls like 1/T": falls_like_inverse,
    "objectives of a pass": objectives_of_a_pass,
}
