"""What recursive least squares need to know besides the posterior, and how it lies.

Outputs are those of the slow memory, of the fast one where there is one, and of the
learner that repairs where there is one, each as many as the targets have.
"""

from typing import NamedTuple

from onkel.compiled.functions import inlined
from onkel.engine.posterior import Posterior
from onkel.model.inverse import JITTER
from onkel.problem import losses, steps
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.steps import Step


class Repair(NamedTuple):
    """Another learner on the same centres, whose steps just repair a loss."""

    loss: Loss
    step: Step  # passive-aggressive
    there: bool  # whether there is one


ALONE = Repair(losses.make("hinge"), steps.passive_aggressive(1.0), False)


class RecursivePlan(NamedTuple):
    """What phase 2 needs to know besides the posterior."""

    kernel: Kernel
    loss: Loss  # the squared error
    rate: Rate  # constant; nothing shrinks by itself
    ball: bool  # never; the learner asks every plan
    noise: float  # variance of targets around the function, the prior's being k(x, x)
    forgetting: float
    threshold: float  # share of k(x, x) that must be new in a row, so that it stays
    labels: bool  # whether targets are classes
    by_norm: bool  # whether the norm of the function says who leaves
    repair: Repair = ALONE
    faster: float = 1.0  # the forgetting of the second memory, where there is one


@inlined
def outputs_of_one(plan: RecursivePlan, belief: Posterior) -> int:
    """How many outputs a learner has."""
    others = 1 if plan.repair.there else 0
    return len(belief.mean) // (len(belief.answers) + others)


@inlined
def regressed_outputs(plan: RecursivePlan, belief: Posterior) -> int:
    """How many outputs are not those of the learner that repairs."""
    return outputs_of_one(plan, belief) * len(belief.answers)


@inlined
def forgetting_of(plan: RecursivePlan, m: int) -> float:
    """What a row leaves in a memory of those before it."""
    return plan.forgetting if m == 0 else plan.faster


@inlined
def is_newcomer(plan: RecursivePlan, kxx: float, r2: float) -> bool:
    """Whether the centres leave enough of a row for another."""
    return r2 > max(plan.threshold, 2.0 * JITTER) * kxx
