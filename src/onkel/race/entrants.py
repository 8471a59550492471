"""Entrants: who is on the list of starters of a race, and who is not and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np


class Contestant(Protocol):
    """What predicts, then learns. Labels are numbers of classes, from 0."""

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what was predicted for them before."""

    @property
    def size(self) -> int | None:
        """Centres and features; None where these have no meaning."""

    @property
    def updates(self) -> int | None:
        """Rows that changed the model; None where nobody counts."""

    @property
    def memory(self) -> int:
        """Bytes that are kept between two calls."""


@dataclass(frozen=True)
class Entrant:
    """A name on the list of starters."""

    name: str
    model: str  # with its parameters, as one would write it down
    make: Callable[[int], Contestant]  # with a seed
    budget: int | None = None  # centres and features
    is_reference: bool = False
    takes_longest: bool = False  # to compile and to race
    warm_up: Callable[[Any, np.ndarray], None] = lambda X, y: None


class StartList(NamedTuple):
    """Who starts, and who does not and why."""

    entrants: list[Entrant]
    left_out: dict[str, str]  # reason by name

    def only(self, systems: Iterable[str] | None) -> "StartList":
        """Keep those of these names, whatever their case; None for all."""
        if systems is None:
            return self
        wanted = {name.lower(): name for name in systems}
        everyone = [*(entrant.name for entrant in self.entrants), *self.left_out]
        known = {name.lower() for name in everyone}
        if unknown := [wanted[low] for low in wanted if low not in known]:
            raise ValueError(
                f"no system is called {', '.join(map(repr, unknown))}; there are: "
                + ", ".join(everyone)
            )
        return StartList(
            [one for one in self.entrants if one.name.lower() in wanted],
            {k: why for k, why in self.left_out.items() if k.lower() in wanted},
        )
