"""NORMA (Kivinen, Smola, Williamson 2004), without offset and without nu, on a window.

Stochastic gradient descent on alpha/2 |f|^2 + l(f(x), y). For row t, with the slope
g_t = l'(f_t(x_t), y_t), the paper's coefficients become

    a_i <- (1 - eta_t alpha) a_i  for i < t,    a_t = -eta_t g_t

eta_t = eta0 ("constant") or eta0 / t^power_t ("invscaling"). Where g_t is not 0 the
term is added, and of more than `budget` terms the oldest is left out.
sample_weight multiplies g.
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
    budget: int,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    eta0: float = 0.5,
    alpha: float = 1e-3,
    learning_rate: str = "constant",
    power_t: float = 0.5,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order; the terms are kept oldest first."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        eta = eta0 if learning_rate == "constant" else eta0 / t**power_t
        model.multiply(1 - eta * alpha)
        if np.any(g != 0):
            trace.n_updates += 1
            model.append(x, -eta * g)
            if len(model) > budget:
                trace.n_maintenance += 1
                model.delete(0)
        trace.sizes.append(len(model))
    return trace.result(model)
