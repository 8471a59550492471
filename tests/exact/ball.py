"""Projection on the ball that holds the minimiser (section 2, last column; 3.5).

w <- w min(1, R / ||w||), ||w||^2 the sum over outputs of a^T K a, with k(x, x) <= 1 and

    squared_error                          R = ymax / (2 sqrt(alpha))
                                           as_printed: ymax / sqrt(alpha)
    hinge, smooth_hinge, squared_hinge     R = 1 / sqrt(alpha)
    log_loss                               R = sqrt(2 ln 2 / alpha)
    absolute_error, epsilon_insensitive    R = sqrt(2 ymax / alpha)

ymax is the largest |y| so far, the current row included.
"""

import math

from tests.exact.expansion import Expansion


def radius(loss: str, alpha: float, ymax: float, ball: bool | str = True) -> float:
    """Return R."""
    if loss == "squared_error":
        return ymax / ((1 if ball == "as_printed" else 2) * math.sqrt(alpha))
    if loss in ("hinge", "smooth_hinge", "squared_hinge"):
        return 1 / math.sqrt(alpha)
    if loss == "log_loss":
        return math.sqrt(2 * math.log(2) / alpha)
    if loss in ("absolute_error", "epsilon_insensitive"):
        return math.sqrt(2 * ymax / alpha)
    raise ValueError(f"no ball for the loss {loss!r}")


def project(model: Expansion, limit: float) -> float:
    """Scale the model into the ball of radius limit; return the factor."""
    norm = math.sqrt(max(0.0, model.squared_norm()))
    if norm <= limit:
        return 1.0
    model.multiply(limit / norm)
    return limit / norm
