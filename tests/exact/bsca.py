"""BSCA (card 5.1): stochastic coordinate ascent in the dual, with a hard limit.

min 1/2 ||w||^2 + sum_i C_i loss(f(x_i), y_i), C_i = C sample_weight_i, no bias. The
dual variable of row i is a_i >= 0 with a sign y_i = +-1 (classes) or b_i of any sign
(regression), and w = sum_i y_i a_i phi(x_i), or sum_i b_i phi(x_i). A visit of row i
maximises the dual in this one variable. With k = k(x_i, x_i), f = f(x_i) before it and
soft(r, e) = sign(r) max(0, |r| - e):

    hinge                max(0, 1 - y f)       clip(a + (1 - y f) / k, 0, C_i)
    squared_hinge        max(0, 1 - y f)^2/2   max(0, a + (1 - y f - a/C_i)/(k + 1/C_i))
    epsilon_insensitive  max(0, |y - f| - e)   clip(soft(y - f + k b, e) / k, -C_i, C_i)
    squared_error        (y - f)^2 / 2         (y - f + k b) / (k + 1/C_i)

For k = 0 the first is C_i and the third C_i sign(soft(y, e)), their limits. A visit
gains in the dual, with dlt = new - old:

    hinge                (1 - y f) dlt - k dlt^2 / 2
    squared_hinge        (1 - y f - a/C_i) dlt - (k + 1/C_i) dlt^2 / 2
    epsilon_insensitive  (y - f) dlt - k dlt^2 / 2 - e (|new| - |old|)
    squared_error        (y - f - b/C_i) dlt - (k + 1/C_i) dlt^2 / 2

Three or more classes: one problem per class against the rest, all on the same centers;
the outputs of a row step together from the same f. An output's change counts if
|dlt| > 1e-14 C_i and is left undone otherwise; C_i = 0 changes nothing. If any counts:

    insert     add to the row's own slot if it still has one (and free the slot if no
               coefficient is left in it: all |a| <= 16 eps C_i), else append the row,
               which is then the row's own slot
    maintain   if size > budget: one of the following

    removal         delete argmin_p |a_p|^2 k_pp
    projection_knn  the same p, projected on its nearest n_neighbors centers:
                    (K_NN + jitter diag(K_NN)) d = k_NN,p and a_NN += a_p d
    projection      with Kj = K + jitter diag(K): delete
                    p = argmin_p |a_p|^2 / Kj^-1_pp, a_i -= a_p Kj^-1_ip / Kj^-1_pp.
                    And a row is not appended if it is in the span: d = Kj^-1 k_row,
                    k - <k_row, d> <= 2 jitter k. Its change is spread, a += change d.
    merge           card 3.10, see below (rbf only)

The oldest is taken on all ties. A row that loses its slot keeps its dual variable.

Merging: m = argmin |a_m|^2, with a partner n of <a_m, a_n> > 0. The center z
= h c_m + (1 - h) c_n with a_z = a_m u + a_n v, u = k(c_m, z) = exp(-s (1-h)^2), v =
k(c_n, z) = exp(-s h^2), s = gamma ||c_m - c_n||^2, is off by

    WD(h) = |a_m|^2 + |a_n|^2 + 2 <a_m, a_n> k(c_m, c_n) - |a_m u + a_n v|^2.

h is the best one of the half interval at the larger norm, n the one of the smallest WD.
z has the older birth and is no row's own slot. If k(c_m, c_n) > 1 - 1e-8 then WD is 0
and a_m is added to a_n, whose center stays. No partner: a_m is projected on the nearest
center, a_n += a_m k_mn / k_nn.

n_merged=M >= 2 takes the M - 1 partners of the smallest WD, if there are that many.
m merges with the best of them, what came of it with the next best, and so on. It takes
the part of m each time; one whose product with it is not > 0 by then is left out.

The surrogate dual of an epoch replaces w by the model at its end: sum_i of

    a - y a f(x_i) / 2 [- a^2 / (2 C_i)]    or    y b - b f(x_i) / 2 - e |b|
                                                                   [- b^2 / (2 C_i)]

Selection "acf": row i has a preference p_i (1 at first) and a credit (0). An epoch adds
p_i / mean(p) to the credit, visits each row floor(credit) times, in random order, and
takes that off the credit. After a visit of gain G, from the second epoch on,

    p_i <- clip(p_i exp(0.2 (G / Gbar - 1)), 1/20, 20)  if Gbar > 0
    Gbar <- (1 - 1/n) Gbar + G / n                      from the mean of epoch 1
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.exact.expansion import Expansion
from tests.exact.losses import signed

NOBODY = -1
EPS = float(np.finfo(np.float64).eps)


@dataclass
class Result:
    """Scores and gains on the way, the last model, the dual variables and counts."""

    scores: np.ndarray  # shape (visits, outputs), before each visit's step
    centers: np.ndarray  # shape (size, d), the oldest first
    coef: np.ndarray  # shape (outputs, size)
    dual: np.ndarray  # shape (outputs, n), >= 0 for classes
    sizes: np.ndarray  # shape (visits,), after each visit
    gains: np.ndarray  # shape (visits,), summed over outputs
    surrogate_dual: np.ndarray  # shape (epochs,), summed over outputs
    n_updates: int
    n_maintenance: int
    owners: np.ndarray  # shape (size,), the row whose own slot it is, or -1
    orders: list[np.ndarray]  # the rows visited in each epoch


class Slots(Expansion):
    """An expansion, oldest birth first, that knows which row each slot belongs to."""

    def __init__(self, *args: int | None, **options: object) -> None:
        super().__init__(*args, **options)
        self.owners: list[int] = []

    def insert(self, x: np.ndarray, row: np.ndarray, owner: int) -> None:
        """Append the owner's own slot."""
        self.append(x, row)
        self.owners.append(owner)

    def remove(self, slot: int) -> None:
        """Delete a slot; its owner has none any more."""
        self.delete(slot)
        del self.owners[slot]

    def fuse(self, m: int, n: int, x: np.ndarray, row: np.ndarray) -> None:
        """Put x, of the older birth and nobody's own slot, in the place of m and n."""
        older, younger = min(m, n), max(m, n)
        self.replace(older, x, row)
        self.owners[older] = NOBODY
        self.remove(younger)

    def squares(self) -> np.ndarray:
        """Return |a_i|^2, shape (size,)."""
        return np.sum(np.array(self.coef) ** 2, axis=1)

    def diagonal(self) -> np.ndarray:
        """Return k(c_i, c_i), shape (size,)."""
        return np.array([self.k(c, c) for c in self.centers])

    def jittered(self, slots: Sequence[int], jitter: float) -> np.ndarray:
        """Return K + jitter diag(K) of some slots."""
        C = np.array([self.centers[i] for i in slots]).reshape(-1, self.n_features)
        K = self.gram(C, C)
        return K + jitter * np.diag(np.diag(K))

    def nearest(self, slot: int, how_many: int) -> list[int]:
        """Return the other slots of the largest kernel values, oldest on ties."""
        row = self.row(self.centers[slot])
        others = [i for i in range(len(self)) if i != slot]
        return sorted(others, key=lambda i: (-row[i], i))[:how_many]


def run(
    X: np.ndarray,
    y: np.ndarray,
    orders: Sequence[np.ndarray] | None,
    *,
    n_classes: int | None,
    C: float = 1.0,
    budget: int | None = None,
    loss: str = "hinge",
    epsilon: float = 0.1,
    gamma: float = 1.0,
    kernel: str = "rbf",
    degree: float = 3,
    coef0: float = 1.0,
    sample_weight: np.ndarray | None = None,
    maintenance: str = "merge",
    n_neighbors: int = 4,
    jitter: float = 1e-8,
    n_merged: int = 2,
    selection: str | None = None,
    rng: np.random.Generator | None = None,
    epochs: int | None = None,
) -> Result:
    """Visit the rows of each epoch's order, or of the orders that acf makes."""
    if maintenance == "merge" and budget is not None and kernel != "rbf":
        raise ValueError("merging needs the rbf kernel")
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
    caps = [C * float(w) for w in weight]
    targets = [targets_of(label, n_classes) for label in y]
    model = Slots(
        X.shape[1], n_classes, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
    )
    maintain: dict[str, Callable[[], None]] = {
        "removal": lambda: remove(model),
        "projection_knn": lambda: project_on_nearest(model, n_neighbors, jitter),
        "projection": lambda: project(model, jitter),
        "merge": lambda: merge(model, gamma, n_merged),
    }
    dual = np.zeros((model.outputs, n))
    scores: list[np.ndarray] = []
    sizes: list[int] = []
    gains: list[float] = []
    surrogates: list[float] = []
    visited: list[np.ndarray] = []
    n_updates = n_maintenance = 0
    frequencies = Frequencies(n) if selection == "acf" else None
    n_epochs = epochs if frequencies else len(orders[:epochs])

    for epoch in range(n_epochs):
        order = frequencies.order(rng) if frequencies else np.asarray(orders[epoch])
        visited.append(order)
        for i in order.tolist():
            f = model.score(X[i])
            scores.append(f)
            change = np.zeros(model.outputs)  # of the signed coefficients
            gain = 0.0
            k = model.k(X[i], X[i])
            for o in range(model.outputs):
                if caps[i] == 0:
                    continue
                target, score, old = targets[i][o], float(f[o]), float(dual[o, i])
                new = best(loss, target, score, old, k, caps[i], epsilon)
                dlt = new - old
                if abs(dlt) > 1e-14 * caps[i]:
                    dual[o, i] = new
                    change[o] = dlt if n_classes is None else target * dlt
                    gain += gained(loss, target, score, old, new, k, caps[i], epsilon)
            gains.append(gain)
            if np.any(change != 0):
                n_updates += 1
                insert(model, X[i], change, i, caps[i], maintenance, jitter)
                if budget is not None and len(model) > budget:
                    n_maintenance += 1
                    maintain[maintenance]()
            sizes.append(len(model))
            if frequencies:
                frequencies.see(i, gain)
        if frequencies:
            frequencies.end_epoch()
        surrogates.append(surrogate_dual(model, X, targets, dual, loss, caps, epsilon))

    return Result(
        scores=np.array(scores).reshape(-1, model.outputs),
        centers=np.array(model.centers).reshape(-1, model.n_features),
        coef=np.array(model.coef).reshape(-1, model.outputs).T,
        dual=dual,
        sizes=np.array(sizes, dtype=int),
        gains=np.array(gains),
        surrogate_dual=np.array(surrogates),
        n_updates=n_updates,
        n_maintenance=n_maintenance,
        owners=np.array(model.owners, dtype=int),
        orders=visited,
    )


# the dual problem in one variable


def targets_of(y: float, n_classes: int | None) -> list[float]:
    """Return the target of every output: the number, the sign, or one against rest."""
    if n_classes is None:
        return [float(y)]
    if n_classes == 2:
        return [signed(y)]
    return [1.0 if int(y) == o else -1.0 for o in range(n_classes)]


def soft(r: float, epsilon: float) -> float:
    """Return sign(r) max(0, |r| - epsilon)."""
    return math.copysign(max(0.0, abs(r) - epsilon), r)


def clip(value: float, low: float, high: float) -> float:
    """Return the nearest number in [low, high]."""
    return min(max(value, low), high)


def best(
    loss: str, y: float, f: float, old: float, k: float, C: float, epsilon: float
) -> float:
    """Return the value of the dual variable that is best while all others stay."""
    if loss == "hinge":
        if k == 0:
            return C
        return clip(old + (1 - y * f) / k, 0.0, C)
    if loss == "squared_hinge":
        return max(0.0, old + (1 - y * f - old / C) / (k + 1 / C))
    if loss == "epsilon_insensitive":
        if k == 0:
            return C * float(np.sign(soft(y, epsilon)))
        return clip(soft(y - f + k * old, epsilon) / k, -C, C)
    if loss == "squared_error":
        return (y - f + k * old) / (k + 1 / C)
    raise ValueError(f"unknown loss {loss!r}")


def gained(
    loss: str,
    y: float,
    f: float,
    old: float,
    new: float,
    k: float,
    C: float,
    epsilon: float,
) -> float:
    """Return the rise of the dual from old to new, f being the score at old."""
    dlt = new - old
    if loss == "hinge":
        return (1 - y * f) * dlt - k * dlt**2 / 2
    if loss == "squared_hinge":
        return (1 - y * f - old / C) * dlt - (k + 1 / C) * dlt**2 / 2
    if loss == "epsilon_insensitive":
        return (y - f) * dlt - k * dlt**2 / 2 - epsilon * (abs(new) - abs(old))
    if loss == "squared_error":
        return (y - f - old / C) * dlt - (k + 1 / C) * dlt**2 / 2
    raise ValueError(f"unknown loss {loss!r}")


def surrogate_dual(
    model: Expansion,
    X: np.ndarray,
    targets: list[list[float]],
    dual: np.ndarray,
    loss: str,
    caps: list[float],
    epsilon: float,
) -> float:
    """Return the dual objective with the model's scores for those of the dual's w."""
    if not len(model):
        scores = np.zeros((len(X), model.outputs))
    else:
        scores = model.gram(X, np.array(model.centers)) @ np.array(model.coef)
    terms = []
    for i, f in enumerate(scores):
        for o in range(model.outputs):
            a, y = float(dual[o, i]), targets[i][o]
            if a == 0:
                continue  # also the rows of C_i = 0
            if loss in ("hinge", "squared_hinge"):
                terms.append(a - a * y * float(f[o]) / 2)
            else:
                terms.append(y * a - a * float(f[o]) / 2)
            if loss == "epsilon_insensitive":
                terms.append(-epsilon * abs(a))
            if loss in ("squared_hinge", "squared_error"):
                terms.append(-(a**2) / (2 * caps[i]))
    return math.fsum(terms)


# the model


def insert(
    model: Slots,
    x: np.ndarray,
    change: np.ndarray,
    i: int,
    C: float,
    maintenance: str,
    jitter: float,
) -> None:
    """Add change phi(x) to the model: to row i's own slot, the span or a new slot."""
    if i in model.owners:
        slot = model.owners.index(i)
        model.coef[slot] = model.coef[slot] + change
        if np.all(np.abs(model.coef[slot]) <= 16 * EPS * C):
            model.remove(slot)
        return
    if maintenance == "projection":
        row, k = model.row(x), model.k(x, x)
        d = np.zeros(0)
        if len(model):
            d = np.linalg.solve(model.jittered(range(len(model)), jitter), row)
        if k - row @ d <= 2 * jitter * k:
            model.coef = [
                a + change * d_j for a, d_j in zip(model.coef, d, strict=True)
            ]
            return
    model.insert(x, change, i)


def cheapest(model: Slots) -> int:
    """Return argmin |a|^2 k(c, c)."""
    return int(np.argmin(model.squares() * model.diagonal()))


def remove(model: Slots) -> None:
    """Delete the cheapest center."""
    model.remove(cheapest(model))


def project_on_nearest(model: Slots, n_neighbors: int, jitter: float) -> None:
    """Project the cheapest center on its nearest ones."""
    p = cheapest(model)
    near = model.nearest(p, n_neighbors)
    if near:
        K, rhs = model.jittered(near, jitter), model.row(model.centers[p])[near]
        try:
            d = np.linalg.solve(K, rhs)
        except np.linalg.LinAlgError:  # a center of k(c, c) = 0, or no jitter
            d = np.linalg.lstsq(K, rhs, rcond=None)[0]
        for i, d_i in zip(near, d, strict=True):
            model.coef[i] = model.coef[i] + model.coef[p] * d_i
    model.remove(p)


def project(model: Slots, jitter: float) -> None:
    """Project out the center that all others together replace best."""
    Kinv = np.linalg.inv(model.jittered(range(len(model)), jitter))
    p = int(np.argmin(model.squares() / np.diag(Kinv)))
    for i in range(len(model)):
        if i != p:
            model.coef[i] = model.coef[i] - model.coef[p] * Kinv[i, p] / Kinv[p, p]
    model.remove(p)


# merging


def merge(model: Slots, gamma: float, n_merged: int = 2) -> None:
    """Merge the smallest center with its best partners."""
    m = int(np.argmin(model.squares()))
    others = [n for n in range(len(model)) if n != m]
    mergers = {n: merger(model, m, n, gamma) for n in others}
    costs = sorted((found[0], n) for n, found in mergers.items() if found)
    if not costs:
        fold_in_nearest(model, m)
        return
    # Births survive whatever slots do.
    births = list(range(len(model)))
    birth = m
    for _, partner in costs[: n_merged - 1]:
        z, n = births.index(birth), births.index(partner)
        found = merger(model, z, n, gamma)
        if found:
            model.fuse(z, n, *found[1:])
            births.remove(max(birth, partner))
            birth = min(birth, partner)


def merger(
    model: Slots, m: int, n: int, gamma: float
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Return WD, center and coefficients of m and n in one; None: they do not merge."""
    c_m, a_m = model.centers[m], model.coef[m]
    c_n, a_n = model.centers[n], model.coef[n]
    q = float(np.sum(a_m * a_n))
    # Rows at a right angle have a product of 0, up to rounding.
    if q <= 1e-9 * float(np.linalg.norm(a_m) * np.linalg.norm(a_n)):
        return None
    s = min(gamma * float(np.sum((c_m - c_n) ** 2)), 1e300)  # s * 0 must be 0
    if math.exp(-s) > 1 - 1e-8:
        return 0.0, c_n, a_m + a_n
    p, r = float(np.sum(a_m**2)), float(np.sum(a_n**2))
    h = best_h(p, q, r, s)
    u, v = math.exp(-s * (1 - h) ** 2), math.exp(-s * h**2)
    wd = degradation(h, p, q, r, s)
    return wd, h * c_m + (1 - h) * c_n, a_m * u + a_n * v


def fold_in_nearest(model: Slots, m: int) -> None:
    """Project a center on its nearest one; a single one is dropped."""
    for n in model.nearest(m, 1):
        k_mn = model.k(model.centers[m], model.centers[n])
        k_nn = model.k(model.centers[n], model.centers[n])
        model.coef[n] = model.coef[n] + model.coef[m] * k_mn / k_nn
    model.remove(m)


def degradation(h: float, p: float, q: float, r: float, s: float) -> float:
    """Return p + r + 2 q exp(-s) - (p u^2 + 2 q u v + r v^2), free of cancellation.

    Hence it is exactly p for all partners too far away, and the oldest is taken.
    """
    from_m = -p * math.expm1(-2 * s * (1 - h) ** 2)  # p (1 - u^2)
    from_n = -r * math.expm1(-2 * s * h**2)  # r (1 - v^2)
    uv = math.exp(-s * (1 - h) ** 2 - s * h**2)
    both = 2 * q * uv * math.expm1(-2 * s * h * (1 - h))  # 2 q (exp(-s) - u v)
    return from_m + from_n + both


def rise(h: float, p: float, q: float, r: float, s: float) -> float:
    """Return a positive multiple of the derivative of p u^2 + 2 q u v + r v^2."""
    u, v = math.exp(-s * (1 - h) ** 2), math.exp(-s * h**2)
    return p * u**2 * (1 - h) + q * u * v * (1 - 2 * h) - r * v**2 * h


def best_h(p: float, q: float, r: float, s: float) -> float:
    """Return the h of least degradation, in the half of the larger norm (m's if equal).

    Golden section on the values cannot see below 1e-8, the values being flat at the
    optimum; the zero of the derivative, bracketed by what it found, is exact.
    """

    def cost(h: float) -> float:
        return degradation(h, p, q, r, s)

    low, high = (0.5, 1.0) if p >= r else (0.0, 0.5)
    found = golden_section(cost, low, high, 1e-12)
    left, right = max(low, found - 1e-6), min(high, found + 1e-6)
    if rise(left, p, q, r, s) >= 0 >= rise(right, p, q, r, s):
        while left < (middle := (left + right) / 2) < right:
            if rise(middle, p, q, r, s) > 0:
                left = middle
            else:
                right = middle
        found = left
    return min((found, low, high), key=cost)


def golden_section(
    cost: Callable[[float], float], low: float, high: float, tol: float
) -> float:
    """Return the minimiser in [low, high] of a function with one valley."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    cost_left, cost_right = cost(left), cost(right)
    while high - low > tol:
        if cost_left <= cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - ratio * (high - low)
            cost_left = cost(left)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + ratio * (high - low)
            cost_right = cost(right)
    return (low + high) / 2


# selection


class Frequencies:
    """Adaptive coordinate frequencies: rows that gain more are visited more often."""

    def __init__(self, n: int) -> None:
        self.preferences = np.ones(n)
        self.credit = np.zeros(n)
        self.mean_gain: float | None = None  # not before the end of the first epoch
        self.first_gains: list[float] = []

    def order(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the order of the next epoch."""
        self.credit += self.preferences / np.mean(self.preferences)
        visits = np.floor(self.credit).astype(int)
        self.credit -= visits
        return rng.permutation(np.repeat(np.arange(len(visits)), visits))

    def see(self, i: int, gain: float) -> None:
        """Learn from the gain of a visit of row i."""
        if self.mean_gain is None:
            self.first_gains.append(gain)
            return
        if self.mean_gain > 0:
            exponent = 0.2 * (gain / self.mean_gain - 1)
            factor = math.exp(min(exponent, 700.0))  # no overflow: 20 is the end
            self.preferences[i] = clip(self.preferences[i] * factor, 1 / 20, 20.0)
        n = len(self.preferences)
        self.mean_gain = (1 - 1 / n) * self.mean_gain + gain / n

    def end_epoch(self) -> None:
        """Take the mean gain of the first epoch."""
        if self.mean_gain is None:
            self.mean_gain = float(np.mean(self.first_gains))
