"""FOGD (card 7.1): linear OGD on features, without a center.

Objective alpha/2 ||w||^2 + mean loss, f(x) = w . phi(x), w in R^{D x outputs}. On every
row, with the slope g taken at w_t:

    w_{t+1} = (1 - alpha eta_t) w_t - eta_t g_t phi(x_t)

eta_t = eta0 ("constant") or eta0 / t^power_t ("invscaling"), t the row count from 1:
OGD (ogd.py) with the kernel phi(x) . phi(z). A row without a slope shrinks too
(contract 13); sample_weight multiplies g.

The sizes of the result are 0. kernel and gamma, degree, coef0 are the business of
whoever made the features: they are taken, as all systems take them, and not used.
"""

import numpy as np

from tests.exact.averaging import Average
from tests.exact.expansion import Expansion
from tests.exact.features import (
    FeatureAverager,
    FeatureMap,
    FeaturePart,
    FeatureResult,
    dimension,
)
from tests.exact.losses import slopes
from tests.exact.ogd import step_size
from tests.exact.result import Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    features: FeatureMap,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    eta0: float = 1.0,
    alpha: float = 0.0,
    learning_rate: str = "constant",
    power_t: float = 0.5,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> FeatureResult:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    empty = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    part = FeaturePart(features, dimension(features, X.shape[1]), empty.outputs)
    averager = FeatureAverager(empty, part, average, len(X))
    trace = Trace(n_classes, averager=averager)
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = part.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        rate = step_size(t, eta0, learning_rate, power_t)
        part.multiply(1 - alpha * rate)
        if np.any(g != 0):
            trace.n_updates += 1
            part.add(x, -rate * g)
        trace.sizes.append(0)
    result = trace.result(empty)
    return FeatureResult(**vars(result), w=part.w, mean_w=averager.mean_w())
