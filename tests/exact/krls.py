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

With `faster` there is a second memory of the same function at the same centers: mu_2
and S_2, with f, h, var_f, var_y and e of their own, learned by the formulas above with
faster for lam. K, q, r2, noise and w are common, so who becomes a center does not
depend on the memories. Who leaves does: the sum is over the outputs of both, and p
leaves both with its rows and columns. The memories know nothing else of each other.
Errors are the first one's.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from tests.exact.expansion import Expansion
from tests.exact.losses import signed
from tests.exact.result import Result, Trace

JITTER = 1e-8


class Known(NamedTuple):
    """What a memory knows in the end, and what it said of each row."""

    scores: np.ndarray  # shape (n, outputs)
    coef: np.ndarray  # shape (outputs, size)
    mu: np.ndarray  # shape (size, outputs)
    covariance: np.ndarray  # shape (size, size)
    variances: np.ndarray  # shape (n,)
    score_variances: np.ndarray  # shape (n,)


@dataclass(kw_only=True)
class KrlsResult(Result):
    """A result with the Gaussian at the centers and what was known of each row."""

    mu: np.ndarray  # shape (size, outputs)
    covariance: np.ndarray  # shape (size, size), S
    variances: np.ndarray  # shape (n,), var_f: after forgetting, unlike the scores
    score_variances: np.ndarray  # shape (n,), r2 + q.S q before, as the scores
    r2: np.ndarray  # shape (n,)
    victims: np.ndarray  # shape (n,), slot that was pruned (newcomer: last); -1: none
    faster: Known | None  # the second memory; all else is of the first


@dataclass
class Memory:
    """A Gaussian at the centers while it learns."""

    forgetting: float
    outputs: int
    mu: np.ndarray = field(init=False)
    S: np.ndarray = field(init=False)
    f: np.ndarray = field(init=False)  # of the present row
    scores: list[np.ndarray] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    score_variances: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Know nothing, of no centers."""
        self.mu = np.zeros((0, self.outputs))
        self.S = np.zeros((0, 0))

    def say(self, q: np.ndarray, r2: float) -> None:
        """Record what is known of a row before it is learned, if it is."""
        self.f = q @ self.mu
        self.scores.append(self.f)
        self.score_variances.append(r2 + float(q @ self.S @ q))
        self.variances.append(self.score_variances[-1])

    def learn(
        self,
        K: np.ndarray,  # shape (size, size)
        q: np.ndarray,  # shape (size,)
        r2: float,
        target: np.ndarray,  # shape (outputs,)
        noise: float,
        store: bool,
    ) -> None:
        """Forget, and learn the row of which something was said last."""
        lam = self.forgetting
        S = lam * self.S + (1 - lam) * K
        mu = math.sqrt(lam) * self.mu
        f = math.sqrt(lam) * self.f
        h = S @ q
        var_f = r2 + float(q @ h)
        var_y = noise + var_f
        e = target - f
        self.variances[-1] = var_f
        if store:
            mu = np.vstack((mu, f))
            S = np.block([[S, h[:, None]], [h[None, :], np.array([[var_f]])]])
            h = np.append(h, var_f)
        self.mu = mu + np.outer(h, e) / var_y
        self.S = S - np.outer(h, h) / var_y

    def lose(self, slot: int) -> None:
        """Keep the marginal of the other centers."""
        self.mu = np.delete(self.mu, slot, axis=0)
        self.S = np.delete(np.delete(self.S, slot, axis=0), slot, axis=1)

    def known(self, model: Expansion) -> Known:
        """Close the record, at the centers of the model."""
        return Known(
            scores=np.array(self.scores).reshape(-1, self.outputs),
            coef=inverse_times(model, self.mu).T,
            mu=self.mu,
            covariance=self.S,
            variances=np.array(self.variances),
            score_variances=np.array(self.score_variances),
        )


def run(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int | None = None,
    *,
    gamma: float,
    budget: int | None = None,
    noise: float = 0.1,
    forgetting: float = 1.0,
    faster: float | None = None,
    threshold: float = 1e-3,
    pruning: str = "value",
    sample_weight: np.ndarray | None = None,
) -> KrlsResult:
    """Learn the rows in order."""
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    # The expansion keeps the centers only; the memories make the coefficients.
    model = Expansion(
        X.shape[1], n_classes, kernel="rbf", gamma=gamma, degree=0, coef0=0.0
    )
    trace = Trace(n_classes)
    memories = [
        Memory(lam, model.outputs) for lam in (forgetting, faster) if lam is not None
    ]
    residuals, victims = [], []
    for x, target, w in zip(X, y, weight, strict=True):
        k = model.row(x)
        q = inverse_times(model, k)
        r2 = max(1 - float(k @ q), 0.0)
        for memory in memories:
            memory.say(q, r2)
        trace.see(memories[0].f, target)
        residuals.append(r2)
        if w == 0:
            victims.append(-1)
            trace.sizes.append(len(model))
            continue
        trace.n_updates += 1

        store = r2 > threshold and r2 > 2 * JITTER
        goal = targets(target, n_classes)
        K = model.matrix()
        for memory in memories:
            memory.learn(K, q, r2, goal, noise / float(w), store)
        if store:
            model.append(x, np.zeros(model.outputs))

        victim = -1
        if budget is not None and len(model) > budget:
            trace.n_maintenance += 1
            mu = np.hstack([memory.mu for memory in memories])
            victim = int(np.argmin(costs(model, mu, pruning)))
            model.delete(victim)
            for memory in memories:
                memory.lose(victim)
        victims.append(victim)
        trace.sizes.append(len(model))
    first, *others = [memory.known(model) for memory in memories]
    return KrlsResult(
        **{**vars(trace.result(model)), **first._asdict()},
        r2=np.array(residuals),
        victims=np.array(victims, dtype=int),
        faster=others[0] if others else None,
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
