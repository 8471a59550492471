"""Bands: curves of several seeds, drawn as their mean and range."""

from typing import Any

import numpy as np


def band(panel: Any, x: Any, runs: Any, colour: str, **look: Any) -> None:
    """Draw the mean over the seeds, a run each, and their range."""
    values = np.array(runs)
    panel.plot(x, values.mean(axis=0), color=colour, **look)
    low, high = values.min(axis=0), values.max(axis=0)
    panel.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
