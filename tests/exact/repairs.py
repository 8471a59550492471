"""Passive-aggressive steps with projection on the centers of KRLS-T, rbf kernel.

A learner beside KRLS-T (krls.py), g = sum of b_j k(c_j, .) for each output. KRLS alone,
with one memory or two, decides who becomes a center and who leaves; its dictionary is
replayed here. Row t has weight w, k = k(centers, x) for the centers before it,
Q = (K + 1e-8 I)^-1:

    g = k.b                              the score, recorded
    w = 0: that is all

    two classes    s = y g,              lost = max(0, 1 - s),  direction  y
    more classes   s = g_own - g_other,  lost = max(0, 1 - s),  direction +1 on own,
                   other: the highest but own, first of ties             -1 on other
    regression     lost = max(0, |y - g| - epsilon),            direction  sign(y - g)

    norm2 = 1       the row becomes a center, and is not the one that KRLS then prunes
    norm2 = k.Q k   otherwise: of the row's projection on the centers before it
    step = min(C w, lost / (norm2 |direction|^2)) direction, or none if norm2 = 0

    b_new = step    if norm2 is the row's own,
    b += Q k step   if it is the projection's

Then, if KRLS prunes another center p, phi(c_p) is replaced by its projection on the
others, the newcomer among them:

    b_others += (K_others + 1e-8 I)^-1 k(others, c_p) b_p

Nothing is forgotten. Targets: y itself, or the index of the class.
"""

from typing import NamedTuple

import numpy as np

from tests.exact import krls
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, signed


class Repairs(NamedTuple):
    """The learner that repairs, and the one beside it."""

    scores: np.ndarray  # shape (n, outputs), before each row's step
    coef: np.ndarray  # shape (outputs, size)
    centers: np.ndarray  # shape (size, d)
    krls: krls.KrlsResult


def run(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int | None = None,
    *,
    gamma: float,
    budget: int | None,
    C: float,
    epsilon: float = 0.1,
    noise: float,
    forgetting: float,
    faster: float | None = None,
    threshold: float,
    pruning: str,
    sample_weight: np.ndarray | None = None,
) -> Repairs:
    """Learn the rows in order."""
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    first = krls.run(
        *(X, y, n_classes),
        gamma=gamma,
        budget=budget,
        noise=noise,
        forgetting=forgetting,
        faster=faster,
        threshold=threshold,
        pruning=pruning,
        sample_weight=weight,
    )
    outputs = n_classes if n_classes is not None and n_classes > 2 else 1
    K = gram(X, X, kernel="rbf", gamma=gamma)
    centers: list[int] = []  # rows
    b = np.zeros((0, outputs))
    scores = []
    for t, w in enumerate(weight):
        k = K[centers, t]
        g = k @ b
        scores.append(g)
        if w == 0:
            continue
        enters = first.r2[t] > threshold and first.r2[t] > 2 * krls.JITTER
        victim = int(first.victims[t])
        stays = enters and victim != len(centers)

        q = projection(K, centers, t)
        norm2 = 1.0 if stays else float(k @ q)
        step = repair(g, y[t], n_classes, norm2, C * w, epsilon)
        if stays:
            centers.append(t)
            b = np.vstack((b, step))
            if victim >= 0:
                leaves, b_p = centers.pop(victim), b[victim]
                b = np.delete(b, victim, axis=0)
                b = b + np.outer(projection(K, centers, leaves), b_p)
        else:
            b = b + np.outer(q, step)
        assert len(centers) == first.sizes[t]
    np.testing.assert_array_equal(X[centers], first.centers)
    return Repairs(np.array(scores), b.T, X[centers], first)


def projection(K: np.ndarray, centers: list[int], row: int) -> np.ndarray:
    """Return (K_cc + 1e-8 I)^-1 k(centers, row), shape (size,)."""
    within = K[np.ix_(centers, centers)] + krls.JITTER * np.eye(len(centers))
    return np.linalg.solve(within, K[centers, row])


def repair(
    g: np.ndarray,  # shape (outputs,)
    y: float,
    n_classes: int | None,
    norm2: float,
    most: float,
    epsilon: float,
) -> np.ndarray:
    """Return the step of every output, shape (outputs,)."""
    direction = np.zeros(len(g))
    if n_classes is None:
        lost = max(0.0, abs(float(y - g[0])) - epsilon)
        direction[0] = np.sign(y - g[0])
    elif n_classes == 2:
        lost = max(0.0, 1 - signed(y) * float(g[0]))
        direction[0] = signed(y)
    else:
        margin, other = crammer_singer(g, int(y))
        lost = max(0.0, 1 - margin)
        direction[int(y)], direction[other] = 1.0, -1.0
    if lost == 0 or norm2 == 0:
        return np.zeros(len(g))
    return min(most, lost / (norm2 * float(direction @ direction))) * direction
