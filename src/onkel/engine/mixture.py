"""Mixture: the scores of several models as one, with weights that are learnt.

    f_o = sum_e w_e s_eo                 s_e: the scores of model e, clipped
    A   <- lam A + (1 - lam) I/width + S' H S
    w   <- w - A^-1 g,    g = S' p

for each row, with S the scores of its models by outputs, p the slopes of the loss l by
the outputs and H its curvatures: for two classes the log loss, for more that of the
softmax, so that f are log-odds; for values the squared error, which makes of this
recursive least squares. The clip keeps a model that has lost its way from taking the
weights with it; values are clipped where no target has been so far.

Symbols: w is `weights`, A `precision`, lam `KEPT`, width `WIDTH`.

These are Newton's steps, online (Hazan, Agarwal, Kale, 2007). Where a loss is at least
its parabola l + g'd + 1/2 d'(S' H S)d, as squared errors are, then for all weights u,
whatever the rows, and all of weight 1,

    sum_t l_t(w_t) - sum_t l_t(u) <= |u - w_1|^2 / (2 width) + 1/2 sum_t g_t' A_t^-1 g_t

since A forgets towards what it began with, and so never has more than has been added.
Log losses of two classes are above it only with H over 1 + |S d|/2, so that what lacks
is added on the right: 1/4 sum_t |S d_t| d_t'(S' H S)d_t at most, d_t = u - w_t. That is
little where the weights are near u, and no guarantee where they are not.

With p'p <= c H the last sum is at most c (log det A_T / det A_0 - E T log lam), for E
models: logarithmic without forgetting, and with it a small loss a row, for which the
weights follow where the best ones go. u may be any one of the models alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import inner, jit
from onkel.problem.losses import Loss, slope

# What a row leaves of what was known of the weights before it; how far they are from
# where they begin, squared; and the least curvature of a log loss, so that few rows
# that all models know do not leave the weights to the first that they do not.
KEPT, WIDTH, LEAST = 0.9995, 0.1, 1e-3
# Scores that are never clipped, and the most that a row weighs: steps of heavier ones
# would go too far, which curvatures from before them cannot know.
LIMIT, HEAVIEST = 3.0, 100.0
# Share of a diagonal that is the least pivot: below it there is nothing but rounding,
# where scores or weights of rows are far larger than those before them.
ROUNDED = 1e-14


class Mixture(NamedTuple):
    """The weights, and how well they are known."""

    weights: np.ndarray  # shape (models,)
    precision: np.ndarray  # shape (models, models)
    largest: np.ndarray  # shape (1,): score that is not clipped

    def copy(self) -> "Mixture":
        """Return another that learns by itself."""
        return Mixture(*(part.copy() for part in self))


def begin(weights: np.ndarray, largest: float = LIMIT) -> Mixture:
    """Return a mixture that has learnt nothing.

    Examples
    --------
    >>> begin(np.array([1.0, 0.0])).weights
    array([1., 0.])
    """
    known = np.eye(len(weights)) / WIDTH
    return Mixture(weights.astype(np.float64), known, np.array([float(largest)]))


@inner
def _clipped(score: Any, limit: float) -> float:
    return min(max(float(score), -limit), limit)


@inner
def _look(loss: Loss, f: Any, y: float, share: Any, slopes: Any) -> None:
    """Find the slopes of the loss, and the shares of classes, of one by themselves."""
    outputs = len(f)
    if outputs == 1:
        slopes[0] = slope(loss, f[0], y)
        return
    highest, mass = f[0], 0.0
    for o in range(1, outputs):
        highest = max(highest, f[o])
    for o in range(outputs):
        share[o] = math.exp(f[o] - highest)
        mass += share[o]
    for o in range(outputs):
        share[o] /= mass
        slopes[o] = share[o] - (1.0 if o == int(y) else 0.0)


@inner
def _curvature(slope_by_f: float, is_regression: bool) -> float:
    """Of the loss of one output, by its slope: log losses have p (1 - p)."""
    if is_regression:
        return 1.0
    doubt = abs(slope_by_f)
    return max(doubt * (1.0 - doubt), LEAST)


@inner
def _solve(matrix: Any, right: Any) -> None:
    """Solve for a symmetric positive definite matrix, in place; few unknowns."""
    size = len(right)
    for k in range(size):
        least = ROUNDED * matrix[k, k]
        for i in range(k):
            matrix[k, k] -= matrix[k, i] * matrix[k, i]
        matrix[k, k] = math.sqrt(max(matrix[k, k], least))
        for j in range(k + 1, size):
            for i in range(k):
                matrix[j, k] -= matrix[j, i] * matrix[k, i]
            matrix[j, k] /= matrix[k, k]
    for k in range(size):
        for i in range(k):
            right[k] -= matrix[k, i] * right[i]
        right[k] /= matrix[k, k]
    for k in range(size - 1, -1, -1):
        for i in range(k + 1, size):
            right[k] -= matrix[i, k] * right[i]
        right[k] /= matrix[k, k]


@jit
def mix(
    loss: Loss,  # of values or of two classes
    is_regression: bool,
    scores: Any,  # shape (rows, models, outputs)
    y: Any,  # shape (rows,): targets, or class indices; without rows nothing is learnt
    weight: Any,  # shape (rows,), of the rows
    mixture: Mixture,
    out: Any,  # shape (rows, outputs): the answers, each before its own step
) -> None:
    """Mix the scores, and learn the weights on the way."""
    weights, precision, largest = mixture
    models, outputs = scores.shape[1:]
    known, share = np.empty((models, outputs)), np.empty(outputs)
    slopes, mean = np.empty(outputs), np.empty(models)
    pull, factor = np.empty(models), np.empty((models, models))
    for i in range(len(scores)):
        for o in range(outputs):
            total = 0.0
            for e in range(models):
                known[e, o] = _clipped(scores[i, e, o], largest[0])
                total += weights[e] * known[e, o]
            out[i, o] = total
        if len(y) == 0 or weight[i] == 0.0:
            continue
        heavy = min(weight[i], HEAVIEST)
        if is_regression:
            largest[0] = max(largest[0], abs(y[i]))
        _look(loss, out[i], y[i], share, slopes)
        if outputs == 1:
            share[0], mean[:] = _curvature(slopes[0], is_regression), 0.0
        else:
            for e in range(models):
                mean[e] = 0.0
                for o in range(outputs):
                    mean[e] += share[o] * known[e, o]
        for e in range(models):
            pull[e] = 0.0
            for o in range(outputs):
                pull[e] += heavy * slopes[o] * known[e, o]
            for d in range(e + 1):
                bend = 0.0
                for o in range(outputs):
                    bend += share[o] * (known[e, o] - mean[e]) * (known[d, o] - mean[d])
                prior = (1.0 - KEPT) / WIDTH if d == e else 0.0
                precision[e, d] = KEPT * precision[e, d] + prior + heavy * bend
                factor[e, d] = precision[d, e] = precision[e, d]
        _solve(factor, pull)
        for e in range(models):
            weights[e] -= pull[e]
