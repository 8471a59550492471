"""OGD in the kernel space, NORMA without truncation (card 4.4).

Objective alpha/2 ||w||^2 + mean loss. On every row, with the slope g taken at w_t:

    w_{t+1} = (1 - alpha eta_t) w_t - eta_t g_t phi(x_t)

eta_t = eta0 ("constant") or eta0 / t^power_t ("invscaling"), t the row count from 1.
sample_weight multiplies g; a row of weight 0 still shrinks and counts.
"""

import numpy as np

from tests.exact.averaging import Average, Averager
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
    eta0: float = 1.0,
    alpha: float = 0.0,
    learning_rate: str = "constant",
    power_t: float = 0.5,
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
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        rate = step_size(t, eta0, learning_rate, power_t)
        model.multiply(1 - alpha * rate)
        if np.any(g != 0):
            trace.n_updates += 1
            model.append(x, -rate * g)
        trace.sizes.append(len(model))
    return trace.result(model)


def step_size(t: int, eta0: float, learning_rate: str, power_t: float) -> float:
    """Return eta_t."""
    if learning_rate == "constant":
        return eta0
    if learning_rate == "invscaling":
        return eta0 / t**power_t
    raise ValueError(f"unknown learning_rate {learning_rate!r}")
