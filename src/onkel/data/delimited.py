"""CSV and its relatives: a row a line, columns between separators."""

import contextlib
import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onkel.data.bad_file import BadFileError
from onkel.data.delimited_looks import (
    BLANKS,
    THOUSANDS,
    is_empty,
    is_header,
    is_number,
    is_number_of_any_kind,
    is_number_with_comma,
    mostly,
    separator_of,
    split,
)
from onkel.data.tables import (
    TableFile,
    arrow_types,
    kinds_of,
    listed,
    regroup,
    require_pyarrow,
)
from onkel.data.text import open_text

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.csv import CSVStreamingReader

# Bytes that pyarrow parses at a time; the first of these blocks tells the types.
BLOCK = 1 << 21
# Some files have a space behind each comma, or before, or columns of equal width.
_PADDED = {f"{a}{sign}{b}" for sign in BLANKS for a in ("", " ") for b in ("", " ")}
_PADDED |= {" " * width for width in range(32)}


class Delimited(TableFile):
    """A file in CSV or TSV; without a header its columns are called 1, 2, 3 and so on.

    Separator and header are told by the look of the first lines where they are None.
    If the separator is not the comma, numbers may have decimal commas.
    """

    _point = "."  # the decimal sign
    _commas = False  # whether that may be a comma
    _zoned: Set[str] = frozenset()  # columns of times with a zone

    def __init__(
        self, path: Path, separator: str | None = None, header: bool | None = None
    ) -> None:
        require_pyarrow("CSV")
        self.path = path
        self._quote = '"'
        with self._text() as file:
            numbered = ((at, line) for at, line in enumerate(file, 1) if line.strip())
            full = list(itertools.islice(numbered, 2))
        if not full:
            raise BadFileError(path, "the file is empty", line=1)
        head = [line.decode("utf-8-sig", "replace") for _, line in full]
        if separator is None:
            try:
                separator = separator_of(head[0])
            except ValueError as error:
                raise BadFileError(path, str(error), line=1) from error
        self._separator = separator
        self._commas = separator != ","
        first = split(head[0], separator)
        if header is None:
            second = split(head[1], separator) if len(head) > 1 else []
            header = is_header(first, second, self._commas)
        names = [name.strip() for name in first]
        if not header:
            names = [str(number) for number in range(1, len(first) + 1)]
        self._begin(full[0][0] if header else 0, names)
        self.kinds = self._infer(names)

    def _text(self) -> io.BufferedReader:
        """Open the file; pyarrow parses no line that is longer than a block."""
        return open_text(self.path, longest=max(BLOCK, 1 << 20), decode=True)

    def _begin(self, skipped: int, names: Sequence[str]) -> None:
        """Remember where the rows begin, and their columns."""
        self._skipped = skipped
        doubled = [name for name, times in Counter(names).items() if times > 1]
        if doubled:
            what = f"two columns are called {doubled[0]!r}: rename one"
            raise BadFileError(self.path, what, line=max(skipped, 1))
        self._names = names

    def _infer(self, names: Sequence[str]) -> dict[str, str]:
        block = self._first_block()
        commas = [name for name in names if self._has_commas(block.column(name))]
        if commas:
            points = kinds_of(block.schema)
            self._point = ","
            block = self._first_block()
            self.notes = [f"numbers with decimal commas: {listed(commas)}"]
        kinds = kinds_of(block.schema)
        self._zoned = {f.name for f in block.schema if getattr(f.type, "tz", None)}
        for name in names:
            if kinds[name] != "text":
                continue
            if mostly(self._is_number, block.column(name)):
                kinds[name] = "number"
            elif commas and points[name] == "number":
                what = f"{commas[0]} has decimal commas, {name} decimal points: "
                raise BadFileError(self.path, what + "write them alike")
            elif self._commas and mostly(is_number_of_any_kind, block.column(name)):
                what = f"{name} has decimal commas and decimal points: "
                raise BadFileError(self.path, what + "write them alike")
            elif self._commas and mostly(THOUSANDS.fullmatch, block.column(name)):
                what = f"{name} has points between thousands: write numbers without"
                raise BadFileError(self.path, what)
        return kinds | self._kinds_further_on([n for n in names if is_empty(block, n)])

    def _first_block(self) -> "RecordBatch":
        with self._parsed({}) as blocks:
            block = next(blocks)
            if not block.num_rows:
                raise self._find({}, "the file has no rows")
        return block

    def _has_commas(self, column: Any) -> bool:
        """Tell whether a column is one of numbers if its commas are decimal."""
        from pyarrow import types

        if not self._commas or not types.is_string(column.type):
            return False
        return mostly(is_number_with_comma, column) and not mostly(is_number, column)

    def _kinds_further_on(self, names: Sequence[str]) -> dict[str, str]:
        """Tell what columns hold of which the first block has nothing."""
        kinds: dict[str, str] = {}
        if not names:
            return kinds
        with self._parsed(dict.fromkeys(names, "text")) as blocks:
            for block in blocks:
                for name in names:
                    if name not in kinds and not is_empty(block, name):
                        numbers = mostly(self._is_number, block.column(name))
                        kinds[name] = "number" if numbers else "text"
                if len(kinds) == len(names):
                    break
        return kinds

    @contextlib.contextmanager
    def _parsed(self, kinds: Mapping[str, str]) -> Iterator["CSVStreamingReader"]:
        """Parse columns as they are said to be, or all; name the row that is not so."""
        from pyarrow import timestamp

        types = arrow_types()
        wanted = {name: types[kind] for name, kind in kinds.items()}
        for name in self._zoned & wanted.keys():
            wanted[name] = timestamp("us", "UTC")
        with self._text() as file:
            try:
                yield self._parse(file, wanted)
            except BadFileError:
                raise
            except ValueError as error:
                raise self._find(kinds, str(error)) from error

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
                null_values=sorted(_PADDED),
                strings_can_be_null=True,
                decimal_point=self._point,
            ),
        )

    # Tells pyarrow what to do with a row of too many or too few fields; None to refuse.
    _invalid_row: Any = None

    def _is_number(self, field: str) -> bool:
        return (is_number_with_comma if self._point == "," else is_number)(field)

    def batches(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        """Read columns as they are said to be, `rows` rows at a time."""
        with self._parsed(kinds) as blocks:
            yield from regroup(blocks, rows)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and fields of the rows, by a slower and more patient parser."""
        with self._text() as file:
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
                    if not self._fits(field, kinds.get(name, "text")):
                        what = f"{field!r} in column {name} is not a {kinds[name]}"
                        return BadFileError(self.path, what, line=line)
        except csv.Error as error:
            return BadFileError(self.path, str(error), line=line + 1)
        if line == self._skipped:
            said, line = "there are no rows after the header", line + 1
            return BadFileError(self.path, said, line=line)
        return BadFileError(self.path, said)

    def _fits(self, field: str, kind: str) -> bool:
        if kind == "text" or field in _PADDED:
            return True
        if kind == "flag":
            return field.lower() in ("true", "false", "0", "1")
        if kind == "number":
            number = field.replace(",", ".", 1) if self._point == "," else field
            return self._is_number(field) and math.isfinite(float(number))
        try:
            parse = datetime.fromisoformat if kind == "time" else date.fromisoformat
            parse(field)
        except ValueError:
            return False
        return True

    def fault(self, row: int, what: str) -> BadFileError:
        """Return the error for a row, counted from 0."""
        line = next(itertools.islice(self._records(), row, None))[0]
        return BadFileError(self.path, what, line=line)
