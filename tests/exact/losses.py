"""Losses on a score: value and slope g = dl/df (ALGORITHMS section 2).

Margin losses take y in {-1, +1} and act on m = y f; residual losses act on r = f - y.

hinge                max(0, 1 - m)                     -y if m < 1
smooth_hinge         1 - m - s/2 | (1 - m)^2 / (2 s)   -y | -y (1 - m) / s
squared_hinge        max(0, 1 - m)^2 / 2               -y max(0, 1 - m)
log_loss             log(1 + exp(-m))                  -y / (1 + exp(m))
perceptron           max(0, margin - m)                -y if m <= margin
squared_error        r^2 / 2                           r
absolute_error       |r|                               sign(r)
epsilon_insensitive  max(0, |r| - epsilon)             sign(r) if |r| > epsilon

Three or more classes: a margin loss acts on the Crammer-Singer margin
a = f_y - max_{j != y} f_j, with slope l'(a) on row y and -l'(a) on the runner-up.
"""

import math

import numpy as np


def value(
    loss: str,
    f: float,
    y: float,
    *,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    margin: float = 0.0,
) -> float:
    """Return the loss of the score f for the target y."""
    m, r = y * f, f - y
    if loss == "hinge":
        return max(0.0, 1 - m)
    if loss == "smooth_hinge":
        if m >= 1:
            return 0.0
        if m <= 1 - smoothing:
            return 1 - m - smoothing / 2
        return (1 - m) ** 2 / (2 * smoothing)
    if loss == "squared_hinge":
        return max(0.0, 1 - m) ** 2 / 2
    if loss == "log_loss":
        # log(1 + exp(-m)) with the exponent never positive
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))
    if loss == "perceptron":
        return max(0.0, margin - m)
    if loss == "squared_error":
        return r**2 / 2
    if loss == "absolute_error":
        return abs(r)
    if loss == "epsilon_insensitive":
        return max(0.0, abs(r) - epsilon)
    raise ValueError(f"unknown loss {loss!r}")


def slope(
    loss: str,
    f: float,
    y: float,
    *,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    margin: float = 0.0,
) -> float:
    """Return dl/df; at a kink, the side the contract names (strict < for hinge)."""
    m, r = y * f, f - y
    if loss == "hinge":
        return -y if m < 1 else 0.0
    if loss == "smooth_hinge":
        if m >= 1:
            return 0.0
        if m <= 1 - smoothing:
            return -y
        return -y * (1 - m) / smoothing
    if loss == "squared_hinge":
        return -y * max(0.0, 1 - m)
    if loss == "log_loss":
        if m > 0:
            return -y * math.exp(-m) / (1 + math.exp(-m))
        return -y / (1 + math.exp(m))
    if loss == "perceptron":
        return -y if m <= margin else 0.0
    if loss == "squared_error":
        return r
    if loss == "absolute_error":
        return float(np.sign(r))
    if loss == "epsilon_insensitive":
        return float(np.sign(r)) if abs(r) > epsilon else 0.0
    raise ValueError(f"unknown loss {loss!r}")


def crammer_singer(f: np.ndarray, y: int) -> tuple[float, int]:
    """Return the margin f_y - max_{j != y} f_j and the runner-up (lowest on ties)."""
    runner_up = -1
    for j in range(len(f)):
        if j != y and (runner_up < 0 or f[j] > f[runner_up]):
            runner_up = j
    return float(f[y] - f[runner_up]), runner_up


def margin_of(f: np.ndarray, y: float, n_classes: int) -> float:
    """Return y f with y in {-1, +1} for two classes, else the Crammer-Singer margin."""
    if n_classes == 2:
        return signed(y) * float(f[0])
    return crammer_singer(f, int(y))[0]


def slopes(
    loss: str,
    f: np.ndarray,  # shape (outputs,)
    y: float,
    n_classes: int | None,
    **options: float,
) -> np.ndarray:
    """Return the slope of the loss in every output's score, shape (outputs,)."""
    if n_classes is None:
        return np.array([slope(loss, float(f[0]), float(y), **options)])
    if n_classes == 2:
        return np.array([slope(loss, float(f[0]), signed(y), **options)])
    margin, runner_up = crammer_singer(f, int(y))
    g = np.zeros(len(f))
    g[int(y)] = slope(loss, margin, 1.0, **options)
    g[runner_up] = -g[int(y)]
    return g


def signed(y: float) -> float:
    """Return the class index 0 or 1 as -1.0 or +1.0."""
    return 1.0 if int(y) == 1 else -1.0


def predicted_class(f: np.ndarray, n_classes: int) -> int:
    """Return the second class iff f > 0, or the highest of several (first on ties)."""
    if n_classes == 2:
        return int(f[0] > 0)
    return int(np.argmax(f))
