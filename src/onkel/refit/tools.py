"""Tools: what every step of a re-fit works with, and how centres are found."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel.engine.threads import Team
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets

# Finds centres: rows, targets, gamma, budget -> points.
Finder = Callable[[Any, Targets, float, int], np.ndarray]


def _silent(text: str) -> None:
    """Tell nobody."""


class Tools(NamedTuple):
    """What travels through a re-fit, unchanged but for the deadline."""

    find: Finder
    team: Team
    announce: Callable[[str], None] = _silent  # is told of every step
    deadline: Deadline = ENDLESS  # when to be content with what was found

    def until(self, deadline: Deadline) -> "Tools":
        """Return the same with another deadline."""
        return self._replace(deadline=deadline)
