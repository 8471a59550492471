"""Passes on this machine's processor: tiles of kernel values, shared by threads.

Products are in single precision, tile by tile, and added up in double precision.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.objective import differentiate
from onkel.engine.threads import Team, blas_in_one_thread
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.refit.passes import (
    LIFT,
    NUGGET,
    Device,
    Factor,
    Passes,
    Pulls,
    Visit,
    bent,
    changed,
)
from onkel.refit.values import Values

# Share of the rows up to which it is worth while to copy those with a slope; outputs
# up to which a product each is faster than one with all.
FEW_SLOPES, FEW_OUTPUTS = 0.25, 7
# Rows of a slice of those that are drawn.
SLICE = 256
# Centres at which budget="auto" ends.
MOST_CENTRES = 4000


class Processor(Device):
    """The processor of the machine, with a team of threads."""

    most_centres = MOST_CENTRES

    def __init__(self, team: Team) -> None:
        self.team = team

    def passes(
        self,
        kernel: Kernel,
        X: Any,
        points: np.ndarray,
        relevance: np.ndarray | None = None,
        ridge: float = 0.0,
    ) -> "OnProcessor":
        """Passes over rows, dense or CSR."""
        values = Values(kernel, X, points, self.team, relevance=relevance)
        return OnProcessor(values, ridge)

    def batches(
        self, X: Any, y: np.ndarray, weight: np.ndarray, loss: Loss
    ) -> "ProcessorBatches":
        """Rows to be drawn from again and again."""
        return ProcessorBatches(X, y, weight, loss, self.team)

    def score(self, expansion: FittedExpansion, X: Any) -> np.ndarray:
        """Scores of rows."""
        return expansion.score(X, self.team.size)


class _Factor(Factor):
    """Cholesky's, of LAPACK."""

    def __init__(
        self, gram: np.ndarray, made: np.ndarray, curvatures: np.ndarray, summed: float
    ) -> None:
        self.made = made  # K' D K
        self.curvatures, self.summed = curvatures, summed
        matrix = gram + made
        lift = LIFT * float(matrix.diagonal().mean())
        while True:
            matrix[np.diag_indices_from(matrix)] += lift
            try:
                self.lower = scipy.linalg.cholesky(matrix, lower=True)
                return
            except np.linalg.LinAlgError:
                lift *= 10.0

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Inverse of the matrix times a gradient."""
        return scipy.linalg.cho_solve((self.lower, True), gradient.T).T

    def whitened(self, coef: np.ndarray) -> np.ndarray:
        """L' b."""
        return coef @ self.lower

    def basis(self) -> np.ndarray:
        """The inverse of L'."""
        unit = np.eye(len(self.lower))
        inverse = scipy.linalg.solve_triangular(self.lower, unit, lower=True)
        return np.ascontiguousarray(inverse.T, np.float32)


class _Sums:
    """What a thread adds up."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.lost, self.matrix = 0.0, np.zeros(shape, order="F")


class _Pulls:
    """Pulls that a thread adds up."""

    def __init__(self, centres: int, features: int) -> None:
        self.weights = np.zeros(centres)
        self.products = np.zeros((centres, features))
        self.squares = np.zeros(features)


class OnProcessor(Passes):
    """Passes over kernel values; `values` are those of the rows with the centres."""

    def __init__(self, values: Values, ridge: float = 0.0) -> None:
        self.values, self.kernel, self.points = values, values.kernel, values.points
        points = values.points.astype(np.float64)
        with blas_in_one_thread:
            gram = Values(values.kernel, points, points, values.team, 0).exact(points)
        gram[np.diag_indices_from(gram)] += (
            NUGGET * float(gram.diagonal().mean()) + ridge
        )
        self.gram = gram

    def __len__(self) -> int:
        return len(self.values)

    def of(self, rows: np.ndarray) -> "OnProcessor":
        """Passes over some of the rows."""
        some = object.__new__(OnProcessor)
        values = self.values
        some.values = Values(
            *(values.kernel, values.X[rows], values.points, values.team),
            relevance=values.relevance,
        )
        some.kernel, some.points, some.gram = self.kernel, self.points, self.gram
        return some

    def at(self, points: np.ndarray, relevance: np.ndarray) -> "OnProcessor":
        """Passes over the same rows with other centres."""
        X, team = self.values.X, self.values.team
        return OnProcessor(Values(self.kernel, X, points, team, 0, relevance))

    def forget(self) -> None:
        """Make room."""
        self.values.forget()

    def visit(
        self, loss: Loss, coef: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> Visit:
        """Scores of all rows, and what the losses say of them."""
        rows, outputs = len(self), len(coef)
        scores, slopes = np.empty((rows, outputs)), np.empty((rows, outputs))
        curvatures = np.empty(rows)
        coef32 = np.ascontiguousarray(coef, np.float32)

        def task(part: slice, known: np.ndarray, total: _Sums) -> None:
            _scores(known, coef32, scores[part])
            total.lost += differentiate(
                *(loss, scores[part], y[part], weight[part]),
                *(slopes[part], curvatures[part]),
            )
            some = sloping(slopes[part])
            _add_gradient(slopes[part][some], known[some], total.matrix)

        totals = self.values.each(task, lambda: _Sums(coef.shape))
        curvatures = bent(loss, curvatures, (slopes != 0.0).any(axis=1), weight)
        lost = sum(total.lost for total in totals)
        return Visit(scores, curvatures, lost, sum(total.matrix for total in totals))

    def smooth(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients times G."""
        return coef @ self.gram

    def factor(self, curvatures: np.ndarray, last: Any = None) -> Factor:
        """Cholesky factor of K' D K + G."""
        share, rows, changes, summed = changed(curvatures, last)
        made = share * last.made if share else np.zeros(self.gram.shape, order="F")
        roots = np.zeros(len(self), np.float32)
        roots[rows] = np.sqrt(np.abs(changes))

        def task(part: np.ndarray, known: np.ndarray, total: _Sums) -> None:
            scaled = known * roots[part][:, np.newaxis]
            # numpy makes it ssyrk, and unlike scipy's that lets other threads work.
            total.matrix += scaled.T @ scaled

        leaves = changes < 0.0  # what is no number is added, and refused
        for sign, some in ((1.0, ~leaves), (-1.0, leaves)):
            if some.any():
                new = partial(_Sums, made.shape)
                for total in self.values.each(task, new, rows[some]):
                    made += sign * total.matrix
        return _Factor(self.gram, made, curvatures, summed)

    def squares(self, weight: np.ndarray) -> float:
        """Sum of all squared kernel values, weighted by row."""

        def task(part: slice, known: np.ndarray, total: list[float]) -> None:
            total.append(float(weight[part] @ (known * known).sum(axis=1)))

        return sum(map(sum, self.values.each(task, list)))

    def pulls(self, slopes: np.ndarray, coef: np.ndarray) -> Pulls:
        """Pulls of the rows."""
        slopes32, coef32 = slopes.astype(np.float32), coef.astype(np.float32)
        rows = self.values.X

        def task(part: slice, known: np.ndarray, total: _Pulls) -> None:
            some = sloping(slopes32[part])
            X, K, s = rows[part][some], known[some], slopes32[part][some]
            if len(coef32) == 1:
                # W is s b' * K, so that its sums are products with K.
                total.weights += (s.T @ K)[0] * coef[0]
                total.products += coef[0][:, np.newaxis] * (_times(X, s).T @ K).T
            else:
                W = s @ coef32
                W *= K
                total.weights += W.sum(axis=0)
                total.products += (X.T @ W).T
            of_rows = (s * (K @ coef32.T)).sum(axis=1, dtype=np.float64)
            X = X.astype(np.float64)
            total.squares += _times(X, X).T @ of_rows

        shape = len(self.points), rows.shape[1]
        totals = self.values.each(task, lambda: _Pulls(*shape))
        sums: dict[str, Any] = {
            name: sum(getattr(total, name) for total in totals)
            for name in Pulls._fields
        }
        return Pulls(**sums)

    def pairs(
        self, coef: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums over pairs of centres."""
        pairs = coef.T @ coef * self.gram
        np.fill_diagonal(pairs, 0.0)  # nothing comes nearer to itself
        return pairs.sum(axis=0), pairs @ points


def _scores(known: np.ndarray, coef: np.ndarray, out: np.ndarray) -> None:
    """Scores of rows; BLAS is slow where a matrix has few columns."""
    if len(coef) > FEW_OUTPUTS:
        out[:] = known @ coef.T
        return
    for o, own in enumerate(coef):
        out[:, o] = known @ own


def _add_gradient(slopes: np.ndarray, known: np.ndarray, total: np.ndarray) -> None:
    """Add slopes' known."""
    turned = np.ascontiguousarray(slopes.T, np.float32)
    if len(turned) > FEW_OUTPUTS:
        total += turned @ known
        return
    for o, own in enumerate(turned):
        total[o] += own @ known


def _times(X: Any, factors: Any) -> Any:
    """Rows, dense or CSR, times factors of the same form or one a row."""
    return X.multiply(factors).tocsr() if scipy.sparse.issparse(X) else X * factors


def sloping(slopes: np.ndarray) -> Any:
    """Index of the rows with a slope, if they are few; otherwise of all.

    Examples
    --------
    >>> sloping(np.array([[0.0], [2.0], [0.0], [0.0]]))
    array([1])
    >>> sloping(np.ones((3, 1)))
    slice(None, None, None)
    """
    rows = np.flatnonzero(slopes.any(axis=1))
    return rows if len(rows) <= FEW_SLOPES * len(slopes) else slice(None)


class ProcessorBatches:
    """Rows in single precision, dense, to be drawn from again and again."""

    xp: Any = np

    def __init__(
        self, X: Any, y: np.ndarray, weight: np.ndarray, loss: Loss, team: Team
    ) -> None:
        self.X, self.y, self.weight, self.loss, self.team = X, y, weight, loss, team

    def slices(self, rows: np.ndarray) -> list[np.ndarray]:
        """Parts of a step's rows, which threads share; few enough for their caches."""
        return [rows[i : i + SLICE] for i in range(0, len(rows), SLICE)]

    def put(self, array: np.ndarray) -> np.ndarray:
        """Copy numbers to where the work is done."""
        return np.array(array, np.float32)

    def get(self, array: np.ndarray) -> np.ndarray:
        """Copy numbers back, in double precision."""
        return array.astype(np.float64)

    def order(self, rows: np.ndarray) -> np.ndarray:
        """Numbers of rows, as `rows` and `slopes` want them."""
        return rows

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Some rows."""
        rows = self.X[which]
        if scipy.sparse.issparse(rows):
            rows = rows.toarray()
        return rows.astype(np.float32, copy=False)

    def slopes(self, scores: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Slopes of the losses by the scores, weighted."""
        exact = scores.astype(np.float64)
        slopes = np.empty_like(exact)
        differentiate(
            *(self.loss, exact, self.y[which], self.weight[which]),
            *(slopes, np.empty(len(exact))),
        )
        return slopes.astype(np.float32)

    def repeated(self, step: Any) -> Any:
        """What does a step, again and again."""
        return step

    def each(self, parts: list[Any], task: Any) -> list[Any]:
        """Results of a task for each of the parts, in their order."""
        out: list[Any] = [None] * len(parts)

        def share(span: tuple[int, int]) -> None:
            for place in range(*span):
                out[place] = task(parts[place])

        if self.team.size == 1:
            share((0, len(parts)))
        else:
            self.team.share(len(parts), share)
        return out
