"""Columns: which name of a feature is which column of a row.

Names get columns in the order in which they first occur, those of the same row in
order, so that it does not matter in which order a row holds them. A name that a row
leaves out is 0 there, as in River's linear models.
"""

import struct
from collections.abc import Callable, Collection, Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from onkel.estimators._checks import largest_entry
from onkel.estimators._entries import (
    EntryError,
    nature,
    refuse_culprit,
    refuse_odd_columns,
)

ENCODE = (
    "Let River make numbers of text, for example with compose.SelectType(str) | "
    "preprocessing.OneHotEncoder()."
)
IMPUTE = "Leave it out of the row, which makes it 0, or impute it."


def in_order(names: Collection[Any]) -> list[Any]:
    """Names in an order of their own, whatever they are.

    Examples
    --------
    >>> in_order({"b", "a"}), in_order({"b", 2})
    (['a', 'b'], [2, 'b'])
    """
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


def refuse_nameless(x: Any) -> None:
    """Refuse a row without names."""
    if not hasattr(x, "items"):
        raise ValueError(
            f"x must be a dict of features by their names, got a {type(x).__name__}"
        )


def refuse_other_than_frames(X: Any) -> None:
    """Refuse what is no data frame, or not one of these."""
    if not hasattr(getattr(X, "columns", None), "is_unique"):
        raise ValueError(f"X must be a data frame of pandas, got a {type(X).__name__}")
    if not X.columns.is_unique:
        raise ValueError("X has several columns of the same name")


class Columns:
    """Names that have a column; it never changes.

    Examples
    --------
    >>> columns = Columns(("age", "size")).joined({"weight": 1.0, "size": 2.0})
    >>> columns.names, columns.row({"weight": 1.0, "size": 2.0}, 4)
    (('age', 'size', 'weight'), array([[0., 2., 1., 0.]]))
    """

    def __init__(self, names: Iterable[Any] = ()) -> None:
        self.names = tuple(names)
        self.places = {name: place for place, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def joined(self, names: Iterable[Any]) -> "Columns":
        """Return these, and those of the names that have no column yet."""
        strangers = {name for name in names if name not in self.places}
        return Columns((*self.names, *in_order(strangers))) if strangers else self

    # ---- rows, with a look at each number

    def row(self, x: Any, width: int) -> np.ndarray:
        """Return the row of so many columns, shape (1, width).

        What has no column is left out. ValueError names a feature that is no number.
        """
        refuse_nameless(x)
        out = np.zeros((1, width))
        limit = largest_entry(np.float64, width)
        for name, value in x.items():
            if name in self.places:
                out[0, self.places[name]] = _number(name, value, limit)
        return out

    def table(self, X: Any, width: int) -> np.ndarray:
        """Return the rows of a data frame, likewise."""
        refuse_other_than_frames(X)
        known = X[[name for name in X.columns if name in self.places]]
        refuse_odd_columns(known)
        try:
            values = known.to_numpy(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            refuse_culprit(error, known)
        limit = largest_entry(np.float64, width)
        for row, column in np.argwhere(~(np.abs(values) <= limit))[:1]:
            value = float(values[row, column])
            _number(known.columns[column], value, limit, f" in row {row}")
        out = np.zeros((len(X), width))
        out[:, [self.places[name] for name in known.columns]] = values
        return out

    # ---- rows, as fast as can be

    def filler(self, out: Any) -> Callable[[Any, bool], bool]:
        """Return what writes a row into `out`, and says whether it could.

        It cannot if there are values that are no numbers, or, unless these are to be
        left out, names without a column.
        """
        names, places, count = self.names, self.places, len(self.names)
        pack, nothing = struct.Struct(f"{count}d").pack_into, (0.0,) * count
        # Of a single name it would return the value, not a tuple.
        get = itemgetter(*names) if count > 1 else None

        def fill(x: Any, leave_out: bool) -> bool:
            try:
                # Other kinds of dict may invent what they have not.
                if get is not None and type(x) is dict and len(x) == count:
                    try:
                        pack(out, 0, *get(x))
                        return True
                    except KeyError:
                        pass
                values = list(nothing)
                for name, value in x.items():
                    place = places.get(name)
                    if place is not None:
                        values[place] = value
                    elif not leave_out:
                        return False
                pack(out, 0, *values)
            except (struct.error, AttributeError, TypeError, OverflowError):
                return False
            return True

        return fill


def _number(name: Any, value: Any, limit: float, where: str = "") -> float:
    """Return the value of a feature as a number, or say why it is none."""
    found = None if isinstance(value, float) else nature(value)
    if isinstance(value, str | bytes):  # of digits, too
        found = f"text, {str(value)!r},", ENCODE
    if found is not None:
        raise EntryError(f"Feature {name!r} is {found[0]}{where}. {found[1]}")
    number = float(value)
    if abs(number) <= limit:
        return number
    problem, advice = "infinite", IMPUTE
    if number != number:
        problem = "NaN"
    elif abs(number) != np.inf:
        problem = f"{number:g}, whose square overflows,"
        advice = "Scale the features, for example with preprocessing.StandardScaler()."
    raise ValueError(f"Feature {name!r} is {problem}{where}. {advice}")
