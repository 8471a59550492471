"""Perceptron, unbudgeted (card 6.1).

No objective. On a mistake the point is stored as it is:

    two classes    y f(x) <= 0             a = y, y in {-1, +1}
    more classes   Crammer-Singer a <= 0   +1 on row y, -1 on the runner-up
    regression     |y - f(x)| > epsilon    a = eta0 sign(y - f)

A zero score is a mistake, so the first point is always stored.
"""

import numpy as np

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
    eta0: float = 1.0,
    epsilon: float = 0.1,
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
            model.append(x, row)
        trace.sizes.append(len(model))
    return trace.result(model)


def newcomer(
    f: np.ndarray,
    y: float,
    n_classes: int | None,
    *,
    eta0: float = 1.0,
    epsilon: float = 0.1,
    margin: float = 0.0,
) -> np.ndarray:
    """Return the coefficients of a perceptron's new point; all zero: no mistake."""
    if n_classes is None:
        return -eta0 * slopes("epsilon_insensitive", f, y, None, epsilon=epsilon)
    return -slopes("perceptron", f, y, n_classes, margin=margin)


def refuse_weights(sample_weight: np.ndarray | None) -> None:
    """Raise if weights are given: a system without a loss has none (contract 21)."""
    if sample_weight is not None:
        raise ValueError("the perceptrons have no loss for sample_weight to multiply")
