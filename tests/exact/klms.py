"""KLMS, kernel least mean squares (Liu, Pokharel, Principe 2008), unbudgeted.

From f_1 = 0, for every row:

    e_t = d_t - f_t(x_t),    f_{t+1} = f_t + eta0 e_t k(x_t, .)

The target d is y, or -1 and +1 for two classes. Of more classes (not in the paper) the
error is that of the Crammer-Singer margin, e = 1 - (f_y - f_r), r the runner-up, and
the rows of y and r get eta0 e and -eta0 e. A row without an error is not stored.
"""

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.expansion import Expansion
from tests.exact.losses import crammer_singer, signed
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
    eta0: float = 0.5,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order."""
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    for x, target in zip(X, y, strict=True):
        f = model.score(x)
        trace.see(f, target)
        step = eta0 * errors(f, target, n_classes)
        if np.any(step != 0):
            trace.n_updates += 1
            model.append(x, step)
        trace.sizes.append(len(model))
    return trace.result(model)


def errors(f: np.ndarray, y: float, n_classes: int | None) -> np.ndarray:
    """Return what each output is to gain, shape (outputs,)."""
    if n_classes is None:
        return float(y) - f
    if n_classes == 2:
        return signed(y) - f
    margin, runner_up = crammer_singer(f, int(y))
    e = np.zeros(len(f))
    e[int(y)], e[runner_up] = 1 - margin, margin - 1
    return e
