"""The part of a model in a space of explicit features: f_j(x) = sum_k w[k][j] phi_k(x).

A feature map takes one row x (d,) to phi(x) (D,), as it is told: the oracles draw no
random features themselves (3.11).

Like a center (expansion.py) the vector w has a mass, the sum of omega_t w_t over the
iterates (averaging.py). Whatever moves coefficients of centers into w moves their mass
into this one by the same linear map, unless the mean is to be exact.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.exact.averaging import Average, Averager
from tests.exact.expansion import Expansion, weigh
from tests.exact.result import Result

FeatureMap = Callable[[np.ndarray], np.ndarray]  # (d,) -> (D,)


@dataclass(kw_only=True)
class FeatureResult(Result):
    """A result whose scores are k(x, centers) @ coef.T + phi(x) @ w."""

    w: np.ndarray  # shape (D, outputs)
    mean_w: np.ndarray | None  # as mean_coef: only where a mean was asked for


class FeaturePart:
    """A vector of D features for every output."""

    def __init__(self, features: FeatureMap, n_components: int, outputs: int) -> None:
        self.features, self.outputs = features, outputs
        self.w = np.zeros((n_components, outputs))
        self.mass = np.zeros((n_components, outputs))

    def score(self, x: np.ndarray) -> np.ndarray:
        """Return w . phi(x), shape (outputs,)."""
        return weigh(list(self.w), self.features(x), self.outputs)

    def multiply(self, factor: float) -> None:
        """Multiply the vector."""
        self.w = factor * self.w

    def add(self, x: np.ndarray, row: np.ndarray) -> None:
        """Add row phi(x), the row (outputs,) being a step or a coefficient."""
        self.w = self.w + np.outer(self.features(x), row)

    def add_mass(self, x: np.ndarray, row: np.ndarray) -> None:
        """Add row phi(x) to the mass."""
        self.mass = self.mass + np.outer(self.features(x), row)


class FeatureAverager(Averager):
    """Adds up the iterates of centers and features."""

    def __init__(
        self,
        model: Expansion,
        part: FeaturePart,
        average: Average | None,
        n_rows: int,
    ) -> None:
        super().__init__(model, average, n_rows)
        self.part = part

    def see(self) -> None:
        """Count the present iterate; call before its update."""
        super().see()
        if self.average is not None:
            omega = self.average.weight(self.t, self.n_rows)
            self.part.mass = self.part.mass + omega * self.part.w

    def mean_w(self) -> np.ndarray | None:
        """Return the features' vector of the mean."""
        if self.average is None:
            return None
        return self.part.mass / self.total if self.total > 0 else self.part.w


def dimension(features: FeatureMap, n_features: int) -> int:
    """Return D, also where there is no row to ask for it."""
    return len(features(np.zeros(n_features)))
