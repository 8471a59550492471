"""Self-tuned Forgetron (card 6.3).

The perceptron of card 6.1. When the new point (already in f') exceeds the budget, all
coefficients shrink by phi and the oldest center r is dropped. With s = |a_r| before
shrinking and mu = y_r f'(x_r), phi is the largest value in (0, 1] with

    Q + (s phi)^2 + 2 s phi (1 - phi mu) <= (15/32) M,

and Q becomes the left side. Q -> damage, M -> n_updates (all updates so far).

Three or more classes: s and mu from the row of the victim's true class.
Regression: mu = |f'(x_r)|, a heuristic.
"""

import math

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import signed
from tests.exact.perceptron import newcomer, refuse_weights
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
    eta0: float = 1.0,
    epsilon: float = 0.1,
) -> Result:
    """Learn the rows in order; eta0 and epsilon serve regression only."""
    refuse_weights(sample_weight)
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, n_margin_mistakes=0)
    labels: list[float] = []  # of the centers
    damage = 0.0
    phis, damages, limits = [], [], []
    for x, target in zip(X, y, strict=True):
        f = model.score(x)
        trace.see(f, target)
        row = newcomer(f, target, n_classes, eta0=eta0, epsilon=epsilon)
        if np.any(row != 0):
            trace.n_updates += 1
            trace.n_margin_mistakes += 1
            model.append(x, row)
            labels.append(target)
            if len(model) > budget:
                trace.n_maintenance += 1
                magnitude, mu = victim_terms(model, labels[0], n_classes)
                phi = shrinkage(magnitude, mu, damage, trace.n_updates)
                damage += (magnitude * phi) ** 2
                damage += 2 * magnitude * phi * (1 - phi * mu)
                model.multiply(phi)
                model.delete(0)
                del labels[0]
                phis.append(phi)
                damages.append(damage)
                limits.append(15 / 32 * trace.n_updates)
        trace.sizes.append(len(model))
    return trace.result(model, phi=phis, damage=damages, limit=limits)


def victim_terms(
    model: Expansion, label: float, n_classes: int | None
) -> tuple[float, float]:
    """Return |a_r| and mu of the oldest center, whose label is given."""
    f, a = model.score(model.centers[0]), model.coef[0]
    if n_classes is None:
        return abs(float(a[0])), abs(float(f[0]))
    if n_classes == 2:
        return abs(float(a[0])), signed(label) * float(f[0])
    return abs(float(a[int(label)])), float(f[int(label)])


def shrinkage(magnitude: float, mu: float, damage: float, n_updates: int) -> float:
    """Return the largest phi in (0, 1] that keeps the damage within 15 M / 32."""
    # A phi^2 + B phi + C <= 0 with C < 0. This root is right for every sign of A; the
    # textbook one amplifies (phi > 1) when A < 0.
    A = magnitude**2 - 2 * magnitude * mu
    B = 2 * magnitude
    C = damage - 15 / 32 * n_updates
    if A + B + C <= 0:
        return 1.0
    return -2 * C / (B + math.sqrt(B**2 - 4 * A * C))
