"""Formula: what a fitted model computes of a row, in steps that any language can say.

A step takes a vector to another. It knows numbers, and nothing of estimators; each
language registers how it says a step, so that whoever adds one adds it there, too.
"""

from itertools import pairwise
from typing import NamedTuple, Protocol, Self

import numpy as np

from onkel.export.precision import rounded


class Step(Protocol):
    """What a step can tell of itself."""

    def width(self, inputs: int) -> int:
        """Return how many numbers come out, for so many that go in."""


Steps = tuple[Step, ...]


class Filled(NamedTuple):
    """A number of its own in the place of each that is missing, which is NaN."""

    values: np.ndarray

    def width(self, inputs: int) -> int:
        """As many."""
        return inputs


class Scaled(NamedTuple):
    """(x - mean) * factor, for each number its own.

    Examples
    --------
    >>> Scaled(np.zeros(3), np.ones(3)).width(3)
    3
    """

    mean: np.ndarray
    factor: np.ndarray

    @property
    def shifts(self) -> tuple[np.ndarray, np.ndarray]:
        """What is to be subtracted before the factor, and what after it.

        The first has the digits that single precision can say. The others come where
        numbers are small, because most are near the mean: a year would lose its months.
        """
        first = rounded(self.mean, "means of features", np.float32)
        return first, (self.mean - first) * self.factor

    def width(self, inputs: int) -> int:
        """As many."""
        return inputs


class Arcsinh(NamedTuple):
    """Its inverse hyperbolic sine of each number."""

    def width(self, inputs: int) -> int:
        """As many."""
        return inputs


class Itself(NamedTuple):
    """The vector as it is: the features of a linear model."""

    def width(self, inputs: int) -> int:
        """As many."""
        return inputs


class Radial(NamedTuple):
    """exp(-gamma |x - c|^2), for each point c."""

    gamma: float
    points: np.ndarray

    def width(self, inputs: int) -> int:
        """One for each point."""
        return len(self.points)


class Laplacian(NamedTuple):
    """exp(-gamma |x - c|_1), for each point c."""

    gamma: float
    points: np.ndarray

    def width(self, inputs: int) -> int:
        """One for each point."""
        return len(self.points)


class Polynomial(NamedTuple):
    """(gamma <x, c> + coef0)^degree, for each point c."""

    gamma: float
    degree: int
    coef0: float
    points: np.ndarray

    def width(self, inputs: int) -> int:
        """One for each point."""
        return len(self.points)


class Waves(NamedTuple):
    """cos <x, w> for each of L frequencies w, then sin, all of them over sqrt(L)."""

    frequencies: np.ndarray

    def width(self, inputs: int) -> int:
        """Two for each frequency."""
        return 2 * len(self.frequencies)


class Expansion(NamedTuple):
    """Sums of the values of some steps, side by side, times coefficients.

    Examples
    --------
    >>> points = np.zeros((5, 2))
    >>> Expansion((Waves(points), Radial(1.0, points)), np.ones((3, 15))).width(2)
    3
    """

    values: Steps
    coef: np.ndarray  # shape (sums, values)
    # What single precision takes of the sums, as a share of the largest.
    rounding: float = 0.0

    def width(self, inputs: int) -> int:
        """One for each row of coefficients."""
        return len(self.coef)


class Beside(NamedTuple):
    """What several chains of steps make of the same vector, one after the other."""

    chains: tuple[Steps, ...]

    def width(self, inputs: int) -> int:
        """Return the sum of theirs."""
        return sum(width(chain, inputs) for chain in self.chains)


class Mixed(NamedTuple):
    """Scores of several models as one: weighted sums of scores that are clipped."""

    weights: np.ndarray  # shape (models,)
    limit: float

    def width(self, inputs: int) -> int:
        """As many as each of the models has."""
        return inputs // len(self.weights)


class Bent(NamedTuple):
    """A bent line through the origin, of each number: see `onkel.refit.calibration`."""

    bends: np.ndarray  # where its slope changes
    slopes: np.ndarray  # before, between and after these

    @property
    def parts(self) -> np.ndarray:
        """From where to where each slope holds, shape (slopes, 2)."""
        return np.array([*pairwise((-np.inf, *self.bends, np.inf))])

    @property
    def origins(self) -> np.ndarray:
        """Which end of each part is nearer to 0."""
        low, high = self.parts.T
        return np.where(high <= 0.0, high, low)

    def width(self, inputs: int) -> int:
        """As many."""
        return inputs


def width(steps: Steps, inputs: int) -> int:
    """Return how many numbers come out of a chain of steps."""
    for step in steps:
        inputs = step.width(inputs)
    return inputs


class Formula(NamedTuple):
    """Steps from a row to the answer, and what the answer means."""

    estimator: str  # name of the class
    inputs: int  # numbers of a row
    steps: Steps  # from a row to the answer
    answer: str  # "scores" of classes, "prediction" of a number, or "features"
    classes: np.ndarray | None = None  # labels of a classifier
    odds: Steps | None = None  # from scores to log-odds, of one with probabilities
    rows: str = "features as the model was fitted to them"  # what goes in
    names: tuple[str, ...] | None = None  # of the numbers of a row, if they have some

    def after(self, steps: Steps, rows: str, names: tuple[str, ...] | None) -> Self:
        """Return the formula of other rows, which go through some steps first."""
        return self._replace(steps=steps + self.steps, rows=rows, names=names)

    @property
    def answers(self) -> list[str]:
        """Names of all that it says of a row."""
        if self.classes is None:
            return [self.answer]
        return ["label", "scores", *(["probabilities"] * (self.odds is not None))]

    @property
    def outputs(self) -> int:
        """How many numbers the answer has: for two classes a single score."""
        return width(self.steps, self.inputs)
