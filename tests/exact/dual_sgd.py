"""DualSGD (card 5.2): kernel SGD whose overflow moves into features.

min alpha/2 ||w||^2 + mean loss, with a model in two spaces,

    f(x) = sum_i a_i k(c_i, x) + wr . phi(x),  wr in R^{D x outputs}.

A row's step, with the slope g taken at w_t and t the row count from 1 (contract 1, 15;
E31):

    shrink    everything, a and wr, by (t+t0-1)/(t+t0)
    insert    if g != 0: x_t becomes a center with a = -g / (alpha (t+t0))
    move      if then size > budget: the merge_size centers of smallest |a| leave, and
              wr += sum_i a_i phi(c_i) over them

|a| is the Euclidean norm over the outputs, whatever k(c, c). The newcomer may be among
those that move. Equal |a|: the oldest first; as in bsgd.py the raw coefficients, -g at
insertion, are compared, for under the hinge all |a| are equal (contract 4). n_updates
counts insertions, n_maintenance the times that centers moved, however many.

The mass of a center that moves (averaging.py) goes into the features by the same map,
mass_i phi(c_i); exact=True retires it at its point instead.
"""

import math

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
from tests.exact.result import Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    features: FeatureMap,
    budget: int,
    merge_size: int,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    alpha: float = 1e-2,
    t0: float = 0.0,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> FeatureResult:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    part = FeaturePart(features, dimension(features, X.shape[1]), model.outputs)
    averager = FeatureAverager(model, part, average, len(X))
    trace = Trace(n_classes, averager=averager)
    raws: list[np.ndarray] = []  # beside model.coef, for comparison only
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x) + part.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        shrink = (t + t0 - 1) / (t + t0)
        model.multiply(shrink)
        part.multiply(shrink)
        if np.any(g != 0):
            trace.n_updates += 1
            model.append(x, -g / (alpha * (t + t0)))
            raws.append(-g)
            if len(model) > budget:
                trace.n_maintenance += 1
                move(model, raws, part, merge_size)
        trace.sizes.append(len(model))
    result = trace.result(model)
    return FeatureResult(**vars(result), w=part.w, mean_w=averager.mean_w())


def move(
    model: Expansion, raws: list[np.ndarray], part: FeaturePart, count: int
) -> None:
    """Move the smallest centers into the features."""
    # hypot, since a square may underflow; sorted() is stable and slots are by age.
    by_size = sorted(range(len(model)), key=lambda i: math.hypot(*raws[i]))
    leaving = sorted(by_size[:count])
    for i in leaving:
        part.add(model.centers[i], model.coef[i])
        model.retire(i)  # a mass that retires is not moved
        part.add_mass(model.centers[i], model.mass[i])
    for i in reversed(
        leaving
    ):  # the last first: the slots before it stay what they are
        model.delete(i)
        del raws[i]
