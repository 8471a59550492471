"""Calibration: scores as log-odds, by a line through them.

    log-odds = slope * score + intercept

chosen so that rows held out are as likely as possible; of several classes all share
the slope, and the probabilities are the softmax. Labels count as almost certain only,
as in Platt's method, so that perfectly separated rows have a finite slope.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from onkel.refit.held_out import Task


class Line(NamedTuple):
    """What makes answers of scores."""

    slope: float
    intercept: np.ndarray  # shape (outputs,)


def calibrate(task: Task, scores: np.ndarray) -> Line:
    """Fit the line to scores of rows that were held out."""
    spread = float(np.abs(scores).mean()) or 1.0
    classes = max(task.outputs, 2)
    index = task.y if task.outputs > 1 else (task.y > 0.0)
    truth = np.eye(classes)[index.astype(int)]
    weight = task.weight / max(float(task.weight.mean()), 1e-300)
    counts = weight @ truth
    # Platt's targets, by which a row counts for every class a little.
    sure = (counts + 1.0) / (counts + classes)
    target = np.where(truth > 0.0, sure, (1.0 - sure) / (classes - 1))
    target /= target.sum(axis=1, keepdims=True)

    def columns(slope: float, intercept: np.ndarray) -> np.ndarray:
        odds = slope / spread * scores + intercept
        return np.column_stack([-odds / 2.0, odds / 2.0]) if classes == 2 else odds

    def lost(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        odds = columns(parameters[0], parameters[1:])
        logs = log_softmax(odds, axis=1)
        value = -float(weight @ (target * logs).sum(axis=1))
        pull = weight[:, np.newaxis] * (np.exp(logs) - target)
        if classes == 2:
            pull = (pull[:, 1:] - pull[:, :1]) / 2.0
        slope = float((pull * scores).sum()) / spread
        return value, np.concatenate([[slope], pull.sum(axis=0)])

    start = np.concatenate([[1.0], np.zeros(task.outputs)])
    bounds = [(1e-3, None)] + [(None, None)] * task.outputs
    found: Any = minimize(lost, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return Line(float(found.x[0]) / spread, np.asarray(found.x[1:]))
