"""RBP, the randomized budget perceptron (card 6.2).

The perceptron of card 6.1; on a mistake with a full budget one old center, uniformly
drawn, makes room: slot int(u size), u = rng.random(), and the new point takes it.
"""

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.perceptron import newcomer, refuse_weights
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    budget: int,
    rng: np.random.Generator,
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
            if len(model) < budget:
                model.append(x, row)
            else:
                trace.n_maintenance += 1
                victim = int(rng.random() * len(model))
                model.replace(victim, x, row)
        trace.sizes.append(len(model))
    return trace.result(model)
