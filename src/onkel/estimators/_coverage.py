"""The radius within which one row may stand for others."""

import warnings
from typing import Any

import numpy as np

from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._distances import squared_distances

# A radius below this share of the mean distance would make every row a core.
SMALLEST_SHARE = 0.1


def radius_of(estimator: Any, X: Any) -> float:
    """Radius of the parameter coverage_radius, for these rows."""
    if estimator.coverage_radius != "auto":
        return float(estimator.coverage_radius)
    distances = np.sqrt(squared_distances(X))
    mean = float(distances.mean()) if len(distances) else 0.0
    if mean > 0.0:
        return max(mean - float(distances.std()), SMALLEST_SHARE * mean)
    if estimator._says_enough(X):
        warnings.warn(
            'coverage_radius="auto" needs rows that differ, and these do not: using '
            "coverage_radius=1.0. Give it a number if that is not what you want.",
            stacklevel=levels_to_the_caller(),
        )
    return 1.0
