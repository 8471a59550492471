"""Columns of a table, and the numbers that a learner gets from them.

Numbers stay as they are, flags become 0 or 1, a text becomes one column for each of
its categories, a time becomes the hour, the day of the week, the day of the year and
the days since 1970, a day the last three of these.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onkel.data.bad_file import Complain

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# Of a text column, at most.
MOST_CATEGORIES = 1000
KINDS = ("number", "flag", "text", "time", "day")
_CLOCK = ("hour", "weekday", "day of year", "days since 1970")


class Column(NamedTuple):
    """A column of the file: its name, what it holds, and the categories of a text."""

    name: str
    kind: str
    categories: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the features made of it.

        Examples
        --------
        >>> Column("colour", "text", ("blue", "red")).features
        ['colour=blue', 'colour=red']
        """
        if self.kind == "text":
            return [f"{self.name}={category}" for category in self.categories]
        if self.kind in ("time", "day"):
            clock = _CLOCK if self.kind == "time" else _CLOCK[1:]
            return [f"{self.name} {what}" for what in clock]
        return [self.name]


def numbers(
    batch: "RecordBatch", columns: Sequence[Column], complain: Complain
) -> np.ndarray:
    """Return what is not text, of shape (rows, features) in double precision.

    A missing value, a NaN or an infinity is complained of.
    """
    parts = [
        _numbers_of(batch.column(column.name), column, complain)
        for column in columns
        if column.kind != "text"
    ]
    if not parts:
        return np.empty((batch.num_rows, 0))
    return np.column_stack(parts)


def values(array: "Array", name: str, kind: str, complain: Complain) -> np.ndarray:
    """Return a column without missing values; texts as numpy's strings."""
    if array.null_count:
        missing = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        complain(missing, f"{name} is missing: fill it, or leave the row out")
    if kind == "text":
        return np.array(array.to_pylist(), dtype=np.str_)
    found = array.to_numpy(zero_copy_only=False)
    if kind == "number" and not (finite := np.isfinite(found)).all():
        row = int(np.flatnonzero(~finite)[0])
        complain(row, f"{name} is {found[row]}: fill it, or leave the row out")
    return found


def _numbers_of(array: "Array", column: Column, complain: Complain) -> np.ndarray:
    found = values(array, column.name, column.kind, complain)
    if column.kind not in ("time", "day"):
        return found
    day = found.astype("datetime64[D]")
    day_of_year = (day - found.astype("datetime64[Y]").astype("datetime64[D]")) + 1
    clock = [
        # Day 0 of the calendar, 1 January 1970, was a Thursday: Monday is 0.
        (day.astype(np.int64) + 3) % 7,
        day_of_year.astype(np.int64),
    ]
    if column.kind == "day":
        return np.column_stack([*clock, day.astype(np.int64)])
    hour = (found - day) / np.timedelta64(1, "h")
    return np.column_stack([hour, *clock, day.astype(np.int64) + hour / 24])


def places(batch: "RecordBatch", columns: Sequence[Column], first: int) -> np.ndarray:
    """Return, for each row and text column, the number of the feature that is 1.

    Parameters
    ----------
    batch, columns
        Rows, and what they consist of.
    first
        Number of the first feature made from a text.

    Returns
    -------
    places of shape (rows, text columns)
        -1 where the text is missing or no category.
    """
    found = []
    for column in columns:
        if column.kind == "text":
            texts, codes = encode(batch.column(column.name))
            known = {text: at for at, text in enumerate(column.categories, first)}
            at = np.array([known.get(text, -1) for text in texts] + [-1], np.int32)
            found.append(at[codes])
            first += len(column.categories)
    shape = batch.num_rows, len(found)
    return np.column_stack(found) if found else np.empty(shape, np.int32)


def encode(array: "Array") -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of a column and the place of each row's; -1 if none."""
    encoded = array.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), codes
