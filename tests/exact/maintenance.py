"""Insertion and maintenance of a model over its budget (3.7-3.10).

Every operation takes one center out, a merge of several more, and changes w as little
as it can. Centers are in order of birth. Choices compare the raw coefficients
(bsgd.py), ties go to the oldest, and what is done to the true coefficients A is done to
the raw ones too, and to the masses unless the leaving ones retire with theirs
(averaging.py).

removal         p = argmin |A_p|^2 k_pp leaves.

projection_knn  p as above; N are its n_neighbors nearest by kernel value.
                (K_NN + jitter diag(k_ii)) d = k_Np, A_N += A_p d, p leaves.

projection      p leaves and A_i += A_p d_i for all others, d the projection of phi_p
                on their span under Kj = K + jitter diag(k_ii):

                    d_i = -Kinv_ip / Kinv_pp,  |phi_p - sum d_i phi_i|^2 = 1 / Kinv_pp,

                Kinv = Kj^-1. victim="residual": p = argmin |A_p|^2 / Kinv_pp, the least
                loss; "coefficient": p as for removal. Kj must stay regular, so a new
                point within the span is not stored: with d = Kj^-1 k(centers, x) and
                r2 = k(x, x) - k(centers, x).d, if r2 <= 2 jitter k(x, x), its step
                is spread instead, A += step d.

merge           rbf only. m = argmin |A_m|^2 and a partner n with <A_m, A_n> > 0 become
                z = h c_m + (1 - h) c_n in the older one's place, chosen for the least

                    WD = ||A_m phi_m + A_n phi_n - A_z phi_z||^2.

                The best A_z is A_m u + A_n v, u = k(c_m, z) = exp(-x (1-h)^2) and
                v = k(c_n, z) = exp(-x h^2), x = gamma ||c_m - c_n||^2. With
                p = |A_m|^2, q = <A_m, A_n>, r = |A_n|^2, kap = exp(-x):

                    WD = p + r + 2 q kap - (p u^2 + 2 q u v + r v^2)
                       = p (1 - u^2) + r (1 - v^2) - 2 q (u v - kap).

                kap > 1 - 1e-8: A_m + A_n stands at c_n unmoved, and WD counts as 0.
                No partner: A_n += A_m k_mn / k_nn at the nearest n. m alone: it leaves.

                n_merged=M: up to M - 1 partners n_1, n_2, ..., those of the least
                WD(m, n), in order of rising WD. They are merged one after another,

                    z_0 = m,  z_i = the best merger of the pair z_{i-1}, n_i,

                each z_i in the older one's place, with z_{i-1} where a pair has m: if
                they coincide it is c_n that stays. An n_i of <A_z, A_n> <= 0 by then
                is passed over. With M = 2 this is the pair m, n.

The best h of a merge. Let s in [1/2, 1] be the weight of the heavier center, P >= R
the squared lengths and E = exp(-x (2s-1)). The slope of F = P u^2 + 2 q u v + R v^2 in
s has the sign of

    P (1-s) - q (2s-1) E - R s E^2.

With w = 2s - 1, P = M e^y, R = M e^-y and c = q / M that is the sign of
sinh(xw+y) / (cosh(xw+y) + c) - w, which is concave in w and not negative at w = 0: it
changes sign once, from + to -, and there the maximum is. Values alone would give h to
half the digits; the sign of the slope gives them all. The other half is never better,
F(s) - F(1-s) = (P-R) (u^2-v^2). Equal lengths: c_m counts as the heavier one.
"""

import math

import numpy as np

from tests.exact.expansion import Expansion

MAINTENANCE = ("removal", "merge", "projection", "projection_knn")


def check(model: Expansion, maintenance: str, victim: str) -> None:
    """Raise on options that do not exist or do not fit."""
    if maintenance not in MAINTENANCE:
        raise ValueError(f"unknown maintenance {maintenance!r}")
    if maintenance == "merge" and model.kernel != "rbf":
        raise ValueError("merging is for the rbf kernel")
    if victim not in ("residual", "coefficient"):
        raise ValueError(f"unknown victim {victim!r}")


def insert(
    model: Expansion,
    raws: list[np.ndarray],
    x: np.ndarray,
    row: np.ndarray,  # shape (outputs,): the step
    raw: np.ndarray,  # the same, raw
    *,
    maintenance: str,
    jitter: float,
) -> bool:
    """Add row phi(x) to the model; return whether x became a center."""
    if maintenance == "projection":
        d, r2 = represent(model, x, jitter)
        if in_span(model, x, r2, jitter):
            spread(model.coef, row, d)
            spread(raws, raw, d)
            return False
    model.append(x, row)
    raws.append(np.array(raw, dtype=np.float64))
    return True


def maintain(
    model: Expansion,
    raws: list[np.ndarray],
    *,
    maintenance: str,
    n_neighbors: int,
    victim: str,
    jitter: float,
    n_merged: int = 2,
) -> None:
    """Take one center out, or up to n_merged - 1 by merging."""
    if maintenance == "removal":
        remove(model, raws, smallest(model, raws))
    elif maintenance == "merge":
        merge(model, raws, n_merged)
    elif maintenance == "projection":
        project_on_all(model, raws, victim, jitter)
    elif maintenance == "projection_knn":
        project_on_nearest(model, raws, n_neighbors, jitter)
    else:
        raise ValueError(f"unknown maintenance {maintenance!r}")


# removal


def smallest(model: Expansion, raws: list[np.ndarray]) -> int:
    """Return argmin |a|^2 k(c, c) by raw coefficients; slots are in order of age."""
    costs = [
        float(np.sum(raw**2)) * model.k(center, center)
        for raw, center in zip(raws, model.centers, strict=True)
    ]
    return int(np.argmin(costs))


def remove(model: Expansion, raws: list[np.ndarray], slot: int) -> None:
    """Delete a center."""
    model.delete(slot)
    del raws[slot]


# projection


def jittered(K: np.ndarray, jitter: float) -> np.ndarray:
    """Return Kj = K + jitter diag(k_ii)."""
    return K + jitter * np.diag(np.diag(K))


def represent(
    model: Expansion, x: np.ndarray, jitter: float
) -> tuple[np.ndarray, float]:
    """Return d, sum_i d_i phi_i the projection of phi(x), and r2 of the rest of it."""
    row = model.row(x)
    if len(model) == 0:
        return row, model.k(x, x)
    d = np.linalg.solve(jittered(model.matrix(), jitter), row)
    # a squared norm, which rounding must not push below zero
    return d, max(0.0, model.k(x, x) - float(row @ d))


def in_span(model: Expansion, x: np.ndarray, r2: float, jitter: float) -> bool:
    """Return whether r2 is no more than the jitter leaves of a point of the span."""
    return r2 <= 2 * jitter * model.k(x, x)


def spread(rows: list[np.ndarray], row: np.ndarray, d: np.ndarray) -> None:
    """Add row d_i to every row i."""
    for i, share in enumerate(d):
        rows[i] = rows[i] + share * row


def bequeath(
    model: Expansion, raws: list[np.ndarray], slot: int, d: np.ndarray
) -> None:
    """Leave d_i of all that a center has to every other i, and delete it."""
    model.retire(slot)  # a mass that retires is not left to others
    for rows in (model.coef, model.mass, raws):
        spread(rows, rows[slot], d)
    remove(model, raws, slot)


def project_on_all(
    model: Expansion, raws: list[np.ndarray], victim: str, jitter: float
) -> None:
    """Project a center on all others and delete it."""
    Kinv = np.linalg.inv(jittered(model.matrix(), jitter))
    p = smallest(model, raws)
    if victim == "residual":
        costs = [float(np.sum(raw**2)) / Kinv[i, i] for i, raw in enumerate(raws)]
        p = int(np.argmin(costs))
    d = -Kinv[:, p] / Kinv[p, p]
    d[p] = 0.0
    bequeath(model, raws, p, d)


def project_on_nearest(
    model: Expansion, raws: list[np.ndarray], n_neighbors: int, jitter: float
) -> None:
    """Project the smallest center on its neighbours and delete it."""
    p = smallest(model, raws)
    d = shares(model, p, neighbors(model, p, n_neighbors), jitter)
    bequeath(model, raws, p, d)


def neighbors(model: Expansion, slot: int, count: int) -> list[int]:
    """Return the nearest other centers: highest kernel values, oldest on ties."""
    row = model.row(model.centers[slot])
    others = [i for i in range(len(model)) if i != slot]
    return sorted(others, key=lambda i: -row[i])[:count]  # sorted() is stable


def shares(
    model: Expansion, slot: int, members: list[int], jitter: float
) -> np.ndarray:  # shape (size,), zero outside the members
    """Return d, the projection of the slot's center on the members."""
    d = np.zeros(len(model))
    K = model.matrix()
    # A center with k_ii = 0 is the zero vector: nothing is projected on it.
    live = [i for i in members if K[i, i] > 0]
    if live:
        K_NN = jittered(K[np.ix_(live, live)], jitter)
        d[live] = np.linalg.solve(K_NN, K[live, slot])
    return d


# merging


def merge(model: Expansion, raws: list[np.ndarray], n_merged: int = 2) -> None:
    """Merge the smallest center with its best partners."""
    m = int(np.argmin([float(np.sum(raw**2)) for raw in raws]))
    if len(model) == 1:
        remove(model, raws, m)
        return
    degradations = {}
    for n in range(len(model)):
        if n != m and go_together(raws[m], raws[n]):
            x = exponent(model, m, n)
            degradations[n] = merge_pair(raws[m], raws[n], x)[1]
    if not degradations:
        nearest = neighbors(model, m, 1)
        d = shares(model, m, nearest, jitter=0.0)
        bequeath(model, raws, m, d)
        return
    # the older first of equal ones: sorted() is stable
    partners = sorted(degradations, key=degradations.__getitem__)[: n_merged - 1]
    z = m
    while partners:
        n = partners.pop(0)
        if go_together(raws[z], raws[n]):
            z, gone = join(model, raws, z, n)
            partners = [i - 1 if i > gone else i for i in partners]


def go_together(A_m: np.ndarray, A_n: np.ndarray) -> bool:
    """Return whether <A_m, A_n> > 0."""
    # Rows at a right angle have a product of 0, up to rounding.
    zero = 1e-9 * float(np.linalg.norm(A_m) * np.linalg.norm(A_n))
    return float(A_m @ A_n) > zero


def join(model: Expansion, raws: list[np.ndarray], m: int, n: int) -> tuple[int, int]:
    """Merge two centers; return the slot of the result and the one that is gone."""
    x = exponent(model, m, n)
    h, _ = merge_pair(raws[m], raws[n], x)
    older, younger = min(m, n), max(m, n)
    for slot in (m, n):
        model.retire(slot)  # a mass that retires is not merged
    model.centers[older] = h * model.centers[m] + (1 - h) * model.centers[n]
    for rows in (model.coef, model.mass, raws):
        rows[older] = merged_row(rows[m], rows[n], x, h)
    remove(model, raws, younger)
    return older, younger


def exponent(model: Expansion, m: int, n: int) -> float:
    """Return x = gamma ||c_m - c_n||^2."""
    return model.gamma * float(np.sum((model.centers[m] - model.centers[n]) ** 2))


def merge_pair(A_m: np.ndarray, A_n: np.ndarray, x: float) -> tuple[float, float]:
    """Return the best h, the weight of c_m, and its WD; <A_m, A_n> > 0."""
    if coincide(x):
        return 0.0, 0.0
    p, q, r = float(A_m @ A_m), float(A_m @ A_n), float(A_n @ A_n)
    h = heavier_weight(p, q, r, x) if p >= r else 1 - heavier_weight(r, q, p, x)
    end = 1.0 if p >= r else 0.0  # the heavier center itself: projection on it
    if degradation(p, q, r, x, end) < degradation(p, q, r, x, h):
        h = end
    return h, degradation(p, q, r, x, h)


def merged_row(A_m: np.ndarray, A_n: np.ndarray, x: float, h: float) -> np.ndarray:
    """Return the best coefficients of z = h c_m + (1 - h) c_n."""
    if coincide(x):
        return A_m + A_n
    return A_m * math.exp(-x * (1 - h) ** 2) + A_n * math.exp(-x * h**2)


def coincide(x: float) -> bool:
    """Return whether two centers are so near that they count as one."""
    return math.exp(-x) > 1 - 1e-8


def heavier_weight(P: float, q: float, R: float, x: float) -> float:
    """Return the best weight of the heavier center, in [1/2, 1]; P >= R."""

    def slope(s: float) -> float:
        E = math.exp(-x * (2 * s - 1))
        return P * (1 - s) - q * (2 * s - 1) * E - R * s * E**2

    low, high = 0.5, 1.0
    while low < (middle := (low + high) / 2) < high:
        if slope(middle) > 0:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda s: abs(slope(s)))


def degradation(p: float, q: float, r: float, x: float, h: float) -> float:
    """Return WD at h."""
    # With expm1 neither near centers cancel nor, where u or v is 1, p and r mix.
    minus_u2 = math.expm1(-2 * x * (1 - h) ** 2)  # u^2 - 1
    minus_v2 = math.expm1(-2 * x * h**2)  # v^2 - 1
    uv = math.exp(-x * ((1 - h) ** 2 + h**2))
    gain = -uv * math.expm1(-2 * x * h * (1 - h))  # u v - kap
    return max(0.0, -p * minus_u2 - r * minus_v2 - 2 * q * gain)
