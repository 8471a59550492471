"""What the re-fit asks of kernel values, and of whatever machine computes them.

A pass goes over all rows. Solver, search and moves are written once, in terms of these
few; `processor` and `cuda` are where they are carried out. What is as large as the rows
or the coefficients comes and goes as numpy arrays in double precision; kernel values,
and matrices of centres by centres, stay where they are made.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss, smoothness

# Share of the mean diagonal of G that is added to it: see `solver`.
NUGGET = 1e-5
# Share of the mean diagonal of a factor, what single precision loses of a sum.
LIFT = 1e-6
# Share of the largest curvature that is rounding. How much a factor may have added and
# taken away, in units of what is left: rounding is in proportion to the former.
ROUNDING, MOST_SUMMED = 1e-12, 2.0


class Visit(NamedTuple):
    """What one pass tells of coefficients."""

    scores: np.ndarray  # shape (rows, outputs)
    curvatures: np.ndarray  # shape (rows,), of the losses by the scores
    lost: float  # losses of all rows, weighted
    gradient: np.ndarray  # shape (outputs, centres), of these losses


class Pulls(NamedTuple):
    """Sums over rows i of W_ij = s_i b_j k_ij: where centres are drawn to."""

    weights: np.ndarray  # shape (centres,): W
    products: np.ndarray  # shape (centres, features): W x
    squares: np.ndarray  # shape (features,): W x^2, over centres too


class Factor(ABC):
    """A positive definite matrix of centres by centres, L L'."""

    curvatures: np.ndarray  # those of all rows of which it was made
    summed: float  # of curvatures that were added, or taken away, until it was made

    @abstractmethod
    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Inverse of the matrix times a gradient, shape (outputs, centres)."""

    @abstractmethod
    def whitened(self, coef: np.ndarray) -> np.ndarray:
        """L' b, of coefficients b of shape (outputs, centres)."""

    @abstractmethod
    def basis(self) -> Any:
        """The inverse of L', in single precision, as the device has it."""


class Passes(ABC):
    """Passes over k(x, c) for rows x and centres c."""

    kernel: Kernel
    points: np.ndarray  # the centres; their features are weighed already

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def of(self, rows: np.ndarray) -> "Passes":
        """Passes over some of the rows, with the same centres."""

    @abstractmethod
    def at(self, points: np.ndarray, relevance: np.ndarray) -> "Passes":
        """Passes over the same rows with other centres; nothing is kept."""

    @abstractmethod
    def forget(self) -> None:
        """Make room: whatever is asked for next is computed again."""

    @abstractmethod
    def visit(
        self, loss: Loss, coef: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> Visit:
        """Scores of all rows, and what the losses say of them."""

    @abstractmethod
    def smooth(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients times G, nugget included."""

    @abstractmethod
    def factor(self, curvatures: np.ndarray, last: Factor | None = None) -> Factor:
        """Factor of K' D K + G, D the curvatures of all rows, many of them 0.

        Its diagonal is lifted by what single precision loses, or more if need be.
        `last` is one of these passes, to be made another of where few rows differ.
        """

    @abstractmethod
    def squares(self, weight: np.ndarray) -> float:
        """Sum of all squared kernel values, weighted by row."""

    @abstractmethod
    def pulls(self, slopes: np.ndarray, coef: np.ndarray) -> Pulls:
        """Pulls of the rows, whose features are not weighed; slopes by row, output."""

    @abstractmethod
    def pairs(
        self, coef: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums over i of V_ij = b_i b_j G_ij, without i = j; and of V_ij times point i.

        `points` may be any, one for each centre.
        """


class Device(ABC):
    """Where passes are carried out."""

    most_centres: int  # of budget="auto"

    @abstractmethod
    def passes(
        self,
        kernel: Kernel,
        X: Any,
        points: np.ndarray,
        relevance: np.ndarray | None = None,
        ridge: float = 0.0,
    ) -> Passes:
        """Passes over rows, dense or CSR; a ridge is more of a nugget.

        `relevance` is how much the features of the rows count; those of the centres
        are weighed already.
        """

    @abstractmethod
    def batches(self, X: Any, y: np.ndarray, weight: np.ndarray, loss: Loss) -> Any:
        """Rows to be drawn from again and again, by `stochastic_descent`."""

    @abstractmethod
    def score(self, expansion: FittedExpansion, X: Any) -> np.ndarray:
        """Scores of rows, in the precision of the expansion, shape (rows, outputs)."""

    def close(self) -> None:  # noqa: B027 (there may be nothing to do)
        """Leave nothing behind."""


class Changes(NamedTuple):
    """What makes a factor: a factor on the last D, and rows with what they add."""

    share: float  # 0 to begin anew
    rows: np.ndarray
    added: np.ndarray  # some may be negative
    summed: float


def changed(curvatures: np.ndarray, last: Factor | None) -> Changes:
    """What of D is new; all of it where that is less work, or more exact.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> last = SimpleNamespace(curvatures=np.array([1.0, 0.0, 1.0, 1.0]), summed=3.0)
    >>> changed(np.array([4.0, 4.0, 4.0, 4.0]), last)
    Changes(share=4.0, rows=array([1]), added=array([4.]), summed=16.0)
    """
    rows = np.flatnonzero(curvatures)
    total = float(np.abs(curvatures).sum())
    anew = Changes(0.0, rows, curvatures[rows], total)
    if last is None or not len(rows) or not last.curvatures.any():
        return anew
    # That of another C, as far as weights and activity are the same.
    share = float(curvatures.max() / last.curvatures.max())
    changes = curvatures - share * last.curvatures
    others = np.flatnonzero(np.abs(changes) > ROUNDING * curvatures.max())
    summed = share * last.summed + float(np.abs(changes[others]).sum())
    if len(others) >= len(rows) or summed > MOST_SUMMED * total:
        return anew
    return Changes(share, others, changes[others], summed)


def bent(loss: Loss, curvatures: Any, is_sloping: Any, weight: Any) -> Any:
    """Curvatures; where a loss is straight, those of the parabola above it.

    Examples
    --------
    >>> from onkel.problem import losses
    >>> loss = losses.make("smooth_tube", smoothing=0.5)
    >>> ones = np.ones(3)
    >>> bent(loss, np.array([2.0, 0.0, 0.0]), np.array([True, True, False]), ones)
    array([2., 2., 0.])
    """
    straight = (curvatures == 0.0) & is_sloping
    curvatures[straight] = weight[straight] * smoothness(loss)
    return curvatures
