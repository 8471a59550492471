"""DualSVRG (card 5.3): variance-reduced steps, some rows cores and the rest features.

min alpha/2 ||w||^2 + mean loss. A model has coefficients for the cores c_j and a vector
wr for the features phi~, both per output:

    w(x) = sum_j a_j k(c_j, x) + wr . phi~(x)

and a row x_i is in one of the two spaces for good: Phi_i is the unit coefficient of its
own core (Z_i = 0), or phi~(x_i) in wr (Z_i = 1). Row t, from w = u = 0, eta = eta0:

    gw, gu   the slopes at w(x_t) and at the checkpoint u(x_t), by output
    Z_t      by the oracle, see below; a new core has the coefficient 0 in w, in u and
             in every stored model
    memory   the last memory_size rows, x_t among them: M, of length |M|
    v        (gw - gu) Phi_t + 1/|M| sum_{i in M} gu_i Phi_i, with gu_i at u(x_i)
    w        <- (w - eta v) / (1 + eta alpha), and this w is stored

and if snapshot_period divides t: u <- the mean of the last snapshot_period stored w,
then w <- u. sample_weight multiplies all slopes of its row, gu_i too; a row of weight 0
is in the memory, counts in |M| and shrinks w.

Three or more classes: gw and gu have two entries each, at the class and at the
runner-up, which may be another one under u than under w.

oracle          x_t becomes a core iff
    budget      there are fewer than budget cores, whatever its slope
    always_move never
    coverage    no core c has ||c - x_t|| < coverage_radius or c = x_t,
                gw != 0 in an output (not asked with lazy_core=False), and
                there are fewer than max_core cores (None: always)

No trick here: past models and rows are kept, and every step scores the whole memory.

n_updates counts rows with gw != 0; w changes on the others, too. n_maintenance is 0.
diagnostics: absorbed (one number: the rows that are not cores only because there were
max_core of them).
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import slopes
from tests.exact.result import Result, Trace

Features = Callable[[np.ndarray], np.ndarray]  # (d,) -> (D,)


class Model(NamedTuple):
    """A point of the dual space, or a gradient in it."""

    core: np.ndarray  # shape (outputs, cores)
    rest: np.ndarray  # shape (outputs, D), wr


class Seen(NamedTuple):
    """A row in the memory."""

    x: np.ndarray
    target: float
    weight: float
    slot: int | None  # of its own core; None: it moved (Z = 1)


@dataclass(kw_only=True)
class DualResult(Result):
    """A result whose centers and coef are the cores', with the rest of the models."""

    feature_coef: np.ndarray  # shape (outputs, D), wr of the last w
    checkpoint_coef: np.ndarray  # shape (outputs, size), the last u at the cores
    checkpoint_feature_coef: np.ndarray  # shape (outputs, D), the last u at phi~
    moved: np.ndarray  # shape (n,), Z
    gw: np.ndarray  # shape (n, outputs), each row's slopes at w, weight included
    gu: np.ndarray  # shape (n, outputs), those at u, before a checkpoint of its own
    iterates: list[Model]  # w after each row's step, before a checkpoint resets it
    checkpoints: list[Model]  # each u but the first, which is 0


def run(
    X: np.ndarray,
    y: np.ndarray,
    *,
    oracle: str,
    features: Features,
    eta0: float,
    alpha: float = 1e-2,
    memory_size: int = 100,
    snapshot_period: int = 100,
    reset: bool = True,
    budget: int = 100,
    coverage_radius: float = 1.0,
    max_core: int | None = None,
    lazy_core: bool = True,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
    n_classes: int | None = None,
    sample_weight: np.ndarray | None = None,
    loss: str = "smooth_hinge",
    epsilon: float = 0.1,
    smoothing: float = 0.5,
) -> DualResult:
    """Learn the rows in order."""
    if oracle not in ("budget", "always_move", "coverage"):
        raise ValueError(f"unknown oracle {oracle!r}")
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    # The points of all models; it holds no coefficients before the end.
    cores = Expansion(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    n_outputs, n_components = cores.outputs, len(features(np.zeros(X.shape[1])))

    def score(model: Model, x: np.ndarray) -> np.ndarray:
        terms = np.hstack((model.core * cores.row(x), model.rest * features(x)))
        # fsum rounds once whatever the order, so equal sums are equal scores.
        return np.array([math.fsum(row) for row in terms.tolist()])

    def slopes_at(model: Model, row: Seen) -> np.ndarray:
        f = score(model, row.x)
        options = {"epsilon": epsilon, "smoothing": smoothing}
        return row.weight * slopes(loss, f, row.target, n_classes, **options)

    def zero() -> Model:
        return Model(
            np.zeros((n_outputs, len(cores))), np.zeros((n_outputs, n_components))
        )

    def times_phi(g: np.ndarray, row: Seen) -> Model:
        product = zero()
        if row.slot is None:
            product.rest[:] = np.outer(g, features(row.x))
        else:
            product.core[:, row.slot] = g
        return product

    w, u = zero(), zero()
    memory: deque[Seen] = deque()
    stored: deque[Model] = deque()
    trace = Trace(n_classes)
    moved: list[int] = []
    gws: list[np.ndarray] = []
    gus: list[np.ndarray] = []
    n_absorbed = 0
    iterates: list[Model] = []
    checkpoints: list[Model] = []
    for t, (x, target, c) in enumerate(zip(X, y, weight, strict=True), start=1):
        row = Seen(x, float(target), float(c), None)
        trace.see(score(w, x), target)
        gw, gu = slopes_at(w, row), slopes_at(u, row)
        learns = bool(np.any(gw != 0))

        if oracle == "budget":
            is_core = len(cores) < budget
        elif oracle == "coverage":
            wanted = (learns or not lazy_core) and not covered(
                cores.centers, x, coverage_radius
            )
            is_core = wanted and (max_core is None or len(cores) < max_core)
            n_absorbed += wanted and not is_core
        else:
            is_core = False
        if is_core:
            row = row._replace(slot=len(cores))
            cores.append(x, np.zeros(n_outputs))
            w, u = grown(w), grown(u)
            stored = deque(grown(past) for past in stored)

        memory.append(row)
        if len(memory) > memory_size:
            memory.popleft()
        total = zero()
        for seen in memory:
            total = add(total, times_phi(slopes_at(u, seen), seen))
        v = add(times_phi(gw - gu, row), scaled(1 / len(memory), total))
        w = scaled(1 / (1 + eta0 * alpha), add(w, scaled(-eta0, v)))

        iterates.append(w)
        stored.append(w)
        if len(stored) > snapshot_period:
            stored.popleft()
        if t % snapshot_period == 0:
            total = zero()
            for past in stored:
                total = add(total, past)
            u = scaled(1 / snapshot_period, total)
            w = u if reset else w
            checkpoints.append(u)

        trace.n_updates += learns
        trace.sizes.append(len(cores))
        moved.append(int(not is_core))
        gws.append(gw)
        gus.append(gu)

    cores.coef = list(w.core.T)
    base = trace.result(cores, absorbed=[n_absorbed])
    return DualResult(
        **vars(base),
        feature_coef=w.rest,
        checkpoint_coef=u.core,
        checkpoint_feature_coef=u.rest,
        moved=np.array(moved, dtype=int),
        gw=np.array(gws).reshape(-1, n_outputs),
        gu=np.array(gus).reshape(-1, n_outputs),
        iterates=iterates,
        checkpoints=checkpoints,
    )


def covered(cores: list[np.ndarray], x: np.ndarray, radius: float) -> bool:
    """Tell whether a core is nearer than the radius, or x itself."""
    # Squares, as in AVM; the second case is for a radius whose square is 0.
    far = [float(np.sum((c - x) ** 2)) for c in cores]
    return any(d < radius**2 or d == 0 for d in far)


def grown(model: Model) -> Model:
    """Return the model with a coefficient of 0 for one more core."""
    return Model(np.column_stack((model.core, np.zeros(len(model.core)))), model.rest)


def add(a: Model, b: Model) -> Model:
    """Return a + b."""
    return Model(a.core + b.core, a.rest + b.rest)


def scaled(factor: float, model: Model) -> Model:
    """Return the multiple of a model."""
    return Model(factor * model.core, factor * model.rest)
