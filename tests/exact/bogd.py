"""BOGD, uniform and weighted (card 4.5): OGD on a budget, unbiased by sampling.

Objective alpha/2 ||w||^2 + mean loss, constant step eta0. With the slope g at w_t:

    g = 0            w <- (1 - alpha eta0) w
    g != 0, room     the same, then append -eta0 g
    g != 0, full     draw a victim r with probability p_r; the others become
                     (1 - alpha eta0) / (1 - p_i) a_i; the new point, -eta0 g, takes
                     the victim's slot

so that with the cap off the mean over victims is OGD's step. Then every row, the new
one too, is clipped to norm max_coef eta0.

    uniform    p_i = 1 / budget
    weighted   p_i = max(0, 1 - s u_i), u_i = |a_i| sqrt(k(c_i, c_i)), s so that they
               sum to 1. Two or more u_i = 0: one of these at random, others p = 0.
    as_printed p_i = 1 - (B - 1) u_i / sum(u), negative ones 0, divided by their sum

One u = rng.random() is drawn per replacement. |a_i| is the norm of the row.
"""

import math

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.expansion import Expansion
from tests.exact.losses import slopes
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    budget: int,
    rng: np.random.Generator,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    eta0: float = 1.0,
    alpha: float = 1e-2,
    sampling: str = "uniform",
    max_coef: float = math.inf,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order; max_coef = inf turns the cap off."""
    if budget < 2:
        raise ValueError("a sole center cannot be replaced without bias (contract 7)")
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    for x, target, w in zip(X, y, weight, strict=True):
        f = model.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        if not np.any(g != 0):
            model.multiply(1 - alpha * eta0)
        else:
            trace.n_updates += 1
            if len(model) < budget:
                model.multiply(1 - alpha * eta0)
                model.append(x, -eta0 * g)
            else:
                trace.n_maintenance += 1
                victim, boosts = choose_victim(model, sampling, rng.random())
                for i, boost in enumerate(boosts):
                    model.coef[i] = (1 - alpha * eta0) * boost * model.coef[i]
                model.replace(victim, x, -eta0 * g)
            model.coef = [clip(row, max_coef * eta0) for row in model.coef]
        trace.sizes.append(len(model))
    return trace.result(model)


def choose_victim(model: Expansion, sampling: str, u: float) -> tuple[int, np.ndarray]:
    """Return the victim's slot and the factors 1 / (1 - p_i) of all slots."""
    size = len(model)
    if sampling == "uniform":
        return int(u * size), np.full(size, 1 / (1 - 1 / size))
    if sampling not in ("weighted", "as_printed"):
        raise ValueError(f"unknown sampling {sampling!r}")
    lengths = np.array(
        [
            math.sqrt(float(np.sum(a**2))) * math.sqrt(model.k(c, c))
            for c, a in zip(model.centers, model.coef, strict=True)
        ]
    )
    if sampling == "as_printed":
        p = printed(lengths)
        return draw(p, u), 1 / np.where(p < 1, 1 - p, 1)
    zeros = np.flatnonzero(lengths == 0)
    if len(zeros) >= 2:
        return int(zeros[int(u * len(zeros))]), np.ones(size)
    p, s = waterfill(lengths)
    boosts = np.ones(size)
    for i in range(size):
        # 1 - p_i = s u_i, which keeps its digits where 1 - p_i has lost them. A zero
        # length has p = 1: it is the victim, and no survivor to boost.
        if p[i] > 0 and lengths[i] > 0:
            boosts[i] = 1 / (s * lengths[i])
    return draw(p, u), boosts


def printed(lengths: np.ndarray) -> np.ndarray:
    """Return eq. (16), p_i = 1 - (B - 1) u_i / sum(u), cut at 0, summing to 1."""
    total = math.fsum(lengths)
    if total == 0:
        return np.full(len(lengths), 1 / len(lengths))
    p = np.maximum(0.0, 1 - (len(lengths) - 1) * lengths / total)
    return p / p.sum()


def waterfill(lengths: np.ndarray) -> tuple[np.ndarray, float]:
    """Return p_i = max(0, 1 - s u_i) and the s for which they sum to 1."""
    ascending = np.sort(lengths)
    if len(lengths) < 2 or ascending[1] == 0:
        raise ValueError("water-filling needs two entries, at most one of them zero")
    s = 0.0
    for j in range(2, len(lengths) + 1):
        # the j smallest carry all the probability: sum of (1 - s u_i) over them is 1
        s = (j - 1) / math.fsum(ascending[:j])
        if j < len(lengths) and s * ascending[j] >= 1:
            break
    return np.maximum(0.0, 1 - s * lengths), s


def draw(p: np.ndarray, u: float) -> int:
    """Return the first slot whose cumulative probability exceeds u."""
    total = 0.0
    for i in range(len(p)):
        total += p[i]
        if total > u:
            return i
    return int(np.flatnonzero(p > 0)[-1])  # rounding left the sum below u


def clip(row: np.ndarray, limit: float) -> np.ndarray:
    """Return the row, shortened to the limit if its norm exceeds it."""
    norm = math.sqrt(float(np.sum(row**2)))
    return row if norm <= limit else row * (limit / norm)
