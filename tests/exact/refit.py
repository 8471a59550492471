"""The best coefficients of given centres: Newton's method, dense, in double precision.

    min_b  P(b) = 1/2 sum_o b_o' M b_o + sum_i C w_i l(f_i, y_i),    f_io = K_i b_o
    M = G + nugget I,    nugget = 1e-5 mean diagonal of G

    squared_hinge  max(0, 1 - m)^2 / 2                        m = y f
    smooth_hinge   1 - m - s/2 | (1 - m)^2 / (2 s) | 0        m < 1 - s | m < 1 | else
    log_loss       log(1 + exp(-m))
    squared_error  r^2 / 2                                    r = f - y
    smooth_tube    e - s/2 | e^2 / (2 s)                      e = max(0, |r| - epsilon)

Several classes: y_io is +1 for the row's class and -1 for the others, and l is the sum
over the outputs; but for log_loss it is log sum_o exp(f_io) - f_i,y_i.

P is at least as curved as M, so P(b) - min P <= 1/2 grad' M^-1 grad: `gap` is that
bound, which any coefficients can be held against.
"""

from typing import NamedTuple

import numpy as np

from tests.exact.kernels import gram

LOSSES = ("squared_hinge", "smooth_hinge", "log_loss", "squared_error", "smooth_tube")
NUGGET = 1e-5


def derivatives(
    loss: str,
    f: np.ndarray,  # shape (rows,)
    y: np.ndarray,  # shape (rows,): -1 or +1, or numbers
    epsilon: float = 0.1,
    smoothing: float = 0.5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, first and second derivative of the loss of each row."""
    short = 1.0 - y * f
    if loss == "squared_hinge":
        lost = np.maximum(short, 0.0)
        return lost**2 / 2, -y * lost, (short > 0.0) * 1.0
    if loss == "smooth_hinge":
        bent = (short > 0.0) & (short < smoothing)
        inside = np.clip(short, 0.0, smoothing)
        straight = np.maximum(short - smoothing, 0.0)
        values = inside**2 / (2 * smoothing) + straight
        return values, -y * inside / smoothing, bent / smoothing
    if loss == "log_loss":
        wrong = np.exp(-np.logaddexp(0.0, y * f))
        return np.logaddexp(0.0, -y * f), -y * wrong, wrong * (1.0 - wrong)
    off = f - y
    if loss == "squared_error":
        return off**2 / 2, off, np.ones_like(off)
    if loss == "smooth_tube":
        beyond = np.abs(off) - epsilon
        bent = (beyond > 0.0) & (beyond < smoothing)
        inside = np.clip(beyond, 0.0, smoothing)
        straight = np.maximum(beyond - smoothing, 0.0)
        values = inside**2 / (2 * smoothing) + straight
        return values, np.sign(off) * inside / smoothing, bent / smoothing
    raise ValueError(f"unknown loss {loss!r}")


def of_rows(
    loss: str,
    f: np.ndarray,  # shape (rows, outputs)
    y: np.ndarray,  # shape (rows,): -1 or +1, numbers, or class indices
    **options: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loss (rows,), its gradient (rows, outputs), Hessian (rows, outputs, outputs)."""
    outputs = f.shape[1]
    if outputs == 1:
        value, slope, bend = derivatives(loss, f[:, 0], y, **options)
        return value, slope[:, None], bend[:, None, None]
    truth = np.eye(outputs)[y.astype(int)]
    if loss == "log_loss":
        odds = np.exp(f - f.max(axis=1, keepdims=True))
        share = odds / odds.sum(axis=1, keepdims=True)
        value = np.log(odds.sum(axis=1)) + f.max(axis=1) - (truth * f).sum(axis=1)
        bend = np.einsum("no,op->nop", share, np.eye(outputs))
        return value, share - truth, bend - share[:, :, None] * share[:, None, :]
    each = [
        derivatives(loss, f[:, o], 2 * truth[:, o] - 1, **options)
        for o in range(outputs)
    ]
    values, slopes, bends = (np.stack(part, axis=1) for part in zip(*each, strict=True))
    return values.sum(axis=1), slopes, np.einsum("no,op->nop", bends, np.eye(outputs))


class Problem(NamedTuple):
    """Everything given."""

    K: np.ndarray  # shape (rows, centres)
    M: np.ndarray  # shape (centres, centres)
    y: np.ndarray
    C: np.ndarray  # shape (rows,): C times the weights
    outputs: int
    loss: str

    def objective(self, coef: np.ndarray) -> float:
        """P, of coefficients of shape (outputs, centres)."""
        value, _, _ = of_rows(self.loss, self.K @ coef.T, self.y)
        return float(np.sum(coef @ self.M * coef) / 2 + self.C @ value)

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        """Of P, shape (outputs, centres)."""
        _, slopes, _ = of_rows(self.loss, self.K @ coef.T, self.y)
        return coef @ self.M + (self.C[:, None] * slopes).T @ self.K

    def hessian(self, coef: np.ndarray) -> np.ndarray:
        """Of P, shape (outputs * centres, outputs * centres)."""
        _, _, bends = of_rows(self.loss, self.K @ coef.T, self.y)
        H = np.kron(np.eye(self.outputs), self.M)
        size = len(self.M)
        for o in range(self.outputs):
            for p in range(self.outputs):
                D = self.C * bends[:, o, p]
                block = self.K.T @ (D[:, None] * self.K)
                H[o * size : (o + 1) * size, p * size : (p + 1) * size] += block
        return H

    def gap(self, coef: np.ndarray) -> float:
        """Most that P can be above its minimum."""
        slope = self.gradient(coef)
        return float(np.sum(slope * np.linalg.solve(self.M, slope.T).T) / 2)


def problem(
    X: np.ndarray,
    centers: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    C: float,
    outputs: int,
    loss: str,
    **kernel: float | str,
) -> Problem:
    """Write the problem down."""
    G = gram(centers, centers, **kernel)
    M = G + NUGGET * np.mean(np.diag(G)) * np.eye(len(G))
    K = gram(X, centers, **kernel)
    return Problem(K, M, y, C * weight, outputs, loss)


def solve(
    given: Problem,
    tol: float = 1e-9,
    max_iter: int = 500,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Coefficients (outputs, centres) whose objective is the least, to a share tol.

    The bound on the gap holds wherever it started.
    """
    coef = np.zeros((given.outputs, len(given.M))) if start is None else start
    for _ in range(max_iter):
        if given.gap(coef) <= tol * given.objective(coef):
            return coef
        newton = np.linalg.solve(given.hessian(coef), -given.gradient(coef).ravel())
        step = newton.reshape(coef.shape)
        coef = coef + _length(given, coef, step) * step
    raise RuntimeError(f"gap {given.gap(coef)} of {given.objective(coef)} left")


def _length(given: Problem, coef: np.ndarray, step: np.ndarray) -> float:
    """Where the objective is lowest along a step: its slope there is zero."""
    low, high = 0.0, 1.0
    if np.sum(given.gradient(coef + step) * step) <= 0.0:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        rising = np.sum(given.gradient(coef + middle * step) * step) > 0.0
        low, high = (low, middle) if rising else (middle, high)
    return low if low > 0.0 else high
