"""Bands: curves of several seeds, drawn as their mean and range."""

from typing import Any

import numpy as np


def band(panel: Any, x: Any, runs: Any, colour: str, **look: Any) -> Any:
    """Draw the mean over the seeds, a run each, and their range, which is returned."""
    values = np.array(runs)
    panel.plot(x, values.mean(axis=0), color=colour, **look)
    low, high = values.min(axis=0), values.max(axis=0)
    return panel.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
