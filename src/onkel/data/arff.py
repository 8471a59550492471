"""ARFF, the format of Weka and MOA: declared columns, then rows as in CSV."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onkel.data.bad_file import BadFileError
from onkel.data.delimited import Delimited
from onkel.data.tables import require_pyarrow

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

_ATTRIBUTE = re.compile(
    r"""@attribute\s+("[^"]*"|'[^']*'|\S+)\s+(.+)$""", re.IGNORECASE
)
# A value of a declaration, in quotes where it has commas.
_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]+?)\s*(?:,|$)""")
_KINDS = {"numeric": "number", "real": "number", "integer": "number", "string": "text"}


class Arff(Delimited):
    """A file in ARFF. Nominal columns are texts; if all values are integers, numbers.

    Sparse rows, dates in other than ISO's notation and values that are not declared are
    refused.
    """

    def __init__(self, path: Path) -> None:
        require_pyarrow("ARFF")
        self.path = path
        self._separator = ","
        self._quote = "'"
        self._declared: dict[str, frozenset[str]] = {}
        kinds: dict[str, str] = {}
        line = 0
        with self._text() as file:
            for line, raw in enumerate(file, 1):
                said = raw.decode("utf-8-sig", "replace").strip()
                if said.lower().startswith("@data"):
                    break
                if said.lower().startswith("@attribute"):
                    name, kind = self._attribute(said, line)
                    if name in kinds:
                        what = f"two columns are called {name!r}: rename one"
                        raise BadFileError(path, what, line=line)
                    kinds[name] = kind
            else:
                raise BadFileError(path, "no @data in this ARFF file", line=line or 1)
            for raw in file:
                line += 1
                said = raw.decode("utf-8", "replace").strip()
                if said and not said.startswith("%"):
                    break
            else:
                raise BadFileError(path, "there are no rows after @data", line=line)
        if not kinds:
            raise BadFileError(path, "no @attribute before @data", line=line)
        if said.startswith("{"):
            what = "sparse ARFF is not read: convert it to LIBSVM's format"
            raise BadFileError(path, what, line=line)
        if '"' in said and "'" not in said:
            self._quote = '"'
        self._begin(line - 1, list(kinds))
        self.kinds = kinds

    def _attribute(self, said: str, line: int) -> tuple[str, str]:
        matched = _ATTRIBUTE.match(said)
        if matched is None:
            raise BadFileError(self.path, f"{said!r} declares no column", line=line)
        name, kind = matched[1].strip("\"'"), matched[2].strip()
        if kind.startswith("{"):
            inside = kind.strip("{} ")
            values = frozenset(value.strip("\"'") for value in _VALUE.findall(inside))
            self._declared[name] = values
            whole = all(re.fullmatch(r"[+-]?\d+", value) for value in values)
            return name, "number" if whole else "text"
        word = kind.split()[0].lower()
        return name, "time" if word == "date" else _KINDS.get(word, kind)

    def batches(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        """Read columns as they are said to be, `rows` rows at a time."""
        from pyarrow import record_batch

        done = 0
        for batch in super().batches(rows, kinds):
            columns = {
                name: self._checked(batch.column(name), name, kind, done)
                for name, kind in kinds.items()
            }
            yield record_batch(columns) if columns else batch
            done += batch.num_rows

    def _checked(self, array: "Array", name: str, kind: str, done: int) -> "Array":
        """Return a column without spaces around texts; refuse what is not declared."""
        import pyarrow
        from pyarrow import compute

        if kind == "text":
            array = compute.utf8_trim_whitespace(array)
        if name not in self._declared or kind not in ("text", "number"):
            return array
        declared: Any = self._declared[name]
        if kind == "number":
            declared = {float(value) for value in declared if self._is_number(value)}
        known = compute.is_in(array, pyarrow.array(sorted(declared), array.type))
        unknown = compute.index(compute.or_(known, array.is_null()), False).as_py()
        if unknown >= 0:
            value = array[unknown].as_py()
            shown = f"{value:g}" if kind == "number" else repr(value)
            what = f"{shown} in column {name} is not among the values declared for it"
            raise self.fault(done + unknown, what)
        return array

    def _invalid_row(self, row: Any) -> str:
        return "skip" if row.text.startswith("%") else "error"

    def _is_comment(self, fields: list[str]) -> bool:
        return fields[0].startswith("%")
