"""CSV and its relatives: a row a line, columns between separators."""

import csv
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onkel.data.bad_file import BadFileError
from onkel.data.tables import Table, arrow_types, kinds_of, regroup, require_pyarrow
from onkel.data.text import open_text

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.csv import CSVStreamingReader

# Bytes that pyarrow parses at a time; the first of these blocks tells the types.
BLOCK = 1 << 21
# A column is one of numbers if this share of its first block is.
MOSTLY = 0.9
# What a missing value looks like.
MISSING = {"?", "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A"}


class Delimited(Table):
    """A file in CSV or TSV, with or without a header.

    Parameters
    ----------
    path
        Of the file, plain or compressed.
    separator
        None for the one of comma and semicolon that makes more fields of a line.
    header
        Whether the first line has the names of the columns; None to tell by its look.
        Without one the names are 1, 2, 3 and so on.
    """

    def __init__(
        self, path: Path, separator: str | None = None, header: bool | None = None
    ) -> None:
        require_pyarrow("CSV")
        self.path = path
        self._quote = '"'
        with open_text(path) as file:
            numbered = ((at, line) for at, line in enumerate(file, 1) if line.strip())
            full = list(itertools.islice(numbered, 2))
        if not full:
            raise BadFileError(path, "the file is empty", line=1)
        head = [line.decode("utf-8-sig", "replace") for _, line in full]
        if separator is None:
            try:
                separator = max(",;\t", key=lambda sign: len(_fields(head[0], sign)))
            except ValueError as error:
                raise BadFileError(path, str(error), line=1) from error
        self._separator = separator
        first = _fields(head[0], separator)
        if header is None:
            second = _fields(head[1], separator) if len(head) > 1 else []
            header = _is_header(first, second)
        names = [name.strip() for name in first]
        if not header:
            names = [str(number) for number in range(1, len(first) + 1)]
        self._begin(full[0][0] if header else 0, names)
        self.kinds = self._infer(names)

    def _begin(self, skipped: int, names: Sequence[str]) -> None:
        """Remember where the rows begin, and their columns."""
        self._skipped = skipped
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            what = f"two columns are called {doubled[0]!r}: rename one"
            raise BadFileError(self.path, what, line=max(skipped, 1))
        self._names = names

    def _infer(self, names: Sequence[str]) -> dict[str, str]:
        with open_text(self.path) as file:
            try:
                block = next(self._parse(file, {}))
                if not block.num_rows:
                    raise self._find({}, "the file has no rows")
            except BadFileError:
                raise
            except ValueError as error:
                raise self._find({}, str(error)) from error
        kinds = kinds_of(block.schema)
        if "binary" in kinds.values():
            raise self._find({}, "some text is not UTF-8")
        self._zoned = {f.name for f in block.schema if getattr(f.type, "tz", None)}
        for name in names:
            if kinds[name] == "text" and _mostly_numbers(block.column(name)):
                kinds[name] = "number"
        return kinds

    def _parse(self, file: io.BufferedReader, types: dict) -> "CSVStreamingReader":
        from pyarrow import csv as parser

        for _ in range(self._skipped):
            file.readline()
        return parser.open_csv(
            file,
            # One thread, as two would read ahead without bound.
            read_options=parser.ReadOptions(
                use_threads=False, block_size=BLOCK, column_names=self._names
            ),
            parse_options=parser.ParseOptions(
                delimiter=self._separator,
                quote_char=self._quote,
                newlines_in_values=True,
                invalid_row_handler=self._invalid_row,
            ),
            convert_options=parser.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=sorted(MISSING),
                strings_can_be_null=True,
            ),
        )

    def _invalid_row(self, row: Any) -> str:
        """What pyarrow shall do with a row of too many or too few fields."""
        return "error"

    def batches(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        """Read columns as they are said to be, `rows` rows at a time."""
        from pyarrow import timestamp

        types = arrow_types()
        wanted = {name: types[kind] for name, kind in kinds.items()}
        for name in self._zoned & wanted.keys():
            wanted[name] = timestamp("us", "UTC")
        with open_text(self.path) as file:
            try:
                yield from regroup(self._parse(file, wanted), rows)
            except BadFileError:
                raise
            except ValueError as error:
                raise self._find(kinds, str(error)) from error

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and fields of the rows, by a slower and more patient parser."""
        with open_text(self.path) as file:
            for _ in range(self._skipped):
                file.readline()
            lines = (line.decode() for line in file)
            reader = csv.reader(lines, delimiter=self._separator, quotechar=self._quote)
            for fields in reader:
                if fields and not self._is_comment(fields):
                    yield reader.line_num + self._skipped, fields

    def _is_comment(self, fields: list[str]) -> bool:
        return False

    def _find(self, kinds: Mapping[str, str], said: str) -> BadFileError:
        """Return the error for the first row that cannot be read."""
        line = self._skipped
        try:
            for line, fields in self._records():
                if len(fields) != len(self._names):
                    many = len(self._names)
                    what = f"{len(fields)} fields where there are {many} columns"
                    return BadFileError(self.path, what, line=line)
                for name, field in zip(self._names, fields, strict=True):
                    if not _fits(field, kinds.get(name, "text")):
                        what = f"{field!r} in column {name} is not a {kinds[name]}"
                        return BadFileError(self.path, what, line=line)
        except UnicodeDecodeError as error:
            return BadFileError(self.path, f"not UTF-8: {error}", line=line + 1)
        except csv.Error as error:
            return BadFileError(self.path, str(error), line=line + 1)
        if line == self._skipped:
            said, line = "there are no rows after the header", line + 1
            return BadFileError(self.path, said, line=line)
        return BadFileError(self.path, said)

    def fault(self, row: int, what: str) -> BadFileError:
        """Return the error for a row, counted from 0."""
        line = next(itertools.islice(self._records(), row, None))[0]
        return BadFileError(self.path, what, line=line)


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"{error} Lines must end in line feeds.") from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_header(first: list[str], second: list[str]) -> bool:
    """Tell whether a line has names: texts above numbers, or different texts only.

    Examples
    --------
    >>> _is_header(["height", "2001"], ["1.5", "3"])
    True
    >>> _is_header(["0", "udp"], ["1", "tcp"])
    False
    """
    texts = [bool(field) and not _is_number(field) for field in first]
    above = zip(first, texts, second, strict=False)
    if any(
        text and _is_number(under) and field not in MISSING
        for field, text, under in above
    ):
        return True
    return all(texts) and len(set(first)) == len(first) and first != second


def _mostly_numbers(column: Any) -> bool:
    # As many as are enough to tell.
    fields = column.slice(0, 10_000).drop_null().to_pylist()
    return bool(fields) and sum(map(_is_number, fields)) >= MOSTLY * len(fields)


def _fits(field: str, kind: str) -> bool:
    if kind == "text" or field in MISSING:
        return True
    if kind == "flag":
        return field.lower() in ("true", "false", "0", "1")
    if kind == "number":
        return _is_number(field) and math.isfinite(float(field))
    try:
        datetime.fromisoformat(field) if kind == "time" else date.fromisoformat(field)
    except ValueError:
        return False
    return True
