"""Columns of a table, and the numbers that a learner gets from them.

Numbers stay as they are, flags become 0 or 1, a text becomes one column for each of
its categories, a time becomes the hour, the day of the week, the day of the year and
the days since 1970, a day the last three of these. Whether a cell is missing is a
feature of its own where some were missing in the rows that were learnt from.
"""

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onkel.data.bad_file import Complain
from onkel.data.scaling import LARGEST

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
    has_gaps: bool = False  # whether cells were missing where it was learnt from

    @property
    def numbers(self) -> list[str]:
        """Names of the features made of it that are numbers."""
        if self.kind == "text":
            return []
        if self.kind in ("time", "day"):
            clock = _CLOCK if self.kind == "time" else _CLOCK[1:]
            return [f"{self.name} {what}" for what in clock]
        return [self.name]

    @property
    def marks(self) -> list[str]:
        """Names of the features made of it of which at most one is 1, the others 0.

        Examples
        --------
        >>> Column("colour", "text", ("blue", "red"), has_gaps=True).marks
        ['colour=blue', 'colour=red', 'colour is missing']
        """
        named = [f"{self.name}={category}" for category in self.categories]
        return named + [f"{self.name} is missing"] * self.has_gaps


def gaps(array: "Array", kind: str) -> np.ndarray:
    """Return which cells are missing; among numbers NaN is."""
    found = array.is_null(nan_is_null=kind == "number")
    return found.to_numpy(zero_copy_only=False)


def count_gaps(
    batch: "RecordBatch",
    columns: Sequence[Column],
    rule: str | None,
    complain: Complain,
) -> Counter[str]:
    """Count missing cells by column, or complain of the first, as the rule says.

    The rule is that of `Preparation.missing`: without one, texts may be missing.
    """
    count, first = Counter[str](), (batch.num_rows, "")
    for column in columns:
        if rule is None and column.kind == "text":
            continue
        missing = np.flatnonzero(gaps(batch.column(column.name), column.kind))
        if len(missing):
            count[column.name] = len(missing)
            first = min(first, (int(missing[0]), column.name), key=itemgetter(0))
    row, name = first
    if name and rule != "fill":
        said = "missing" if not batch.column(name)[row].is_valid else "nan"
        complain(row, f"{name} is {said}: fill it, or leave the row out")
    return count


def numbers(
    batch: "RecordBatch", columns: Sequence[Column], complain: Complain
) -> np.ndarray:
    """Return what is not text, of shape (rows, features) in double precision.

    NaN is what is missing. An infinity, or what is too large, is complained of.
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
    """Return a target, of which nothing may be missing; texts as numpy's strings."""
    missing = np.flatnonzero(gaps(array, kind))
    if len(missing):
        what = f"the target {name} is missing: fill it, or leave the row out"
        complain(int(missing[0]), what)
    if kind == "text":
        return np.array(array.to_pylist(), dtype=np.str_)
    found = array.to_numpy(zero_copy_only=False)
    if kind == "number":
        _refuse_large(found, name, complain)
    return found


def _refuse_large(found: np.ndarray, name: str, complain: Complain) -> None:
    large = np.flatnonzero(np.abs(found) > LARGEST)
    if len(large):
        row = int(large[0])
        why = ""
        if np.isfinite(found[row]):
            why = f", beyond {LARGEST:g} and too large to learn"
        complain(row, f"{name} is {found[row]}{why}: fill it, or leave the row out")


def _numbers_of(array: "Array", column: Column, complain: Complain) -> np.ndarray:
    if column.kind in ("number", "flag"):
        found = array.cast("float64").to_numpy(zero_copy_only=False)
        _refuse_large(found, column.name, complain)
        return found
    found = array.to_numpy(zero_copy_only=False)
    clock = _clock(found, column.kind).astype(np.float64)
    clock[np.isnat(found)] = np.nan
    return clock


def _clock(found: np.ndarray, kind: str) -> np.ndarray:
    """Return the features of times or days; nonsense for what is missing."""
    day = found.astype("datetime64[D]")
    day_of_year = (day - found.astype("datetime64[Y]").astype("datetime64[D]")) + 1
    clock = [
        # Day 0 of the calendar, 1 January 1970, was a Thursday: Monday is 0.
        (day.astype(np.int64) + 3) % 7,
        day_of_year.astype(np.int64),
    ]
    if kind == "day":
        return np.column_stack([*clock, day.astype(np.int64)])
    hour = (found - day) / np.timedelta64(1, "h")
    return np.column_stack([hour, *clock, day.astype(np.int64) + hour / 24])


def places(batch: "RecordBatch", columns: Sequence[Column], first: int) -> np.ndarray:
    """Return, for each row and column with marks, the number of the feature that is 1.

    Marks are numbered from `first`. -1 where there is none: the text is no category,
    nothing is missing, or what is missing never was.
    """
    found = []
    for column in columns:
        if not (marks := column.marks):
            continue
        array = batch.column(column.name)
        missing = first + len(marks) - 1 if column.has_gaps else -1
        if column.kind == "text":
            texts, codes = encode(array)
            known = {text: at for at, text in enumerate(column.categories, first)}
            at = np.array([known.get(text, -1) for text in texts] + [missing], np.int32)
            found.append(at[codes])
        else:
            there = gaps(array, column.kind)
            found.append(np.where(there, np.int32(missing), np.int32(-1)))
        first += len(marks)
    shape = batch.num_rows, len(found)
    return np.column_stack(found) if found else np.empty(shape, np.int32)


def encode(array: "Array") -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of a column and the place of each row's; -1 if none."""
    encoded = array.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), codes
