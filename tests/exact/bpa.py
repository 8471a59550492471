"""PA-I (card 6.6) and its budgeted form BPA-S (card 6.7).

Each row solves min_w' ||w' - w||^2 / 2 + C loss(w'; x_t, y_t), loss the hinge or the
epsilon-insensitive one. Without a budget, or with room in it:

    two classes    append tau y,            tau = min(C, loss / k_tt)
    regression     append tau sign(y - f),  tau = min(C, loss / k_tt)
    more classes   append +tau on row y, -tau on the runner-up,
                   tau = min(C, loss / (2 k_tt))

With a full budget, w' must also lose one old center r and may change the coefficient
of the new point t only. The minimum projects a_r phi_r on phi_t, whatever tau is:

    r = argmin_r |a_r|^2 (k_rr - k_rt^2 / k_tt)   (old centers only, oldest on ties)
    coefficient of t = tau y + a_r k_rt / k_tt

sample_weight multiplies C. C here is a cap on the step.
"""

import numpy as np

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
    sample_weight: np.ndarray | None = None,
    C: float = 1.0,
    budget: int | None = None,
    epsilon: float = 0.1,
) -> Result:
    """Learn the rows in order; budget=None is plain PA-I."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes)
    for x, target, w in zip(X, y, weight, strict=True):
        f = model.score(x)
        trace.see(f, target)
        row = step(f, target, n_classes, model.k(x, x), C * w, epsilon)
        if np.any(row != 0):
            trace.n_updates += 1
            if budget is not None and len(model) == budget:
                trace.n_maintenance += 1
                victim, share = choose_victim(model, x)
                row = row + share * model.coef[victim]
                model.delete(victim)
            model.append(x, row)
        trace.sizes.append(len(model))
    return trace.result(model)


def step(
    f: np.ndarray,
    y: float,
    n_classes: int | None,
    k_tt: float,
    C: float,
    epsilon: float,
) -> np.ndarray:
    """Return the PA-I step for the new point: tau along its direction."""
    direction = np.zeros(len(f))
    if n_classes is None:
        loss = max(0.0, abs(float(y - f[0])) - epsilon)
        direction[0] = np.sign(y - f[0])
    elif n_classes == 2:
        loss = max(0.0, 1 - signed(y) * float(f[0]))
        direction[0] = signed(y)
    else:
        margin, runner_up = crammer_singer(f, int(y))
        loss = max(0.0, 1 - margin)
        direction[int(y)], direction[runner_up] = 1.0, -1.0
    if loss == 0:
        return np.zeros(len(f))
    # k_tt = 0 (a zero row under the linear kernel): no step lowers the loss, so the
    # quotient is infinite and C caps it.
    squared_length = float(direction @ direction) * k_tt
    tau = min(C, loss / squared_length) if squared_length > 0 else C
    return tau * direction


def choose_victim(model: Expansion, x: np.ndarray) -> tuple[int, float]:
    """Return the old center that is cheapest to project on x, and k_rt / k_tt."""
    k_tt = model.k(x, x)
    costs, shares = [], []
    for center, a in zip(model.centers, model.coef, strict=True):
        k_rt = model.k(center, x)
        share = k_rt / k_tt if k_tt > 0 else 0.0
        # a squared norm, which rounding must not push below zero
        residual = max(0.0, model.k(center, center) - share * k_rt)
        costs.append(float(np.sum(a**2)) * residual)
        shares.append(share)
    victim = int(np.argmin(costs))
    return victim, shares[victim]
