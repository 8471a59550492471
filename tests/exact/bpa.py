"""PA-I (card 6.6) and its budgeted forms BPA-S, BPA-NN and BPA-P (card 6.7).

Each row solves min_w' ||w' - w||^2 / 2 + C loss(w'; x_t, y_t), loss the hinge or the
epsilon-insensitive one. Without a budget, or with room in it:

    two classes    append tau y,            tau = min(C, loss / k_tt)
    regression     append tau sign(y - f),  tau = min(C, loss / k_tt)
    more classes   append +tau on row y, -tau on the runner-up,
                   tau = min(C, loss / (2 k_tt))

With a full budget, w' must also lose one old center r and may change, beside the
coefficient of the new point t, those of some other centers. V are all these:

    s     V = {t}
    nn    V = {t, n}, n the old center nearest to r (highest k, oldest on ties);
          V = {t} if there is none or k_tt k_nn - k_tn^2 <= 1e-6 k_tt k_nn
    p     V = t and all old centers but r

As t is in V, the projection P_V phi_r = sum of d_i phi_i over V leaves the score of x_t
alone, and the minimum is the PA-I step with a_r phi_r projected on V, whatever tau is:

    r = argmin_r |a_r|^2 ||phi_r - P_V phi_r||^2   (old centers only, oldest on ties)
    a_i <- a_i + a_r d_i on V, where a_t = tau y

with K_VV d = k_Vr, the squared length k_rr - d.k_Vr. For p, K is Kj = K + jitter
diag(k_ii) (maintenance.py), and a new point within the span of the stored ones is not
stored, at any size: its step is spread, A += step d.

sample_weight multiplies C. C here is a cap on the step.
"""

import math

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import crammer_singer, signed
from tests.exact.maintenance import in_span, jittered, neighbors, represent, spread
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
    variant: str = "s",
    jitter: float = 1e-8,
) -> Result:
    """Learn the rows in order; budget=None is plain PA-I (but for the span of p)."""
    if variant not in ("s", "nn", "p"):
        raise ValueError(f"unknown variant {variant!r}")
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
            if variant == "p" and spread_in_span(model, x, row, jitter):
                pass  # nothing to store
            elif budget is not None and len(model) == budget:
                trace.n_maintenance += 1
                replace_one(model, x, row, variant, jitter)
            else:
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


def spread_in_span(
    model: Expansion, x: np.ndarray, row: np.ndarray, jitter: float
) -> bool:
    """Spread the step over the centers if they span phi(x); return whether they do."""
    d, r2 = represent(model, x, jitter)
    if not in_span(model, x, r2, jitter):
        return False
    spread(model.coef, row, d)
    return True


def replace_one(
    model: Expansion, x: np.ndarray, row: np.ndarray, variant: str, jitter: float
) -> None:
    """Store x with its step in place of the old center that is cheapest to project."""
    residuals, shares = projections(model, x, variant, jitter)
    costs = [
        float(np.sum(a**2)) * residual
        for a, residual in zip(model.coef, residuals, strict=True)
    ]
    victim = int(np.argmin(costs))
    leaving, d = model.coef[victim], shares[victim]
    model.append(x, row)
    spread(model.coef, leaving, d)
    model.delete(victim)


def projections(
    model: Expansion, x: np.ndarray, variant: str, jitter: float
) -> tuple[list[float], list[np.ndarray]]:
    """Return ||phi_r - P_V phi_r||^2 and d for every old center r.

    d has shape (size + 1,): the old centers, 0 for those outside V, and last t.
    """
    if variant == "p":
        return on_all(model, x, jitter)
    residuals, shares = [], []
    for r in range(len(model)):
        d = on_pair(model, x, r) if variant == "nn" else None
        if d is None:
            d = on_new(model, x, r)
        k_r = np.append(model.row(model.centers[r]), model.k(model.centers[r], x))
        # fsum: the same in every slot. A squared norm, which rounding must not push
        # below zero.
        projected = math.fsum(share * k for share, k in zip(d, k_r, strict=True))
        residuals.append(max(0.0, float(k_r[r]) - projected))
        shares.append(d)
    return residuals, shares


def on_new(model: Expansion, x: np.ndarray, r: int) -> np.ndarray:
    """Return d for V = {t}."""
    k_tt = model.k(x, x)
    d = np.zeros(len(model) + 1)
    d[-1] = model.k(model.centers[r], x) / k_tt if k_tt > 0 else 0.0
    return d


def on_pair(model: Expansion, x: np.ndarray, r: int) -> np.ndarray | None:
    """Return d for V = {t, n}; None: there is no n, or no telling it from t."""
    if len(model) == 1:
        return None
    n = neighbors(model, r, 1)[0]
    c_r, c_n = model.centers[r], model.centers[n]
    k_tt, k_nn, k_tn = model.k(x, x), model.k(c_n, c_n), model.k(c_n, x)
    if k_tt * k_nn - k_tn**2 <= 1e-6 * k_tt * k_nn:
        return None
    d = np.zeros(len(model) + 1)
    K = np.array([[k_tt, k_tn], [k_tn, k_nn]])
    d[[-1, n]] = np.linalg.solve(K, [model.k(c_r, x), model.k(c_r, c_n)])
    return d


def on_all(
    model: Expansion, x: np.ndarray, jitter: float
) -> tuple[list[float], list[np.ndarray]]:
    """Return what projections() does for V = all but r."""
    points = np.array([*model.centers, x])
    Kinv = np.linalg.inv(jittered(model.gram(points, points), jitter))
    residuals, shares = [], []
    for r in range(len(model)):
        d = -Kinv[:, r] / Kinv[r, r]
        d[r] = 0.0
        residuals.append(1 / float(Kinv[r, r]))
        shares.append(d)
    return residuals, shares
