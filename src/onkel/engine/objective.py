"""What monitoring and the re-fit compute from the scores of all rows."""

import math
from typing import Any

import numpy as np

from onkel.compiled.functions import jit
from onkel.engine.dual import target
from onkel.problem import dual_steps
from onkel.problem.losses import Kind, Loss, curvature, slope, value
from onkel.problem.tasks import judge


@jit
def totals(loss: Loss, scores: Any, y: Any, C: Any, dual: Any) -> Any:
    """Return the loss, weighted by C, and the surrogate of the dual.

    `dual` has as many rows as there are outputs: one class against the rest. Without
    any it is the loss of the task, and there is no dual.
    """
    outputs = scores.shape[1]
    lost, surrogate = 0.0, 0.0
    f = np.zeros(outputs)
    for i in range(len(y)):
        if len(dual) == 0:
            f[:] = scores[i]
            verdict = judge(loss, f, y[i])
            lost += C[i] * value(loss, verdict.score, verdict.target)
            continue
        for o in range(outputs):
            yo = target(y[i], o, outputs)
            lost += C[i] * value(loss, scores[i, o], yo)
            if C[i] > 0.0:
                surrogate += dual_steps.share(loss, scores[i, o], yo, dual[o, i], C[i])
    return lost, surrogate


@jit
def collect_slopes(
    loss: Loss, scores: Any, y: Any, weight: Any, rows: Any, out: Any
) -> None:
    """Add up, for each row, the weight times the slopes of its visits, with y's sign.

    `out` is what the dual variables of a gradient system are proportional to.
    """
    for k in range(len(rows)):
        i = rows[k]
        step = -weight[i] * slope(loss, scores[k, 0], y[i])
        out[i] += dual_steps.moved(loss, y[i], step)


@jit
def differentiate(
    loss: Loss,
    scores: Any,  # shape (rows, outputs)
    y: Any,  # shape (rows,): targets, or class indices
    C: Any,  # shape (rows,)
    slopes: Any,  # shape (rows, outputs)
    curvatures: Any,  # shape (rows,)
) -> float:
    """Return the loss, weighted by C; slopes, and curvatures meant over the outputs.

    Several classes are one against the rest each, but for the log loss: that of their
    softmax.
    """
    outputs = scores.shape[1]
    together = outputs > 1 and loss.kind == Kind.LOG_LOSS
    total = 0.0
    for i in range(len(y)):
        bend, highest, mass = 0.0, 0.0, 0.0
        if together:
            highest = scores[i, 0]
            for o in range(1, outputs):
                highest = max(highest, scores[i, o])
            for o in range(outputs):
                mass += math.exp(scores[i, o] - highest)
            total += C[i] * (math.log(mass) + highest - scores[i, int(y[i])])
        for o in range(outputs):
            if together:
                share = math.exp(scores[i, o] - highest) / mass
                slopes[i, o] = C[i] * (share - (1.0 if o == int(y[i]) else 0.0))
                bend += share * (1.0 - share)
                continue
            yo = target(y[i], o, outputs)
            total += C[i] * value(loss, scores[i, o], yo)
            slopes[i, o] = C[i] * slope(loss, scores[i, o], yo)
            bend += curvature(loss, scores[i, o], yo)
        curvatures[i] = C[i] * bend / outputs
    return total
