"""BSGD (card 4.2): kernel SGD with a hard limit on the size.

min alpha/2 ||w||^2 + mean loss. A row's step, with the slope g taken at w_t:

    shrink     w <- (t+t0-1)/(t+t0) w
    insert     if g != 0: w <- w - g phi(x_t) / (alpha (t+t0))
    maintain   if size > budget: take one center out, or several (maintenance.py)
    ball       if ball and g != 0: project (ball.py)

Under the hinge all |a_p| are equal and removal is one long tie (E3). Coefficients that
are shrunk again and again no longer tie in floating point, so the raw ones, -g at
insertion, are kept beside them to compare; a ball projection by c scales all the
present ones alike, hence later raws are -g / c.

maintenance="projection" spreads a new point within the span over the stored ones, below
the budget too; that is an update, but no insertion and no maintenance.
"""

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.ball import project, radius
from tests.exact.expansion import Expansion
from tests.exact.losses import slopes
from tests.exact.maintenance import check, insert, maintain
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
    alpha: float = 1e-2,
    t0: float = 0.0,
    ball: bool | str = False,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    maintenance: str = "removal",
    n_neighbors: int = 4,
    victim: str = "residual",
    jitter: float = 1e-8,
    n_merged: int = 2,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    check(model, maintenance, victim)
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    raws: list[np.ndarray] = []  # beside model.coef, for comparison only
    shrunk_by_ball = 1.0
    ymax = 0.0
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x)
        trace.see(f, target)
        ymax = max(ymax, abs(float(target)))
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        model.multiply((t + t0 - 1) / (t + t0))
        if np.any(g != 0):
            trace.n_updates += 1
            row, raw = -g / (alpha * (t + t0)), -g / shrunk_by_ball
            stored = insert(
                model, raws, x, row, raw, maintenance=maintenance, jitter=jitter
            )
            if stored and len(model) > budget:
                trace.n_maintenance += 1
                maintain(
                    model,
                    raws,
                    maintenance=maintenance,
                    n_neighbors=n_neighbors,
                    victim=victim,
                    jitter=jitter,
                    n_merged=n_merged,
                )
            if ball:
                shrunk_by_ball *= project(model, radius(loss, alpha, ymax, ball))
        trace.sizes.append(len(model))
    return trace.result(model)
