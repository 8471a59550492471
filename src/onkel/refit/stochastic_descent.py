"""Centres, weights of features and coefficients that move together, some rows a step.

    min_{c, r, b}  1/2 b' G b + sum_i C_i l(f_i, y_i)

Where rows are many for each centre, to find the best coefficients for all rows before
each step (see `center_descent`) is a waste: some hundred rows say as well where to go.
All three are coordinates of one descent (Adam): steps of every coordinate are about as
long, and become shorter along a cosine. The gradients are those of `center_descent`,
with slopes of the rows drawn; of the regulariser some centres are drawn, too, and stand
for all. Three things make steps of one length do:

- centres move in units of the kernel's width, the weights of features by factors;
- coefficients b = T a are those of features that are uncorrelated: T is the inverse
  of a factor of K' D K + G, where the descent begins;
- how many rows are to be visited is known from the start.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.center_descent import FARTHEST, Place
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets
from onkel.refit.passes import Device, Factor

# Rows of a step, in slices that threads share; centres that stand for the regulariser.
ROWS, SLICE, PAIRS = 512, 256, 64
# Longest steps: of centres, in widths of the kernel; of the logarithms of weights; and
# of coefficients, in units of their root mean square.
CENTRES, WEIGHTS, COEF = 0.02, 0.01, 0.02
# What Adam remembers of gradients and of their squares; steps to the longest.
MEMORY, SQUARES, WARM_UP = 0.9, 0.999, 50
# How often the rows held out are asked, and how many of them.
LOOKS, HELD = 8, 5000
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
        self.targets, self.gamma, self.rng, self.deadline = targets, gamma, rng, deadline
        self.learnt = np.flatnonzero(targets.without(held) & (targets.weight > 0.0))
        self.held = held if len(held) <= HELD else np.sort(rng.choice(held, HELD, False))
        total = float(targets.weight[self.learnt].sum())
        # Of the objective: that of a row.
        self.share = 1.0 / (C * total)
        weight = targets.weight * (len(self.learnt) / total)
        self.batches = device.batches(X, targets.y, weight, targets.loss)
        self.xp = self.batches.xp

    def run(
        self,
        place: Place,
        factor: Factor,
        visits: int,
        tell: Callable[[int, float], None] = lambda visits, validation_loss: None,
    ) -> tuple[Place, list[float]]:
        """Visit so many rows; the factor is that of K' D K + G at the place.

        Returns the best place that the rows held out have seen, and the path of their
        loss; `tell` gets each.
        """
        batches, xp = self.batches, self.xp
        width = 1.0 / math.sqrt(2.0 * self.gamma)
        put = batches.put
        T, inner = factor.basis(), factor.whitened(place.coef).T
        rms = float(np.sqrt((inner**2).mean())) or 1.0
        points = _Adam(xp, put(place.points), CENTRES * width)
        weights = _Adam(xp, put(np.log(place.relevance)), WEIGHTS)
        coef = _Adam(xp, put(inner), COEF * rms)

        def here() -> Place:
            return Place(
                batches.get(points.at),
                np.exp(batches.get(weights.at)),
                batches.get(T @ coef.at).T,
            )

        best, path = place, [self._badness(points.at, weights.at, T @ coef.at)]
        tell(0, path[0])
        steps = max(visits // ROWS, 1)
        looks = {round(steps * (look + 1) / LOOKS) for look in range(LOOKS)}
        farthest = math.log(FARTHEST)
        for step, rows in zip(range(1, steps + 1), self._draws(), strict=False):
            b = T @ coef.at
            sums = self._gradient(points.at, weights.at, b, rows)
            share = 0.5 * (1.0 + math.cos(math.pi * step / steps))
            share *= min(step / WARM_UP, 1.0)
            coef.step(T.T @ sums.coef, share)
            points.step(sums.points, share)
            weights.step(sums.weights, share)
            xp.clip(weights.at, -farthest, farthest, out=weights.at)
            if step in looks:
                found = self._badness(points.at, weights.at, T @ coef.at)
                if not math.isfinite(found):
                    break
                if found < min(path):
                    best = here()
                path.append(found)
                tell(step * ROWS, found)
        return best, path

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
        parts = [rows[i : i + SLICE] for i in range(0, len(rows), SLICE)]

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

    def _badness(self, points: Any, log_weights: Any, b: Any) -> float:
        """Loss of the rows held out."""
        r = self.xp.exp(log_weights)
        centres = points * r
        norms = (centres * centres).sum(1)
        held = self.batches.order(self.held)
        parts = [held[i : i + ROWS] for i in range(0, len(held), ROWS)]

        def scores(part: Any) -> np.ndarray:
            X = self.batches.rows(part) * r
            return self.batches.get(self._values(X, centres, norms) @ b)

        found = np.concatenate(self.batches.each(parts, scores))
        if not np.isfinite(found).all():
            return math.inf
        return self.targets.validation_loss(found, self.held)
