"""Mixture: the scores of several models as one, with weights that are learnt.

    f_o = sum_e weight_e clip(score_eo),    weight <- weight - rate dl/dweight

one step a row, l the loss: for two classes the log loss, for more that of the softmax,
so that f are log-odds; for values the squared error. The clip keeps a model that has
lost its way from taking the weights with it.

These are steps of online gradient descent on a convex loss, so that (Zinkevich, 2003)
for all weights u, whatever the rows,

    sum_t l_t(w_t) - sum_t l_t(u) <= |u - w_1|^2 / (2 rate) + rate/2 sum_t |g_t|^2

with gradients g_t. Log losses have |g_t|^2 <= 4 E limit^2 for E models, a quarter of it
with two classes; and u may be any one of them alone. Weights that change on the way, by
P in all, cost P / rate times the largest |w_t| more, so that the rate does not fall.
"""

import math
from typing import Any

from onkel.compiled.functions import inner, jit
from onkel.problem.losses import Loss, slope


@inner
def _clipped(score: Any, limit: float) -> float:
    return min(max(float(score), -limit), limit)


@jit
def mix(
    loss: Loss,
    scores: Any,  # shape (rows, models, outputs)
    y: Any,  # shape (rows,): targets, or class indices; without rows nothing is learnt
    weights: Any,  # shape (models,)
    rate: float,
    limit: float,
    out: Any,  # shape (rows, outputs): the answers, each before its own step
) -> None:
    """Mix the scores, and learn the weights on the way."""
    models, outputs = scores.shape[1:]
    for i in range(len(scores)):
        for o in range(outputs):
            total = 0.0
            for e in range(models):
                total += weights[e] * _clipped(scores[i, e, o], limit)
            out[i, o] = total
        if len(y) == 0:
            continue
        highest, mass = out[i, 0], 0.0
        for o in range(outputs):
            highest = max(highest, out[i, o])
        for o in range(outputs):
            mass += math.exp(out[i, o] - highest)
        for o in range(outputs):
            if outputs == 1:
                pull = slope(loss, out[i, 0], y[i])
            else:
                share = math.exp(out[i, o] - highest) / mass
                pull = share - (1.0 if o == int(y[i]) else 0.0)
            for e in range(models):
                weights[e] -= rate * pull * _clipped(scores[i, e, o], limit)
