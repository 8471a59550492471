"""KRLS-T (Van Vaerenbergh, Lazaro-Gredilla, Santamaria 2012), rbf kernel, no bias.

The values u of an unknown function at the centers are Gaussian, with a mean mu of each
output and one covariance S for all. K = k(centers, centers), Q = (K + 1e-8 I)^-1, which
is solved for anew on every row. Row t has weight w, k = k(centers, x), k(x, x) = 1:

    q = Q k,  f = q.mu                 the score, recorded
    w = 0: that is all
    S <- lam S + (1 - lam) K           lam = forgetting, back to the prior
    mu <- sqrt(lam) mu,  f <- sqrt(lam) f
    r2 = max(1 - k.q, 0),  h = S q     r2: what the centers do not tell of f
    var_f = r2 + q.h,  var_y = noise / w + var_f,  e = target - f

    store   r2 > threshold and r2 > 2e-8
            mu <- [mu; f] + [h; var_f] e^T / var_y
            S <- [[S, h], [h^T, var_f]] - [h; var_f] [h; var_f]^T / var_y
    or not  mu <- mu + h e^T / var_y
            S <- S - h h^T / var_y

    prune   more than `budget` centers: p = argmin sum over outputs of
            ((Q mu)_p / Q_pp)^2 leaves (oldest on ties, maybe the newcomer), with its
            row of mu and its row and column of S: the others' marginal stays

Targets: y itself; -1 or +1 for two classes; for more, an output each, +1 for the own
class and -1 for the others. coef = (Q mu)^T, the last mu.

n_updates counts the rows of positive weight, n_maintenance those who left. A row of
weight 0 is predicted, so it has a score, a variance and perhaps an error.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from tests.exact.expansion import Expansion
from tests.exact.losses import signed
from tests.exact.result import Result, Trace

JITTER = 1e-8


@dataclass(kw_only=True)
class KrlsResult(Result):
    """A result with the Gaussian at the centers and what was known of each row."""

    mu: np.ndarray  # shape (size, outputs)
    covariance: np.ndarray  # shape (size, size), S
    variances: np.ndarray  # shape (n,), var_f: after forgetting, unlike the scores
    score_variances: np.ndarray  # shape (n,), r2 + q.S q before, as the scores
    r2: np.ndarray  # shape (n,)
    victims: np.ndarray  # shape (n,), slot that was pruned (newcomer: last); -1: none


def run(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int | None = None,
    *,
    gamma: float,
    budget: int | None = None,
    noise: float = 0.1,
    forgetting: float = 1.0,
    threshold: float = 1e-3,
    pruning: str = "value",
    sample_weight: np.ndarray | None = None,
) -> KrlsResult:
    """Learn the rows in order."""
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    # The expansion keeps the centers; its coefficients are made in the end.
    model = Expansion(
        X.shape[1], n_classes, kernel="rbf", gamma=gamma, degree=0, coef0=0.0
    )
    trace = Trace(n_classes)
    mu = np.zeros((0, model.outputs))
    S = np.zeros((0, 0))
    variances, score_variances, residuals, victims = [], [], [], []
    for x, target, w in zip(X, y, weight, strict=True):
        k = model.row(x)
        q = inverse_times(model, k)
        r2 = max(1 - float(k @ q), 0.0)
        f = q @ mu  # shape (outputs,)
        trace.see(f, target)
        residuals.append(r2)
        score_variances.append(r2 + float(q @ S @ q))
        if w == 0:
            variances.append(score_variances[-1])
            victims.append(-1)
            trace.sizes.append(len(model))
            continue
        trace.n_updates += 1

        S = forgetting * S + (1 - forgetting) * model.matrix()
        mu = math.sqrt(forgetting) * mu
        f = math.sqrt(forgetting) * f
        h = S @ q
        var_f = r2 + float(q @ h)
        var_y = noise / float(w) + var_f
        e = targets(target, n_classes) - f
        variances.append(var_f)

        if r2 > threshold and r2 > 2 * JITTER:
            model.append(x, np.zeros(model.outputs))
            mu = np.vstack((mu, f))
            S = np.block([[S, h[:, None]], [h[None, :], np.array([[var_f]])]])
            h = np.append(h, var_f)
        mu = mu + np.outer(h, e) / var_y
        S = S - np.outer(h, h) / var_y

        victim = -1
        if budget is not None and len(model) > budget:
            trace.n_maintenance += 1
            victim = int(np.argmin(costs(model, mu, pruning)))
            model.delete(victim)
            mu = np.delete(mu, victim, axis=0)
            S = np.delete(np.delete(S, victim, axis=0), victim, axis=1)
        victims.append(victim)
        trace.sizes.append(len(model))
    model.coef = list(inverse_times(model, mu))
    return KrlsResult(
        **vars(trace.result(model)),
        mu=mu,
        covariance=S,
        variances=np.array(variances),
        score_variances=np.array(score_variances),
        r2=np.array(residuals),
        victims=np.array(victims, dtype=int),
    )


def targets(y: float, n_classes: int | None) -> np.ndarray:
    """Return what each output is to say, shape (outputs,)."""
    if n_classes is None:
        return np.array([float(y)])
    if n_classes == 2:
        return np.array([signed(y)])
    return np.array([1.0 if j == int(y) else -1.0 for j in range(n_classes)])


def inverse_times(model: Expansion, right: np.ndarray) -> np.ndarray:
    """Return Q right."""
    if len(model) == 0:
        return np.zeros_like(right)
    return solve(model.matrix() + JITTER * np.eye(len(model)), right, assume_a="pos")


def costs(model: Expansion, mu: np.ndarray, pruning: str = "value") -> np.ndarray:
    """Return the sum over outputs of ((Q mu)_p / Q_pp)^2, shape (size,).

    (Q mu)_p / Q_pp is how far mu_p is from what the other centers say of it. The
    squared norm of the function that is lost with it is (Q mu)_p^2 / Q_pp.
    """
    Q = inverse_times(model, np.eye(len(model)))
    power = {"value": 2, "norm": 1}[pruning]
    return np.array(
        [
            math.fsum(a**2 / Q[p, p] ** power for a in row)
            for p, row in enumerate(inverse_times(model, mu))
        ]
    )
