"""Tools: what every step of a re-fit works with, and how centres are found."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.deadline import Deadline
from onkel.refit.held_out import Targets
from onkel.refit.passes import Device
from onkel.refit.stopwatch import Stopwatch, Work

# Finds centres: rows, targets, gamma, budget -> points.
Finder = Callable[[Any, Targets, float, int], np.ndarray]


class Tools(NamedTuple):
    """What travels through a re-fit, unchanged but for the deadline."""

    find: Finder
    device: Device
    announce: Callable[[str], None]  # is told of every step
    deadline: Deadline  # when to be content with what was found
    stopwatch: Stopwatch

    def merged(self, X: Any, targets: Targets, gamma: float, budget: int) -> np.ndarray:
        """Find centres."""
        with self.stopwatch.of(Work.MERGING):
            return self.find(X, targets, gamma, budget)


class Sample(NamedTuple):
    """Rows, dense or CSR, with their targets."""

    X: Any
    targets: Targets

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.targets.y)

    def part(self, rows: np.ndarray) -> "Sample":
        """Return some of them only."""
        return Sample(self.X[rows], self.targets.part(rows))

    def drawn(self, count: int, rng: np.random.Generator) -> "Sample":
        """Return so many of them, at random, in the order in which they are."""
        return self.part(np.sort(rng.choice(self.rows, count, replace=False)))
