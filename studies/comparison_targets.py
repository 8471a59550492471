"""What the comparison was to show, and whether it did."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from studies.comparison_methods import METHODS
from studies.comparison_sets import REGRESSION, SETS
from studies.comparison_verdicts import Difference, Result, Results, Standing

# Points against SVC; against LightGBM points, and a part of its error for values.
HALF_A_POINT, ONE_POINT, PART = 0.5, 1.0, 0.03
NOT_WORSE = 14  # of all sets
FIVE_MINUTES = 300.0
HALF_THE_SECONDS = 0.5
# covtype with seven classes: what, by which method, most percent and seconds.
COVTYPE = (
    ("500 centres, one thread", "onkel", 15.0, 90.0),
    ("4,000 centres, GPU", "onkel-cuda-4000", 5.5, 30.0),
)


def _outcome(held: bool, text: str) -> str:
    return f"{'Held' if held else '**Missed**'}: {text}."


def counted(sets: int, missed: Iterable[str]) -> str:
    """Say on how many sets a target was held, and name those where it was not.

    Examples
    --------
    >>> counted(15, ["casp (+3.53, worse)"])
    '**Missed**: held on 14 of 15 sets, missed on casp (+3.53, worse).'
    >>> counted(7, [])
    'Held: on all 7 sets.'
    """
    names = list(missed)
    if not names:
        return _outcome(True, f"on all {sets} sets")
    held = f"held on {sets - len(names)} of {sets} sets"
    return _outcome(False, f"{held}, missed on {', '.join(names)}")


def targets(verdicts: Mapping[str, Standing]) -> list[str]:
    """Count the targets of a method of ours, failures by name."""
    trees = {name: v.to_trees for name, v in verdicts.items() if v.to_trees}
    machine = {name: v.to_machine for name, v in verdicts.items() if v.to_machine}
    tuned = {name: v.to_tuned for name, v in verdicts.items() if v.to_tuned}
    if not trees and not machine:
        return ["Not measured yet.", ""]
    worse = [gap for gap in trees.values() if gap.verdict == "worse"]
    far = {n: gap for n, gap in trees.items() if _is_far(n, gap)}
    behind = {n: gap for n, gap in machine.items() if gap.points > HALF_A_POINT}
    lines = [
        f"- Better than LightGBM's defaults, or tied, on {NOT_WORSE} of {len(SETS)} "
        f"sets. {_outcome(len(worse) <= len(SETS) - NOT_WORSE, _by_verdict(trees))}",
        "- Never more than one point worse than these, and for values than 3 %. "
        + counted(len(trees), _named(far)),
        "- Never more than half a point worse than the better SVC. "
        + counted(len(machine), _named(behind)),
        "- Against LightGBM tuned for as long as 500 centres take, no target: "
        + (_by_verdict(tuned) if tuned else "not measured yet")
        + ".",
    ]
    for rival, gaps in (("LightGBM", trees), ("SVC", machine), ("tuned", tuned)):
        if missing := [name for name in SETS if name not in gaps]:
            lines.append(f"- Not compared with {rival}: {', '.join(missing)}.")
    return [*lines, ""]


def _is_far(name: str, gap: Difference) -> bool:
    if name in REGRESSION:
        return gap.points > PART * gap.theirs
    return gap.points > ONE_POINT


def _named(gaps: Mapping[str, Difference]) -> list[str]:
    return [f"{n} ({gap.points:+.2f}, {gap.verdict})" for n, gap in gaps.items()]


def _by_verdict(gaps: Mapping[str, Difference]) -> str:
    said = []
    for kind in ("better", "tie", "worse"):
        names = [name for name, gap in gaps.items() if gap.verdict == kind]
        told = f" ({', '.join(names)})" if names and kind != "tie" else ""
        said.append(f"{kind} on {len(names)}{told}")
    return ", ".join(said)


# ---- seconds ---------------------------------------------------------------------


def against_earlier(found: Results, earlier: Results) -> str:
    """Tell seconds at 500 centres as a part of those of an earlier version."""
    parts, processors = {}, set()
    for name, of_set in found.items():
        now, before = of_set.get("onkel"), earlier.get(name, {}).get("onkel")
        if now and before and (both := now.errors.keys() & before.errors.keys()):
            parts[name] = _seconds(now, both) / _seconds(before, both)
            processors |= {frozenset(now.processors), frozenset(before.processors)}
    said = (
        "- Seconds at 500 centres at most half of the earlier version's on the "
        "geometric mean. "
    )
    if not parts:
        return said + "Not measured yet."
    mean = math.exp(float(np.mean(np.log(list(parts.values())))))
    least, most = min(parts, key=parts.__getitem__), max(parts, key=parts.__getitem__)
    text = (
        f"{mean:.2f} times on {len(parts)} sets, from {parts[least]:.2f} ({least}) to "
        f"{parts[most]:.2f} ({most}), "
    )
    if len(processors) == 1:
        return said + _outcome(mean <= HALF_THE_SECONDS, text + "on the same processor")
    return f"{said}Not decided: {text}but on different processors."


def _seconds(result: Result, seeds: Iterable[int]) -> float:
    return float(
        np.mean([each["seconds"] for each in result.records if each["seed"] in seeds])
    )


def of_covtype(of_set: Mapping[str, Result]) -> list[str]:
    """Tell errors and seconds on covtype, and how far five minutes of a GPU reach."""
    lines = []
    for what, method, percent, seconds in COVTYPE:
        said = f"- covtype-7, {what}: {percent:g} % in {seconds:g} s. "
        if result := of_set.get(method):
            held = result.error <= percent and result.seconds <= seconds
            text = f"{result.error:.2f} % in {result.seconds:.1f} s"
            lines.append(said + _outcome(held, text))
        else:
            lines.append(said + "Not measured yet.")
    soon = [
        result
        for method, result in of_set.items()
        if METHODS[method].device == "cuda" and result.seconds <= FIVE_MINUTES
    ]
    if soon:
        best = min(soon, key=lambda result: result.error)
        lines.append(
            f"- covtype-7, the best in five minutes of a GPU: {best.error:.2f} % with "
            f"{best.mean('model_size'):,.0f} centres in {best.seconds:.0f} s."
        )
    return lines


# ---- the GPU ---------------------------------------------------------------------


class Agreement(NamedTuple):
    """GPU less CPU in points, and what chance explains."""

    points: float
    noise: float

    @property
    def holds(self) -> bool:
        """Whether chance explains it."""
        return abs(self.points) <= self.noise


def agreement(cpu: Result, gpu: Result) -> Agreement | None:
    """Compare the seeds that both have; None if there are none.

    Chance is two standard errors of the difference of the means, by the spread over
    seeds; of one seed only it is that of the test rows.
    """
    seeds = sorted(cpu.errors.keys() & gpu.errors.keys())
    if not seeds:
        return None
    errors = np.array([[each.errors[seed] for seed in seeds] for each in (cpu, gpu)])
    points = float(errors[1].mean() - errors[0].mean())
    if len(seeds) > 1:
        spread = math.sqrt(float(errors.var(axis=1, ddof=1).sum()) / len(seeds))
    else:
        spread = 100 * max(each.mean("standard_error") for each in (cpu, gpu))
    return Agreement(points, 2 * spread)
