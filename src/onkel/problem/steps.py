"""Step: how much to move.

The step proposes the weight of a row; the budget has the last word.
"""

import math
from enum import IntEnum
from typing import NamedTuple

from onkel.compiled.functions import inner
from onkel.problem.losses import Loss, value
from onkel.problem.tasks import Verdict


class Kind(IntEnum):
    """The steps."""

    GRADIENT = 0
    PASSIVE_AGGRESSIVE = 1


class Step(NamedTuple):
    """A step and its parameter; the functions below make one."""

    kind: int
    C: float


def gradient() -> Step:
    """Make the step against the slope, as long as the rate says."""
    return Step(int(Kind.GRADIENT), 0.0)


def passive_aggressive(C: float) -> Step:
    """Make the step that just repairs the row's loss, at most C long (PA-I)."""
    return Step(int(Kind.PASSIVE_AGGRESSIVE), float(C))


@inner
def propose(
    step: Step,
    loss: Loss,
    verdict: Verdict,
    gain: float,
    kxx: float,
    sample_weight: float,
) -> float:
    """Weight for output `verdict.up`; `verdict.down` moves by its negative."""
    if step.kind == Kind.PASSIVE_AGGRESSIVE:
        # A pair of outputs moves the margin twice as fast.
        squared = kxx if verdict.down < 0 else 2.0 * kxx
        tau = step.C * sample_weight
        lost = value(loss, verdict.score, verdict.target)
        if lost < tau * squared:
            tau = lost / squared
        return -math.copysign(tau, verdict.slope)
    return -gain * verdict.slope * sample_weight
