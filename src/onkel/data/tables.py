"""Files that are tables: their columns by name, read as batches of Arrow."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onkel.data.bad_file import BadFileError, Complain, complain_of

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch, Schema

# Rows of a batch, at most, unless somebody wants others.
BATCH_ROWS = 65_536


class TableFile(ABC):
    """A file of rows that have the same columns."""

    path: Path
    # What each column holds, as in `onkel.data.columns.KINDS`, or, where it can hold
    # none of these, the type as the file has it.
    kinds: dict[str, str]
    notes: Sequence[str] = ()  # what a reader of a report should know of its reading

    @abstractmethod
    def batches(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        """Read columns as they are said to be, `rows` rows at a time."""

    def checked_batches(
        self, rows: int, kinds: Mapping[str, str]
    ) -> Iterator[tuple["RecordBatch", Complain]]:
        """Read as `batches`, each with what raises the error for one of its rows."""
        done = 0
        for batch in self.batches(rows, kinds):
            yield batch, complain_of(self.fault, done)
            done += batch.num_rows

    @abstractmethod
    def fault(self, row: int, what: str) -> BadFileError:
        """Return the error for a row, counted from 0."""

    def column(self, named: str | int | None) -> str:
        """Return the name of a column given by name or number; None is the last.

        Numbers count from 1, or from the end if negative.
        """
        names = list(self.kinds)
        if named is None:
            return names[-1]
        if str(named) in names:
            return str(named)
        try:
            number = int(named)
        except ValueError:
            number = 0
        if 1 <= number <= len(names):
            return names[number - 1]
        if -len(names) <= number <= -1:
            return names[number]
        known = ", ".join(names)
        raise BadFileError(self.path, f"no column {named!r}; there are {known}")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Join names for a message, the first ones of many.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def require_pyarrow(what: str) -> None:
    """Say what to install if pyarrow is not there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{what} is read with pyarrow, which is not installed with onkel itself: "
            'pip install "onkel[cli]"'
        ) from error


def arrow_types() -> dict[str, "DataType"]:
    """Return the type in which each kind of column is read."""
    import pyarrow

    return {
        "number": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "text": pyarrow.string(),
        "time": pyarrow.timestamp("us"),
        "day": pyarrow.date32(),
    }


def kinds_of(schema: "Schema") -> dict[str, str]:
    """Return what the columns of a schema hold."""
    from pyarrow import types

    def kind(found: "DataType") -> str:
        if types.is_dictionary(found):
            found = found.value_type
        if types.is_boolean(found):
            return "flag"
        if types.is_timestamp(found):
            return "time"
        if types.is_date(found):
            return "day"
        # A column without any value shows at its first row.
        numeric = types.is_integer, types.is_floating, types.is_decimal, types.is_null
        if any(check(found) for check in numeric):
            return "number"
        text = types.is_string, types.is_large_string, types.is_string_view
        return "text" if any(check(found) for check in text) else str(found)

    return {field.name: kind(field.type) for field in schema}


def regroup(batches: Iterator["RecordBatch"], rows: int) -> Iterator["RecordBatch"]:
    """Cut and join batches so that all but the last have a number of rows."""
    held: list[RecordBatch] = []
    count = 0
    for batch in batches:
        while batch.num_rows:
            held.append(batch.slice(0, rows - count))
            count += held[-1].num_rows
            batch = batch.slice(held[-1].num_rows)
            if count == rows:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(batches: list["RecordBatch"]) -> "RecordBatch":
    import pyarrow

    (batch,) = pyarrow.Table.from_batches(batches).combine_chunks().to_batches()
    return batch
