"""The mean of the iterates (3.6; contract 3), added up term by term.

    mean = sum_t omega_t w_t / sum_t omega_t,  t = 1..T,

w_t the iterate before the update of row t. Every row counts, also one without a slope
or a weight. T is the number of rows.

    full      omega_t = 1
    suffix    omega_t = 1 if t > ceil((1 - suffix_fraction) T), else 0
    poly      omega_t = binom(t + e - 1, e), e = exponent: the recursion
              mean_t = (1 - r_t) mean_{t-1} + r_t w_t, r_t = (e + 1) / (t + e)

Nothing counted (all omega_t = 0): the last iterate, w_{T+1}, stands for the mean.

Every center has a mass beside its coefficients: mass_i += omega_t a_i on each row, and
its averaged coefficients are mass_i / sum omega. If a center leaves:

    exact        it retires: point and mass go to a list, which is part of the mean. Of
                 a merge both points retire, and the merged one begins with no mass.
    otherwise    its mass goes where its coefficients go, by the same factors: nowhere
                 (removal, replacement), d_i of it to center i (projection), or u and v
                 of both to the merged one.

Other changes of coefficients, such as a point spread over the stored ones or a survivor
stretched or clipped, do not concern the past: they leave the masses alone.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.exact.expansion import Expansion


@dataclass(frozen=True)
class Average:
    """Which mean of the iterates is wanted."""

    kind: str  # "full", "suffix" or "poly"
    exact: bool = False
    suffix_fraction: float = 0.5
    exponent: int = 3

    def weight(self, t: int, n_rows: int) -> float:
        """Return omega_t."""
        if self.kind == "full":
            return 1.0
        if self.kind == "suffix":
            # 0.7 is meant as 7/10: in floats (1 - 0.7) 10 = 3 + 4e-16, whose ceil is 4.
            fraction = Fraction(self.suffix_fraction).limit_denominator(10**9)
            return float(t > math.ceil((1 - fraction) * n_rows))
        if self.kind == "poly":
            return float(math.comb(t + self.exponent - 1, self.exponent))
        raise ValueError(f"unknown average {self.kind!r}")


class Averager:
    """Adds up the iterates of a model; average=None asks for no mean."""

    def __init__(self, model: Expansion, average: Average | None, n_rows: int) -> None:
        self.model, self.average, self.n_rows = model, average, n_rows
        self.t = 0
        self.total = 0.0
        if average is not None and average.exact:
            model.retired = []

    def see(self) -> None:
        """Count the model as the iterate of the next row; call before its update."""
        if self.average is None:
            return
        self.t += 1
        omega = self.average.weight(self.t, self.n_rows)
        self.total += omega
        model = self.model
        model.mass = [
            m + omega * a for m, a in zip(model.mass, model.coef, strict=True)
        ]

    def mean(self) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
        """Return centers (size, d) and coefficients (outputs, size) of the mean.

        The present centers come in slot order, then those retired, first ones first.
        """
        if self.average is None:
            return None, None
        model = self.model
        centers, rows = list(model.centers), list(model.coef)
        if self.total > 0:
            retired = model.retired or []
            centers += [center for center, _ in retired]
            masses = [*model.mass, *(mass for _, mass in retired)]
            rows = [mass / self.total for mass in masses]
        return (
            np.array(centers).reshape(-1, model.n_features),
            np.array(rows).reshape(-1, model.outputs).T,
        )
