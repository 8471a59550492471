"""Projectron (card 6.4) and Projectron++ (card 6.5, aggressive=True).

Perceptrons that store a point only if the stored ones cannot stand for it. With
Kj = K + jitter diag(k_ii) of the stored points,

    d = Kj^-1 k(centers, x),  r2 = k(x, x) - k(centers, x).d

are the projection of phi(x) on their span and the squared length of the rest. On a
mistake (perceptron.py) with the step row:

    project  A += row d   if sqrt(r2) <= projection_threshold, or size = budget, or
                          r2 <= 2 jitter k(x, x), which keeps Kj regular
    store    A_new = row  otherwise

Projectron++ learns from margin errors too, but never stores one. Where the margin is in
(0, 1), let loss = 1 - margin, pn2 = k(x, x) - r2, the squared length of the projection,
and rest = loss - sqrt(r2) / projection_threshold. If rest > 0 and pn2 > 1e-12:

    A += tau y d,  tau = min(loss / pn2, 1, 2 rest / pn2)

and with several classes tau / 2 on row y, -tau / 2 on the runner-up. A threshold of 0
admits no such step, regression has no margin. n_maintenance counts the mistakes that
only the budget kept from being stored.
"""

import math

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import crammer_singer, margin_of, signed
from tests.exact.maintenance import in_span, represent, spread
from tests.exact.perceptron import newcomer, refuse_weights
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
    projection_threshold: float = 0.1,
    budget: int | None = None,
    aggressive: bool = False,
    eta0: float = 1.0,
    epsilon: float = 0.1,
    jitter: float = 1e-8,
) -> Result:
    """Learn the rows in order; eta0 and epsilon serve regression only."""
    refuse_weights(sample_weight)
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, n_margin_mistakes=0)
    for x, target in zip(X, y, strict=True):
        f = model.score(x)
        trace.see(f, target)
        row = newcomer(f, target, n_classes, eta0=eta0, epsilon=epsilon)
        if np.any(row != 0):
            trace.n_updates += 1
            trace.n_margin_mistakes += 1
            d, r2 = represent(model, x, jitter)
            near = math.sqrt(r2) <= projection_threshold
            near = near or in_span(model, x, r2, jitter)
            full = budget is not None and len(model) == budget
            trace.n_maintenance += full and not near
            if near or full:
                spread(model.coef, row, d)
            else:
                model.append(x, row)
        elif aggressive and n_classes is not None:
            loss = 1 - margin_of(f, target, n_classes)
            if loss > 0:
                d, r2 = represent(model, x, jitter)
                pn2 = model.k(x, x) - r2
                tau = margin_step(loss, r2, pn2, projection_threshold)
                if tau > 0:
                    trace.n_updates += 1
                    spread(model.coef, tau * direction(f, target, n_classes), d)
        trace.sizes.append(len(model))
    return trace.result(model)


def margin_step(loss: float, r2: float, pn2: float, threshold: float) -> float:
    """Return tau of a margin error; 0: no step."""
    if threshold == 0 or pn2 <= 1e-12:
        return 0.0
    rest = loss - math.sqrt(r2) / threshold
    if rest <= 0:
        return 0.0
    return min(loss / pn2, 1.0, 2 * rest / pn2)


def direction(f: np.ndarray, y: float, n_classes: int) -> np.ndarray:
    """Return the direction in which tau = loss / pn2 takes the margin to 1."""
    if n_classes == 2:
        return np.array([signed(y)])
    half = np.zeros(len(f))
    half[int(y)], half[crammer_singer(f, int(y))[1]] = 0.5, -0.5
    return half
