"""AVM, the approximation vector machine (card 4.6): a core stands for its cell.

Kernel SGD (kernel_sgd.py) that never deletes and whose step may be taken at a core
point instead. With the slope g at x_t and w_t, t the row count from 1:

    w_{t+1} = (t+t0-1)/(t+t0) w_t - g_t phi(z_t) / (alpha (t+t0))

    Z = 0   z_t = x_t, an ordinary center, which never serves as a core
    Z = 1   z_t = the core that covers x_t; if there is none, x_t becomes one;
            if there are max_core of them, z_t = the nearest, and x_t is absorbed
            (when_full = drop: the update is lost)

then, with ball=True and only if g_t != 0, projection on the ball (ball.py). Z = 1 has
the probability max(0, 1 - approx_beta / t^approx_rho): one u = rng.random() is drawn
for each row with g_t != 0, whatever the probability, and Z = 1 iff
u >= approx_beta / t^approx_rho.

A core c covers x, all inequalities strict, d the number of features:

    sphere  ||x - c||^2 < coverage_radius^2
    box     max_k |x_k - c_k| < a, a = coverage_radius / sqrt(d); paper_box doubles a
    grid    floor(x / side) = floor(c / side), side = 2 coverage_radius / sqrt(d)

and of several the nearest in Euclidean distance, the oldest on ties. (So z_t is within
coverage_radius of x_t; paper_box and grid: within twice that, a diameter.)

lazy_core=False draws and covers rows with g_t = 0 as well: with Z = 1 and no cover such
a row becomes a core of coefficient 0, or nothing at max_core; with Z = 0, nothing.

diagnostics, beside the model: cores (1 or 0 per center), absorbed (how many, one
number), assigned (||x_t - z_t|| for every row with g_t != 0 and Z = 1).
"""

import math

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.ball import project, radius
from tests.exact.expansion import Expansion
from tests.exact.losses import slopes
from tests.exact.result import Result, Trace


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    coverage: str = "sphere",
    coverage_radius: float,
    approx_beta: float = 0.0,
    approx_rho: float = 1.0,
    max_core: int | None = None,
    when_full: str = "absorb",
    lazy_core: bool = True,
    paper_box: bool = False,
    rng: np.random.Generator,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "hinge",
    alpha: float = 1e-2,
    t0: float = 0.0,
    ball: bool | str = False,
    epsilon: float = 0.1,
    smoothing: float = 0.5,
    average: Average | None = None,
) -> Result:
    """Learn the rows in order."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    model = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    trace = Trace(n_classes, averager=Averager(model, average, len(X)))
    cores: list[int] = []  # their slots, oldest first; nothing ever leaves its slot
    n_absorbed = 0
    assigned: list[float] = []
    ymax = 0.0
    for t, (x, target, w) in enumerate(zip(X, y, weight, strict=True), start=1):
        f = model.score(x)
        trace.see(f, target)
        ymax = max(ymax, abs(float(target)))
        g = w * slopes(loss, f, target, n_classes, epsilon=epsilon, smoothing=smoothing)
        model.multiply((t + t0 - 1) / (t + t0))
        row = -g / (alpha * (t + t0))
        learns = bool(np.any(g != 0))
        if learns or not lazy_core:
            approximate = rng.random() >= approx_beta / t**approx_rho
            if approximate:
                points = np.array([model.centers[i] for i in cores]).reshape(-1, len(x))
                far = np.sum((points - x) ** 2, axis=1)  # squared distances
                hit = covering(points, x, coverage, coverage_radius, paper_box)
                if not hit.any() and (max_core is None or len(cores) < max_core):
                    cores.append(len(model))
                    model.append(x, np.zeros(model.outputs))
                    far, hit = np.append(far, 0.0), np.append(hit, True)
                if learns:
                    covered = hit.any()
                    n_absorbed += not covered
                    hit = hit if covered else np.ones_like(hit)
                    # argmin takes the first, so the oldest, on ties
                    nearest = int(np.argmin(np.where(hit, far, np.inf)))
                    if covered or when_full == "absorb":
                        z = cores[nearest]
                        model.coef[z] = model.coef[z] + row
                        assigned.append(math.sqrt(far[nearest]))
            elif learns:
                model.append(x, row)
        if learns:
            trace.n_updates += 1
            if ball:
                project(model, radius(loss, alpha, ymax, ball))
        trace.sizes.append(len(model))
    return trace.result(
        model,
        cores=[int(i in cores) for i in range(len(model))],
        absorbed=[n_absorbed],
        assigned=assigned,
    )


def covering(
    cores: np.ndarray,  # shape (m, d)
    x: np.ndarray,
    coverage: str,
    reach: float,  # coverage_radius
    paper_box: bool,
) -> np.ndarray:
    """Tell which cores cover x, shape (m,)."""
    root = math.sqrt(len(x))
    if coverage == "sphere":
        return np.sum((cores - x) ** 2, axis=1) < reach**2
    if coverage == "box":
        half = (2 if paper_box else 1) * reach / root
        return np.max(np.abs(cores - x), axis=1) < half
    if coverage == "grid":
        side = 2 * reach / root
        return np.all(np.floor(cores / side) == np.floor(x / side), axis=1)
    raise ValueError(f"unknown coverage {coverage!r}")
