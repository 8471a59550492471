"""The radius within which one row may stand for others."""

import math
import warnings
from typing import Any

import numpy as np

from onkel.engine.learner import Learner
from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._distances import squared_distances
from onkel.estimators._parameters import (
    AUTO,
    FROM_ONE,
    POSITIVE,
    group,
    one_of,
    parameter,
)
from onkel.estimators._recipe import RecipeEstimator

# A radius below this share of the mean distance would make every row a core.
SMALLEST_SHARE = 0.1
# Kernel value at the edge of a cell below which the guessed radius is a bad guess.
LEAST_ALIKE = 0.3


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


@group
class Covered(Covering):
    """A system whose updates go to the cores of cells."""

    when_full: str = parameter(
        one_of({"absorb", "drop"}),
        default="absorb",
        text="What becomes of the update of a row that no core covers when there are "
        'max_core of them. "absorb": the nearest core takes it. "drop": it is lost.',
    )

    @property
    def n_absorbed_(self) -> int:
        """Updates that no core covered when there were max_core; see `when_full`."""
        return int(self._fitted().budget.counters[0].absorbed)

    def _look_at(self, X: Any) -> None:
        self.coverage_radius_ = self._radius(X)

    def _take_statistics(self, like: Any) -> None:
        super()._take_statistics(like)
        self.coverage_radius = like.budget.radius

    def _depends_on_rows(self) -> bool:
        return super()._depends_on_rows() or self.coverage_radius == "auto"

    def _new_learner(
        self, X: Any, outputs: int, n_rows: int | None
    ) -> tuple[Learner, np.random.Generator]:
        learner, order = super()._new_learner(X, outputs, n_rows)
        gamma, radius = learner.plan.kernel.gamma, self.coverage_radius_
        value = math.exp(-gamma * radius * radius)
        guessed = self.coverage_radius == "auto" and self.kernel == "rbf"
        if guessed and value < LEAST_ALIKE:
            warnings.warn(
                f'coverage_radius="auto" chose {radius:.3g}. With gamma={gamma:.3g} a '
                f"core and a point at the edge of its cell have a kernel value of "
                f"{value:.2g} only, so cores stand for rows that are hardly like them. "
                "For better predictions and a larger model try coverage_radius="
                f"{math.sqrt(math.log(2.0) / gamma):.3g}, where it is 1/2.",
                stacklevel=levels_to_the_caller(),
            )
        return learner, order
