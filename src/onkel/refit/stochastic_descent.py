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
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.center_descent import FARTHEST, Place
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets
from onkel.refit.passes import Device
from onkel.refit.solver import Point, Solver

# Rows of a step, and centres that stand for the regulariser.
ROWS, PAIRS = 512, 64
# Longest steps, as shares of those that double the objective: of centres, of the
# logarithms of weights, and of coefficients. How far a random step goes to tell, in
# widths of the kernel, or in logarithms.
CENTRES, WEIGHTS, COEF, NEAR = 0.27, 0.04, 0.033, 0.01
# What Adam remembers of gradients and of their squares; steps to the longest.
MEMORY, SQUARES, WARM_UP = 0.9, 0.999, 50
# How often the rows held out are asked, and how many of them.
LOOKS, WATCHED = 8, 5000
# Steps after which it is known what one takes, where there is a deadline.
TIMED = 10
TINY = 1e-12


class _Adam:
    """Steps of about one length, whatever the scale of the gradient."""

    def __init__(self, xp: Any, start: Any, length: float) -> None:
        self.xp, self.at, self.length = xp, start, length
        self.mean, self.square, self.steps = xp.zeros_like(start), start * 0.0, 0

    def step(self, gradient: Any, share: float) -> None:
        self.steps += 1
        self.mean *= MEMORY
        self.mean += (1.0 - MEMORY) * gradient
        self.square *= SQUARES
        gradient *= gradient
        gradient *= 1.0 - SQUARES
        self.square += gradient
        seen = 1.0 - SQUARES**self.steps
        length = share * self.length / (1.0 - MEMORY**self.steps)
        scale = self.xp.sqrt(self.square)
        scale *= 1.0 / math.sqrt(seen)
        scale += TINY
        self.xp.divide(self.mean, scale, out=scale)
        scale *= length
        self.at -= scale


class _Sums(NamedTuple):
    """Gradients of a slice: by coefficients, centres, logarithms of weights."""

    coef: Any
    points: Any
    weights: Any


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
        batches, xp = self.batches, self.xp
        put = batches.put
        factor = solver.preconditioner(begun.curvatures)
        T, inner = factor.basis(), factor.whitened(place.coef).T
        lengths = self._lengths(place, solver, begun)
        points = _Adam(xp, put(place.points), CENTRES * lengths.points)
        weights = _Adam(xp, put(np.log(place.relevance)), WEIGHTS * lengths.weights)
        coef = _Adam(xp, put(inner), COEF * lengths.coef)

        def here() -> Place:
            return Place(
                batches.get(points.at),
                np.exp(batches.get(weights.at)),
                batches.get(T @ coef.at).T,
            )

        best, path = place, [self._badness(place)]
        steps = max(visits // ROWS, 1)
        tell(0, steps * ROWS, path[0])
        farthest = math.log(FARTHEST)
        started = self.deadline.clock()
        for step, rows in enumerate(self._draws(), 1):
            b = T @ coef.at
            sums = self._gradient(points.at, weights.at, b, rows)
            share = 0.5 * (1.0 + math.cos(math.pi * step / steps))
            share *= min(step / WARM_UP, 1.0)
            coef.step(T.T @ sums.coef, share)
            points.step(sums.points, share)
            weights.step(sums.weights, share)
            xp.clip(weights.at, -farthest, farthest, out=weights.at)
            if step == TIMED and self.deadline.is_set:
                steps = self._affordable(
                    steps, (self.deadline.clock() - started) / step
                )
            if step * LOOKS // steps > (step - 1) * LOOKS // steps:
                there = here()
                found = self._badness(there)
                if not math.isfinite(found):
                    break
                if found < min(path):
                    best = there
                path.append(found)
                tell(step * ROWS, steps * ROWS, found)
            if step >= steps:
                break
        return best, path

    def _affordable(self, steps: int, takes: float) -> int:
        """Steps for which there is time, if one takes so long."""
        there = TIMED + max(int(self.deadline.left / max(takes, TINY)), 0)
        if there >= steps:
            return steps
        self.deadline.leave_out(f"all but {there * ROWS:,} of {steps * ROWS:,} visits")
        return there

    def _lengths(self, place: Place, solver: Solver, begun: Point) -> _Sums:
        """Lengths of steps in random directions that double the objective."""

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
        return _Sums(
            math.sqrt(2.0 * begun.objective / begun.coef.size),
            length(place._replace(points=points), far),
            length(place._replace(relevance=weights), NEAR),
        )

    def _draws(self) -> Iterator[Any]:
        """Rows of the steps: all of them in a new order, again and again."""
        learnt, rest = self.learnt, np.zeros(0, np.int64)
        while True:
            order = np.concatenate([rest, self.rng.permutation(learnt)])
            many = len(order) - len(order) % ROWS
            rest = order[many:]
            if many:
                there = self.batches.order(order[:many])
                for first in range(0, many, ROWS):
                    yield there[first : first + ROWS]

    def _gradient(self, points: Any, log_weights: Any, b: Any, rows: Any) -> _Sums:
        """Gradient of the objective for a row, by everything."""
        xp, batches = self.xp, self.batches
        r = xp.exp(log_weights)
        centres = points * r
        norms = (centres * centres).sum(1)
        some = self._some_pairs(len(b))
        parts = batches.slices(rows)

        def of_part(part: Any) -> _Sums:
            if part is None:
                slopes = b[some] * (self.share * len(b) / len(some))
                # Half of it, and each centre is on both sides of its own pairs.
                return self._of_slice(centres[some], slopes, centres, norms, b, 0.5)
            X = batches.rows(part) * r
            values = self._values(X, centres, norms)
            slopes = batches.slopes(values @ b, part) * (1.0 / len(rows))
            return self._of_slice(X, slopes, centres, norms, b, 1.0, values)

        first, *others = batches.each([*parts, None], of_part)
        coef, by_points, by_weights = first
        for other in others:
            coef += other.coef
            by_points += other.points
            by_weights += other.weights
        by_points *= 2.0 * self.gamma * r
        by_weights *= -2.0 * self.gamma
        return _Sums(coef, by_points, by_weights)

    def _some_pairs(self, centres: int) -> Any:
        first = int(self.rng.integers(centres))
        return self.batches.order((first + np.arange(min(PAIRS, centres))) % centres)

    def _values(self, X: Any, centres: Any, norms: Any) -> Any:
        xp = self.xp
        values = X @ (centres.T * (2.0 * self.gamma))
        values -= (self.gamma * (X * X).sum(1))[:, None]
        values -= self.gamma * norms
        # Where rounding makes a distance negative.
        xp.clip(values, None, 0.0, out=values)
        return xp.exp(values, out=values)

    def _of_slice(
        self,
        X: Any,
        slopes: Any,
        centres: Any,
        norms: Any,
        b: Any,
        both: float,
        values: Any = None,
    ) -> _Sums:
        """Sums over rows; `both` is the share that weights of features feel."""
        if values is None:
            values = self._values(X, centres, norms)
        coef = values.T @ slopes
        W = slopes @ b.T
        W *= values
        of_centres, of_rows = W.sum(0), W.sum(1)
        products = W.T @ X
        spread = of_rows @ (X * X) + of_centres @ (centres * centres)
        spread -= 2.0 * (products * centres).sum(0)
        products -= of_centres[:, None] * centres
        return _Sums(coef, products, both * spread)

    def scores(self, place: Place, rows: np.ndarray) -> np.ndarray:
        """Scores of some rows."""
        put = self.batches.put
        r = put(place.relevance)
        centres, b = put(place.points) * r, put(place.coef.T)
        norms = (centres * centres).sum(1)
        there = self.batches.order(rows)
        parts = [there[i : i + ROWS] for i in range(0, len(rows), ROWS)]

        def of_part(part: Any) -> np.ndarray:
            X = self.batches.rows(part) * r
            return self.batches.get(self._values(X, centres, norms) @ b)

        return np.concatenate(self.batches.each(parts, of_part))

    def _badness(self, place: Place) -> float:
        """Loss of the rows held out."""
        found = self.scores(place, self.watched)
        if not np.isfinite(found).all():
            return math.inf
        return self.targets.validation_loss(found, self.watched)
