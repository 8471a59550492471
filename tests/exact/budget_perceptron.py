"""Budget Perceptron of Crammer, Kandola and Singer (card 6.8), classification only.

If the margin of the row is <= margin, store the point as the perceptron does. If the
budget is exceeded, delete the center j, the new one included (contract 8), that the
others classify best:

    argmax_j y_j (f(c_j) - a_j k(c_j, c_j)),   the oldest on ties;

three or more classes: the Crammer-Singer margin of the scores without row j.
"""

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import margin_of
from tests.exact.perceptron import newcomer, refuse_weights
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    budget: int,
    margin: float = 0.0,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
) -> Result:
    """Learn the rows in order."""
    refuse_weights(sample_weight)
    if n_classes is None:
        raise ValueError("the Budget Perceptron has no regression form")
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, n_margin_mistakes=0)
    labels: list[float] = []  # of the centers, oldest first
    for x, target in zip(X, y, strict=True):
        f = model.score(x)
        trace.see(f, target)
        row = newcomer(f, target, n_classes, margin=margin)
        if np.any(row != 0):
            trace.n_updates += 1
            trace.n_margin_mistakes += 1
            model.append(x, row)
            labels.append(target)
            if len(model) > budget:
                trace.n_maintenance += 1
                redundancy = [
                    margin_of(model.score_without(j), labels[j], n_classes)
                    for j in range(len(model))
                ]
                victim = int(np.argmax(redundancy))  # the first is the oldest
                model.delete(victim)
                del labels[victim]
        trace.sizes.append(len(model))
    return trace.result(model)
