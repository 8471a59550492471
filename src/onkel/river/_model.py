"""What all models for River share: a system, its columns, and two ways into it.

The quick way is for a row like those before: it goes into memory that is there, and
from there into the compiled walk (`onkel.engine.one_row`), which changes the model in
place. All others go the long way, that of `partial_fit`, which checks everything and
learns on a copy: the first row, one with a new name or label, rows from whose number
on statistics are known better, and any with something odd about it. Both ways give the
same bits.
"""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from river import base

from onkel.engine.one_row import OneRow
from onkel.estimators._beginning import informing
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._widening import widened
from onkel.river._columns import (
    Columns,
    refuse_nameless,
    refuse_other_than_frames,
)
from onkel.river._replay import replayed

# What targets and weights of the quick way are.
NUMBERS: Any = (float, int, np.floating, np.integer)
# What follows from the rest, and is made when it is needed.
TRANSIENT = ("_way", "_fill", "_left", "_known", "_names")


def _nowhere(x: Any, leave_out: bool) -> bool:
    """Fill nothing: there is no quick way yet."""
    return False


class OnlineModel(base.Estimator):
    """A system with River's face.

    Attributes
    ----------
    columns
        Names of the features so far, in the order of the system's columns.
    """

    _kind: ClassVar[Any]  # the system
    _way: OneRow | None
    _fill: Callable[[Any, bool], bool]
    _left: int  # rows of a beginning until statistics are due; it may be endless

    def __post_init__(self) -> None:
        seed = getattr(self, "seed", None)
        if seed is None:
            # Once: what is drawn later, for new columns, is of the same seed.
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        elif not isinstance(seed, int | np.integer):
            raise ValueError(f"seed must be None or a number, got {seed!r}")
        self._drawn = int(seed)
        self._columns, self._system = Columns(), self._new()
        self._system._check_parameters()
        self._close()

    def _new(self) -> Any:
        """Return the system, with nothing learnt."""
        given = {name: getattr(self, name) for name in self._parameters()}
        return self._kind(**given, random_state=self._drawn)

    @classmethod
    def _parameters(cls) -> list[str]:
        """Names of the parameters that the system knows, too."""
        return [name for name in cls.__dataclass_fields__ if name != "seed"]

    @property
    def columns(self) -> tuple[Any, ...]:
        """Names of the features so far, in the order of the system's columns."""
        return self._columns.names

    def to_sklearn(self) -> Any:
        """Return what was learnt as the system with scikit-learn's interface: a copy.

        It predicts and goes on learning by itself, `onkel.save` saves it, and it has
        what this face does not show, such as `support_vectors_`. Its columns are those
        of `columns`; there may be a few more, for names to come, which are 0.
        """
        return copy.deepcopy(self._system)

    # ---- the quick way

    def _close(self) -> None:
        """Leave the quick way: what it leads to is no longer there."""
        self._way, self._fill, self._left = None, _nowhere, 0

    def _open(self) -> None:
        """Make the quick way, if the system is one that has learnt and has such."""
        system = self._system
        if (
            not isinstance(system, RecipeEstimator)
            or not system.__sklearn_is_fitted__()
        ):
            return
        self._way = OneRow(system._learner)
        self._fill = self._columns.filler(self._way.x)
        self._left = -1
        if system._beginning is not None:
            known = len(system._beginning)
            # The row with which statistics are due goes the long way.
            self._left = max(2 * informing(known), 1) - known - 1

    def _remember(self, y: Any, w: float) -> None:
        """Keep a row of the beginning, which was learnt by the quick way."""
        assert self._way is not None
        some = np.array([y]), np.array([w])
        self._system._beginning.add(self._way.x, *some)
        self._left -= 1

    def _scores(self, x: Any) -> np.ndarray | None:
        """Scores of a row, shape (outputs,); None before anything was learnt."""
        if self._way is None:
            self._open()
        way = self._way
        if way is not None and self._fill(x, True) and way.is_small():
            return way.score()
        if not self._system.__sklearn_is_fitted__():
            return None
        row = self._columns.row(x, self._system.n_features_in_)
        return self._system._scores(row)[0]

    def _scores_of_table(self, X: Any) -> np.ndarray | None:
        """Scores of the rows of a data frame, shape (rows, outputs), likewise."""
        refuse_other_than_frames(X)
        if self._way is None:
            self._open()
        if not self._system.__sklearn_is_fitted__():
            return None
        rows = self._columns.table(X, self._system.n_features_in_)
        if self._way is not None:
            return self._way.score_all(rows)
        scores: np.ndarray = self._system._scores(rows)
        return scores

    # ---- the long way

    def _learn_long(self, x: Any, y: Any, w: Any) -> None:
        """Learn a row by the long way, or refuse it and change nothing."""
        refuse_nameless(x)
        if np.ndim(y) > 0:
            raise ValueError(f"y must be one label or target, got {y!r}")
        if w is not None and not isinstance(w, NUMBERS):
            raise ValueError(f"w must be a weight, got {w!r}")
        weight = None if w is None else np.array([w])
        self._learn_rows(x, Columns.row, np.array([y]), weight)

    def _learn_table(self, X: Any, y: Any, w: Any) -> None:
        """Learn the rows of a data frame, or refuse them and change nothing."""
        refuse_other_than_frames(X)
        if len(X):
            weight = None if w is None else np.broadcast_to(w, len(X))
            self._learn_rows(X, Columns.table, np.asarray(y), weight)

    def _learn_rows(
        self, named: Any, read: Callable[..., np.ndarray], y: np.ndarray, w: Any
    ) -> None:
        columns, system = self._columns.joined(named), self._system
        width = self._width(len(columns))
        rows = read(columns, named, width)
        if system.__sklearn_is_fitted__() and width > system.n_features_in_:
            if isinstance(system, RecipeEstimator):
                system = widened(system, width)
            else:
                system = replayed(system, self._new(), width)
        system._learn_stream(rows, y, None, w)
        self._columns, self._system = columns, system
        self._close()

    def _width(self, columns: int) -> int:
        """Columns that the system is to have.

        Statistics of the first rows are of columns that there are. Later there are
        twice as many as are needed, so that one name after the other costs little.
        """
        system = self._system
        if not system.__sklearn_is_fitted__():
            return max(columns, 1)
        now = int(system.n_features_in_)
        if columns <= now:
            return now
        is_exact = isinstance(system, RecipeEstimator) and system._beginning is not None
        return columns if is_exact else max(columns, 2 * now)

    # ---- copies, and tests

    def __getstate__(self) -> dict[str, Any]:
        own = vars(self).items()
        return {name: value for name, value in own if name not in TRANSIENT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._close()

    @classmethod
    def _unit_test_params(cls) -> Any:
        small = {
            **{"budget": 20, "max_core": 20, "n_components": 20, "rank": 5},
            **{"merge_size": 4, "memory_size": 50},
        }
        known = cls.__dataclass_fields__
        yield {name: value for name, value in small.items() if name in known}
