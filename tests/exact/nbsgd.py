"""NBSGD (card 4.3): BSGD that maintains its size only now and then.

As BSGD (bsgd.py), but an insertion that exceeds the budget is followed by maintenance
only with probability min(maintenance_rate / t, 1), t the row count from 1; otherwise
the model grows. One u = rng.random() is drawn per such insertion, also where the
probability is 0 or 1, and the maintenance takes place iff u < probability. A point that
"projection" spreads over the stored ones is no insertion and draws nothing.

maintenance_rate = 0 is kernel SGD, infinity is BSGD. If the draw says no and the size
exceeds hard_budget, the maintenance takes place all the same.
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
    maintenance_rate: float,
    rng: np.random.Generator,
    hard_budget: int | None = None,
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
    raws: list[np.ndarray] = []  # beside model.coef, for comparison only (bsgd.py)
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
                u = rng.random()
                drawn = u < min(maintenance_rate / t, 1.0)
                forced = hard_budget is not None and len(model) > hard_budget
                if drawn or forced:
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
