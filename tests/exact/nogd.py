"""NOGD (card 7.2): OGD, in the kernel space first, then on Nystrom features.

Both phases take the step of OGD, eta_t as in ogd.py, t the row count from 1 through
both of them, and shrink on every row. With the slope g taken at w_t:

    phase 1    w_{t+1} = (1 - alpha eta_t) w_t - eta_t g_t k(x_t, .)
    phase 2    w_{t+1} = (1 - alpha eta_t) w_t - eta_t g_t z(x_t),  f(x) = w . z(x)

The switch is at the first row with g_t != 0 that finds `budget` centers B; they become
the landmarks and stay. Its f and g are those of phase 1, its step is one of phase 2. In
between, a the coefficients of the landmarks:

    K_BB = V diag(lam) V^T      the `rank` largest lam, of these lam > 1e-10 lam_1
    z(x) = diag(lam)^{-1/2} V^T k_B(x)
    w    = diag(lam)^{1/2} V^T a

Shrinking is linear, so it may come before w is made or after it. A function w . z(x) is
k_B(x) . a with a = M w, M = V diag(lam)^{-1/2}: the coefficients of the result, whose
scores are k(x, centers) @ coef.T in both phases. Fewer than budget + 1 updates: no
switch.

A switch is no maintenance: nothing leaves, and the size never is above the budget.

The mean of the iterates passes through the switch by the map of w: masses of the
landmarks become diag(lam)^{1/2} V^T mass, that is, the iterates of phase 1 count as
their projections on the features. exact=True leaves those of phase 1 as they were, for
the landmarks stay; then the mean is no vector of features, and mean_w is None.
"""

from dataclasses import dataclass

import numpy as np

from tests.exact.averaging import Average
from tests.exact.expansion import Expansion
from tests.exact.features import FeatureAverager, FeaturePart
from tests.exact.losses import slopes
from tests.exact.ogd import step_size
from tests.exact.result import Result, Trace


@dataclass(kw_only=True)
class NogdResult(Result):
    """A result with the features; they are None as long as phase 1 lasts.

    After the switch the centers are the landmarks and coef is (M w)^T.
    """

    switched: int | None  # the row number t, from 1
    w: np.ndarray | None = None  # shape (r, outputs), r <= rank
    mean_w: np.ndarray | None = None
    lam: np.ndarray | None = None  # shape (r,), largest first
    V: np.ndarray | None = None  # shape (budget, r)


class Nystrom:
    """The features z of some landmarks."""

    def __init__(self, model: Expansion, rank: int) -> None:
        lam, V = np.linalg.eigh(model.matrix())
        lam, V = lam[::-1], V[:, ::-1]  # eigh gives the smallest first
        kept = [i for i in range(min(rank, len(lam))) if lam[i] > 1e-10 * lam[0]]
        self.lam, self.V = lam[kept], V[:, kept]
        self.row = model.row

    def z(self, x: np.ndarray) -> np.ndarray:
        """Return z(x) = diag(lam)^{-1/2} V^T k_B(x)."""
        return (self.V.T @ self.row(x)) / np.sqrt(self.lam)

    def transfer(self, rows: list[np.ndarray]) -> np.ndarray:
        """Return diag(lam)^{1/2} V^T a, the rows being those of a."""
        return np.sqrt(self.lam)[:, None] * (self.V.T @ np.array(rows))

    def back(self, w: np.ndarray) -> list[np.ndarray]:
        """Return the rows of M w."""
        return list(self.V @ (w / np.sqrt(self.lam)[:, None]))


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    budget: int,
    rank: int,
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
) -> NogdResult:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    outputs = model.outputs
    # No features in phase 1. In phase 2 the landmarks' own coefficients are zero.
    part = FeaturePart(lambda x: np.zeros(0), 0, outputs)
    averager = FeatureAverager(model, part, average, len(X))
    trace = Trace(n_classes, averager=averager)
    space: Nystrom | None = None
    switched = None
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x) if space is None else part.score(x)
        trace.see(f, target)
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        learns = bool(np.any(g != 0))
        if learns and space is None and len(model) == budget:
            space, switched = Nystrom(model, rank), t
            part.features = space.z
            part.w = space.transfer(model.coef)
            model.coef = [np.zeros(outputs)] * budget
            part.mass = np.zeros_like(part.w)
            if model.retired is None:  # the mean is not to be exact
                part.mass = space.transfer(model.mass)
                model.mass = [np.zeros(outputs)] * budget
        rate = step_size(t, eta0, learning_rate, power_t)
        model.multiply(1 - alpha * rate)
        part.multiply(1 - alpha * rate)
        if learns:
            trace.n_updates += 1
            if space is None:
                model.append(x, -rate * g)
            else:
                part.add(x, -rate * g)
        trace.sizes.append(len(model))
    if space is None:
        return NogdResult(**vars(trace.result(model)), switched=None)
    model.coef = space.back(part.w)
    late = space.back(part.mass)
    model.mass = [m + n for m, n in zip(model.mass, late, strict=True)]
    return NogdResult(
        **vars(trace.result(model)),
        switched=switched,
        w=part.w,
        mean_w=averager.mean_w() if model.retired is None else None,
        lam=space.lam,
        V=space.V,
    )
