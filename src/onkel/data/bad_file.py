"""A file that cannot be read, and where it goes wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

# Raises the error for a row of a batch, counted from 0.
Complain = Callable[[int, str], NoReturn]


class BadFileError(ValueError):
    """A file has something that cannot be learnt from.

    Parameters
    ----------
    path
        Of the file.
    what
        What is wrong, and what to do about it.
    line
        Number of the line, from 1, of a text file.
    row
        Number of the row, from 1, of a file without lines.

    Examples
    --------
    >>> print(BadFileError(Path("a.csv"), "'x' is not a number", line=7))
    a.csv:7: 'x' is not a number
    >>> print(BadFileError(Path("a.parquet"), "delay is missing", row=7))
    a.parquet, row 7: delay is missing
    """

    def __init__(
        self, path: Path, what: str, line: int | None = None, row: int | None = None
    ) -> None:
        place = f":{line}" if line is not None else ""
        place += f", row {row}" if row is not None else ""
        super().__init__(f"{path}{place}: {what}")
        self.what = what
        self.path = path
        self.line = line
        self.row = row

    def of(self, path: Path) -> "BadFileError":
        """Return the same error of a file as the user knows it."""
        return BadFileError(path, self.what, self.line, self.row)


def complain_of(fault: Callable[[int, str], BadFileError], first: int) -> Complain:
    """Return what raises the fault of a row of a batch, by the batch's first row."""

    def complain(row: int, what: str) -> NoReturn:
        raise fault(first + row, what)

    return complain
