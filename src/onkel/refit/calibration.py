"""Calibration: log-odds from scores, by a bent line.

    log-odds = g(score),    g(0) = 0, rising, with bends at -1, 0, 1 and, of many rows,
                            some between them

chosen so that rows held out are as likely as possible. Two classes: what `predict` says
is what is likelier, since g keeps the sign. More classes: all share g, the likelihood
is that of the softmax, and since g rises the highest score is the likeliest class.
Labels count as almost certain only, as in Platt's method, so that perfectly separated
rows have a finite slope.
"""

import itertools
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax

from onkel.engine.threads import blas_in_one_thread
from onkel.problem.losses import Kind
from onkel.refit.held_out import Targets

# g has one slope before, between and after these. Of noisy rows the squared hinge makes
# scores that are like 2p - 1, so that log-odds bend most next to -1 and 1.
FEW_BENDS = (-1.0, 0.0, 1.0)
BENDS = (-1.0, -0.75, -0.4, 0.0, 0.4, 0.75, 1.0)
# Rows held out without which more bends would follow their noise.
MANY = 2000
FLATTEST, STEEPEST = 1e-3, 1e3
# Slopes without rows.
UNCALIBRATED = np.full(len(FEW_BENDS) + 1, 2.0)


def pieces(scores: np.ndarray, bends: tuple[float, ...] = FEW_BENDS) -> np.ndarray:
    """How far each score reaches into the parts of g; shape (*scores, parts).

    Examples
    --------
    >>> pieces(np.array([1.5, -0.5])).tolist()
    [[0.0, 0.0, 1.0, 0.5], [0.0, -0.5, 0.0, 0.0]]
    """
    edges = (-np.inf, *bends, np.inf)
    # Each part counts from the end that is nearer to 0.
    parts = [
        np.clip(scores, low, high) - (high if high <= 0.0 else low)
        for low, high in itertools.pairwise(edges)
    ]
    return np.stack(parts, axis=-1)


def bends_of(slopes: np.ndarray) -> tuple[float, ...]:
    """Return where g with these slopes bends: their number tells."""
    return BENDS if len(slopes) > len(BENDS) else FEW_BENDS


def log_odds(scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """G of the scores."""
    with blas_in_one_thread:
        return pieces(np.asarray(scores, np.float64), bends_of(slopes)) @ slopes


def chances(odds: np.ndarray) -> np.ndarray:
    """Probabilities of the classes, of log-odds; shape (rows, classes)."""
    if odds.shape[1] > 1:
        return softmax(odds, axis=1)
    return np.column_stack([expit(-odds[:, 0]), expit(odds[:, 0])])


def log_chances(odds: np.ndarray) -> np.ndarray:
    """Logarithms of these: finite where the probabilities themselves are 0."""
    if odds.shape[1] > 1:
        return log_softmax(odds, axis=1)
    return np.column_stack([log_expit(-odds[:, 0]), log_expit(odds[:, 0])])


def calibrate(
    targets: Targets, scores: np.ndarray, bends: tuple[float, ...] | None = None
) -> np.ndarray:
    """Slopes of g, from scores of rows that were held out."""
    if bends is None:
        # Scores of the log loss are log-odds already, more or less.
        bends_much = len(scores) >= MANY and targets.loss.kind != Kind.LOG_LOSS
        bends = BENDS if bends_much else FEW_BENDS
    classes = max(targets.outputs, 2)
    truth = np.eye(classes)[targets.labels()]
    weight = targets.weight
    counts = weight @ truth
    # Platt's targets, by which a row counts for every class a little.
    # It is its own class that says how much: the others may be rare.
    sure = (truth @ ((counts + 1.0) / (counts + classes)))[:, np.newaxis]
    target = np.where(truth > 0.0, sure, (1.0 - sure) / (classes - 1))
    known = pieces(scores, bends)

    def lost(slopes: np.ndarray) -> tuple[float, np.ndarray]:
        odds = known @ slopes
        if classes == 2:
            odds = np.column_stack([-odds / 2.0, odds / 2.0])
        logs = log_softmax(odds, axis=1)
        pull = weight[:, np.newaxis] * (np.exp(logs) - target)
        if classes == 2:
            pull = (pull[:, 1:] - pull[:, :1]) / 2.0
        value = -float(weight @ (target * logs).sum(axis=1))
        return value, np.einsum("no,nop->p", pull, known)

    start = np.full(len(bends) + 1, UNCALIBRATED[0])
    bounds = [(FLATTEST, STEEPEST)] * len(start)
    found: Any = minimize(lost, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)
