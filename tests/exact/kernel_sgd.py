"""Kernel SGD with the Pegasos rate (card 4.1), unbudgeted.

min alpha/2 ||w||^2 + mean loss. On every row, with the slope g taken at w_t (before
shrinking) and t the row count from 1:

    w_{t+1} = (t+t0-1)/(t+t0) w_t - g_t phi(x_t) / (alpha (t+t0))

then, with ball=True and only if g_t != 0, projection on the ball (ball.py).
sample_weight multiplies g; a row of weight 0 still advances t and ymax.
"""

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.ball import project, radius
from tests.exact.expansion import Expansion
from tests.exact.losses import slopes
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    alpha: float = 1e-2,
    t0: float = 0.0,
    ball: bool = False,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    ymax = 0.0
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x)
        trace.see(f, target)
        ymax = max(ymax, abs(float(target)))
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        model.multiply((t + t0 - 1) / (t + t0))
        if np.any(g != 0):
            trace.n_updates += 1
            model.append(x, -g / (alpha * (t + t0)))
            if ball:
                project(model, radius(loss, alpha, ymax))
        trace.sizes.append(len(model))
    return trace.result(model)
