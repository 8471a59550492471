"""Centres, weights of features and coefficients that move together, some rows a step.

    min_{c, r, b}  1/2 b' G b + sum_i C_i l(f_i, y_i)

Where rows are many for each centre, to find the best coefficients for all rows before
each step (see `center_descent`) is a waste: some hundred rows say as well where to go.
All three are coordinates of one descent (Adam): steps of every coordinate are about as
long, and become shorter along a cosine. The gradients are those of `center_descent`,
with slopes of the rows drawn; of the regulariser some centres are drawn, too, and stand
for all. Three things make steps of one length do:

- coefficients b = T a are those of features that are uncorrelated: T is the inverse
  of a factor of K' D K + G, where the descent begins;
- centres, weights and a each get a length of their own, a share of that of a random
  step there which doubles the objective: where it is small, so are the steps;
- how many rows are to be visited is known from the start.

With W_ij = s_i b_j k_ij, sums of W over centres are s_i f_i, and over rows they are b_j
times the gradient by b_j: only its product with the features takes a matrix of its own,
and for one output not even that.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.center_descent import FARTHEST, Place
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets
from onkel.refit.passes import Device
from onkel.refit.solver import Point, Solver

# Rows of a step, once more for so many centres; those that stand for the regulariser.
ROWS, CENTRES_FOR_ROWS, PAIRS = 256, 2000, 64
# Longest steps, as shares of those that double the objective: of centres, of the
# logarithms of weights, and of coefficients. How far a random step goes to tell, in
# widths of the kernel, or in logarithms.
CENTRES, WEIGHTS, COEF, NEAR = 0.27, 0.08, 0.033, 0.01
# What Adam remembers of gradients and of their squares; steps to the longest.
MEMORY, SQUARES, WARM_UP = 0.9, 0.999, 50
# How often the rows held out are asked, and how many of them.
LOOKS, WATCHED = 8, 5000
# Steps after which it is known what one takes, where there is a deadline; steps whose
# rows are drawn ahead.
TIMED, AHEAD = 20, 500
TINY = 1e-12


class _Coordinates:
    """All that moves, in one array, and what Adam remembers of each coordinate."""

    def __init__(self, xp: Any, parts: list[Any], lengths: list[float]) -> None:
        self.xp = xp
        self.at = xp.hstack([part.ravel() for part in parts])
        self.mean, self.square = self.at * 0.0, self.at * 0.0
        ends = np.cumsum([0, *(math.prod(part.shape) for part in parts)])
        spans = [slice(*span) for span in itertools.pairwise(map(int, ends))]
        far = zip(spans, lengths, strict=True)
        self.length = xp.hstack(
            [xp.ones_like(self.at[span]) * length for span, length in far]
        )
        self.parts = [
            self.at[span].reshape(part.shape)
            for span, part in zip(spans, parts, strict=True)
        ]

    def step(self, gradients: list[Any], share: Any) -> None:
        """Go on by a share of the lengths."""
        gradient = self.xp.hstack([each.ravel() for each in gradients])
        self.mean *= MEMORY
        self.mean += gradient
        self.square *= SQUARES
        gradient *= gradient
        self.square += gradient
        step = self.xp.sqrt(self.square)
        step += TINY
        self.xp.divide(self.mean, step, out=step)
        step *= self.length
        step *= share
        self.at -= step


def shares(first: int, stop: int, steps: int) -> np.ndarray:
    """Shares of the lengths in some of so many steps.

    With what makes means of sums, of gradients and of squares that were remembered.
    """
    step = np.arange(first + 1, stop + 1)
    share = 0.5 * (1.0 + np.cos(np.pi * np.minimum(step / steps, 1.0)))
    gradients = (1.0 - MEMORY**step) / (1.0 - MEMORY)
    squares = (1.0 - SQUARES**step) / (1.0 - SQUARES)
    return share * np.minimum(step / WARM_UP, 1.0) * np.sqrt(squares) / gradients


def rows_of_a_step(centres: int) -> int:
    """How many rows are drawn for a step: where steps take longer, they may say more.

    Examples
    --------
    >>> rows_of_a_step(500), rows_of_a_step(4000)
    (256, 512)
    """
    return ROWS * max(round(centres / CENTRES_FOR_ROWS), 1)


class _Sums(NamedTuple):
    """What rows, or centres that stand for them, say."""

    coef: Any  # by the coefficients, shape (centres, outputs)
    products: Any  # W' x, shape (centres, features)
    squares: Any  # sum of W x^2, shape (features,)

    def add(self, other: "_Sums") -> None:
        """Add those of other rows."""
        for mine, theirs in zip(self, other, strict=True):
            mine += theirs

    def of_centres(self, b: Any) -> Any:
        """Sums of W over rows, shape (centres,)."""
        return (self.coef * b).sum(1)

    def spread(self, centres: Any, b: Any) -> Any:
        """Sum of W (x - c)^2, shape (features,)."""
        of_centres = self.of_centres(b) @ (centres * centres)
        return self.squares + of_centres - 2.0 * (self.products * centres).sum(0)


class _Gradient(NamedTuple):
    """Of the objective for a row."""

    coef: Any
    points: Any
    weights: Any  # by their logarithms


class StochasticDescent:
    """Moves everything by rows drawn; `held` are rows held out, at least one."""

    def __init__(
        self,
        X: Any,
        targets: Targets,
        held: np.ndarray,
        gamma: float,
        C: float,
        device: Device,
        rng: np.random.Generator,
        deadline: Deadline = ENDLESS,
    ) -> None:
        self.targets, self.gamma, self.rng = targets, gamma, rng
        self.deadline = deadline
        self.learnt = np.flatnonzero(targets.without(held) & (targets.weight > 0.0))
        few = len(held) <= WATCHED
        self.watched = held if few else np.sort(rng.choice(held, WATCHED, False))
        total = float(targets.weight[self.learnt].sum())
        # Of the objective: that of a row.
        self.share = 1.0 / (C * total)
        weight = targets.weight * (len(self.learnt) / total)
        self.batches = device.batches(X, targets.y, weight, targets.loss)
        self.xp = self.batches.xp
        self._move_origin(np.zeros(X.shape[1]))

    def run(
        self,
        place: Place,
        solver: Solver,
        begun: Point,
        visits: int,
        tell: Callable[[int, int, float], None] = lambda visits, of, loss: None,
    ) -> tuple[Place, list[float]]:
        """Visit so many rows; the solver has found where to begin, of some rows.

        Returns the best place that the rows held out have seen, and the path of their
        loss; `tell` gets each, with the visits done and all visits to be done.
        """
        self._move_origin(np.median(place.points, axis=0))
        best, path = place, [self._badness(place)]
        self._begin(place, solver, begun)
        at_once = rows_of_a_step(len(place.points))
        steps = max(visits // at_once, 1)
        tell(0, steps * at_once, path[0])
        step = self.batches.repeated(self._step)
        started, done = self.deadline.clock(), 0
        for rows in self._draws(at_once):
            last = min(done + len(rows), steps)
            some = self._some_pairs(last - done)
            rows, some = map(self.batches.order, (rows[: last - done], some))
            far = self.batches.put(shares(done, last, steps))
            for inputs in zip(rows, some, far, strict=True):
                step(*inputs)
                done += 1
                if done == TIMED and self.deadline.is_set:
                    takes = (self.deadline.clock() - started) / done
                    steps = self._affordable(steps, takes, at_once)
                if done * LOOKS // steps > (done - 1) * LOOKS // steps:
                    there = self._here()
                    found = self._badness(there)
                    if not math.isfinite(found):
                        return best, path
                    best = there if found < min(path) else best
                    path.append(found)
                    tell(done * at_once, steps * at_once, found)
            if done >= steps:
                break
        return best, path

    # ---- before the first step

    def _move_origin(self, origin: np.ndarray) -> None:
        """Take distances from there: far away single precision would not see them."""
        self.origin, self._origin = origin, self.batches.put(origin)

    def _begin(self, place: Place, solver: Solver, begun: Point) -> None:
        factor, put = solver.preconditioner(begun.curvatures), self.batches.put
        self.T = factor.basis()
        parts = (
            factor.whitened(place.coef).T,
            *(place.points - self.origin, np.log(place.relevance)),
        )
        lengths = self._lengths(place, solver, begun)
        self.moving = _Coordinates(self.xp, [*map(put, parts)], lengths)

    def _here(self) -> Place:
        a, points, weights = self.moving.parts
        get = self.batches.get
        b, relevance = get(self.T @ a).T, np.exp(get(weights))
        return Place(get(points) + self.origin, relevance, b)

    def _lengths(self, place: Place, solver: Solver, begun: Point) -> list[float]:
        """Shares of the steps in random directions that double the objective."""

        def length(there: Place, far: float) -> float:
            passes = solver.passes.at(there.points * there.relevance, there.relevance)
            found = passes.visit(solver.loss, begun.coef, solver.y, solver.weight)
            changes = ((found.scores - begun.scores) ** 2).sum(axis=1) / far**2
            risen = 0.5 * float(begun.curvatures @ changes)
            return math.sqrt(begun.objective / max(risen, TINY))

        def signs(shape: tuple[int, ...]) -> np.ndarray:
            return self.rng.choice((-1.0, 1.0), shape)

        far = NEAR / math.sqrt(2.0 * self.gamma)
        points = place.points + far * signs(place.points.shape)
        weights = place.relevance * np.exp(NEAR * signs(place.relevance.shape))
        return [
            COEF * math.sqrt(2.0 * begun.objective / begun.coef.size),
            CENTRES * length(place._replace(points=points), far),
            WEIGHTS * length(place._replace(relevance=weights), NEAR),
        ]

    def _affordable(self, steps: int, takes: float, at_once: int) -> int:
        """Steps for which there is time, if one takes so long."""
        there = TIMED + max(int(self.deadline.left / max(takes, TINY)), 0)
        if there >= steps:
            return steps
        visits, all_visits = there * at_once, steps * at_once
        self.deadline.leave_out(f"all but {visits:,} of {all_visits:,} visits")
        return there

    def _draws(self, at_once: int) -> Iterator[np.ndarray]:
        """Rows of some steps, of shape (steps, at_once).

        All rows in a new order, again and again. At first few steps, to take the time.
        """
        rest, first = np.zeros(0, np.int64), TIMED
        while True:
            rest = np.concatenate([rest, self.rng.permutation(self.learnt)])
            steps = rest[: len(rest) - len(rest) % at_once].reshape(-1, at_once)
            rest = rest[steps.size :]
            while len(steps):
                some, steps = np.split(steps, [first or AHEAD])
                first = max(first - len(some), 0)
                yield some

    def _some_pairs(self, steps: int) -> np.ndarray:
        """Centres that stand for the regulariser, of each of the steps."""
        centres = len(self.T)
        first = self.rng.integers(centres, size=(steps, 1))
        return (first + np.arange(min(PAIRS, centres))) % centres

    # ---- a step

    def _step(self, rows: Any, some: Any, share: Any) -> None:
        """Move everything; no numbers but those given differ between two steps."""
        a, points, weights = self.moving.parts
        found = self._gradient(points, weights, self.T @ a, rows, some)
        whitened = self.T.T @ found.coef
        self.moving.step([whitened, found.points, found.weights], share)
        farthest = math.log(FARTHEST)
        self.xp.clip(weights, -farthest, farthest, out=weights)

    def _gradient(
        self, points: Any, log_weights: Any, b: Any, rows: Any, some: Any
    ) -> _Gradient:
        """Gradient of the objective for a row, by everything."""
        batches, r = self.batches, self.xp.exp(log_weights)
        centres = points * r
        beside = self._beside(centres)

        def of_part(part: Any) -> _Sums:
            if part is None:
                slopes = b[some] * (self.share * len(b) / len(some))
                return self._of_slice(centres[some], beside, b, lambda scores: slopes)
            X = (batches.rows(part) - self._origin) * r
            return self._of_slice(
                *(X, beside, b),
                lambda scores: batches.slopes(scores, part) * (1.0 / len(rows)),
            )

        *of_rows, of_pairs = batches.each([*batches.slices(rows), None], of_part)
        of_data = of_rows[0]
        for other in of_rows[1:]:
            of_data.add(other)
        by_weights = of_data.spread(centres, b)
        # Of pairs a row is a centre, too; moved with it, the pair would count twice.
        by_weights += 0.5 * of_pairs.spread(centres, b)
        of_data.add(of_pairs)
        by_points = of_data.products - of_data.of_centres(b)[:, None] * centres
        by_points *= 2.0 * self.gamma * r
        return _Gradient(of_data.coef, by_points, by_weights * (-2.0 * self.gamma))

    def _of_slice(
        self, X: Any, beside: Any, b: Any, slopes_of: Callable[[Any], Any]
    ) -> _Sums:
        """Sums over some rows."""
        values = self._values(X, beside)
        scores = values @ b
        slopes = slopes_of(scores)
        if b.shape[1] == 1:
            both = values.T @ self.xp.hstack([slopes, slopes * X])
            coef, products = both[:, :1] * 1.0, both[:, 1:] * b
        else:
            coef, W = values.T @ slopes, slopes @ b.T
            W *= values
            products = W.T @ X
        return _Sums(coef, products, (slopes * scores).sum(1) @ (X * X))

    # ---- kernel values

    def _beside(self, centres: Any) -> Any:
        """Centres whose products with rows are exponents, once these are prepared."""
        norms = (centres * centres).sum(1)[:, None] * (-self.gamma)
        ones = self.xp.ones_like(norms)
        return self.xp.hstack([centres * (2.0 * self.gamma), norms, ones])

    def _values(self, X: Any, beside: Any) -> Any:
        norms = (X * X).sum(1)[:, None] * (-self.gamma)
        ones = self.xp.ones_like(norms)
        values = self.xp.hstack([X, ones, norms]) @ beside.T
        # Where rounding makes a distance negative.
        self.xp.clip(values, None, 0.0, out=values)
        return self.xp.exp(values, out=values)

    # ---- what the rows held out say

    def scores(self, place: Place, rows: np.ndarray) -> np.ndarray:
        """Scores of some rows."""
        batches, put = self.batches, self.batches.put
        r, b = put(place.relevance), put(place.coef.T)
        beside = self._beside(put(place.points - self.origin) * r)
        there = batches.order(rows)
        parts = [there[i : i + ROWS] for i in range(0, len(rows), ROWS)]

        def of_part(part: Any) -> np.ndarray:
            X = (batches.rows(part) - self._origin) * r
            return batches.get(self._values(X, beside) @ b)

        return np.concatenate(batches.each(parts, of_part))

    def _badness(self, place: Place) -> float:
        """Loss of the rows held out."""
        found = self.scores(place, self.watched)
        if not np.isfinite(found).all():
            return math.inf
        return self.targets.validation_loss(found, self.watched)
