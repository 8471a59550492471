"""The radius within which one row may stand for others."""

import warnings
from typing import Any

import numpy as np

from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._distances import squared_distances
from onkel.estimators._parameters import (
    AUTO,
    BOOLEAN,
    FROM_ONE,
    POSITIVE,
    group,
    parameter,
)
from onkel.estimators._recipe import RecipeEstimator

# A radius below this share of the mean distance would make every row a core.
SMALLEST_SHARE = 0.1


@group
class Covering(RecipeEstimator):
    """A system whose centres cover cells."""

    coverage_radius: str | float = parameter(
        AUTO,
        POSITIVE,
        default="auto",
        text="Radius of the cells. A smaller one gives a larger and better model. "
        '"auto": mean less standard deviation of the distances of up to 1,000 rows, '
        "in a stream of its first 1,024.",
    )
    max_core: int | None = parameter(
        FROM_ONE,
        None,
        default=None,
        text="Most cores. When there are so many, a row that none covers gives its "
        "update to the nearest; `n_absorbed_` counts. None for no limit.",
    )
    lazy_core: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether only rows with an update may become cores; False for all, as in "
        "the paper.",
    )

    def _radius(self, X: Any) -> float:
        """Radius of the parameters, for these rows."""
        if self.coverage_radius != "auto":
            return float(self.coverage_radius)
        distances = np.sqrt(squared_distances(X))
        mean = float(distances.mean()) if len(distances) else 0.0
        if mean > 0.0:
            return max(mean - float(distances.std()), SMALLEST_SHARE * mean)
        if self._says_enough(X):
            warnings.warn(
                'coverage_radius="auto" needs rows that differ, and these do not: '
                "using coverage_radius=1.0. Give it a number if that is not what you "
                "want.",
                stacklevel=levels_to_the_caller(),
            )
        return 1.0
