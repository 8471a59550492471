"""Settings of a race, built once and handed to everyone."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np

SECONDS = 120.0


@dataclass(frozen=True)
class RaceSettings:
    """How a race is run.

    Parameters
    ----------
    budget
        Centres and features that a system may have.
    permutations
        Orders of the rows; None for 5, 3 if there are more than 10,000 rows, or 1 if
        the order of the file means something or it is too large to be loaded.
    gamma
        Of the kernel of all systems, exp(-gamma |x - x'|^2). "auto" tries values
        around the median heuristic on the first rows.
    seed
        Of orders and systems.
    batch_rows
        Rows in memory of a data set that is too large to be loaded.
    most_bytes
        Memory up to which a data set is loaded, to be permuted whole; None for 512 MiB.
    seconds
        Processor time of a contestant in one order. It is stopped soon after
        that, and shown without a place.
    systems
        Names of those of the library that start; None for all.
    references
        Whether the constant, linear SGD and others start, too.
    predictions
        Folder for all predictions: `run-1/BSGD.npy`, shorter if it was stopped,
        beside `run-1/y.npy`.
    in_order
        Whether the order of the file means something, so that the first run keeps it;
        None for what the data set says.
    """

    budget: int = 200
    permutations: int | None = None
    gamma: float | str = "auto"
    seed: int = 0
    batch_rows: int = 8192
    most_bytes: float | None = None
    seconds: float = SECONDS
    systems: Sequence[str] | None = None
    references: bool = True
    predictions: Path | None = None
    in_order: bool | None = None

    def __post_init__(self) -> None:
        for name in ("budget", "batch_rows", "permutations"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        gamma = self.gamma
        if gamma != "auto" and not (isinstance(gamma, Real) and 0 < gamma < np.inf):
            raise ValueError(f'gamma must be "auto" or a number above 0, got {gamma!r}')
