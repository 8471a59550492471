"""What monitoring computes from the scores of all rows."""

from typing import Any

import numpy as np

from onkel import ascent
from onkel.compiled import jit
from onkel.engine.dual import target
from onkel.losses import Loss, slope, value
from onkel.tasks import judge


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
                surrogate += ascent.share(loss, scores[i, o], yo, dual[o, i], C[i])
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
        out[i] += ascent.moved(loss, y[i], step)
