"""QKLMS, quantised KLMS (Chen, Zhao, Zhu, Principe 2012): table 1 of the paper.

The errors are those of KLMS (klms.py). With the codebook C, a code vector and its
coefficients for each centre, and j* the nearest of them, dis = |x_t - C_j*|:

    dis <= coverage_radius    a_j* <- a_j* + eta0 e_t; the codebook stays
    otherwise                 x_t enters the codebook, with a = eta0 e_t

The oldest is the nearest on ties. Not in the paper: a row without an error does not
enter; if max_core have, the nearest one takes the step (when_full = drop: none does).
Distances are squared on both sides.
"""

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.expansion import Expansion
from tests.exact.klms import errors
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    coverage_radius: float,
    max_core: int | None = None,
    when_full: str = "absorb",
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
            distances = [float(np.sum((x - c) ** 2)) for c in model.centers]
            nearest = int(np.argmin(distances)) if distances else -1
            if distances and distances[nearest] <= coverage_radius**2:
                model.coef[nearest] = model.coef[nearest] + step
            elif max_core is None or len(model) < max_core:
                model.append(x, step)
            elif when_full == "absorb":
                model.coef[nearest] = model.coef[nearest] + step
        trace.sizes.append(len(model))
    return trace.result(model)
