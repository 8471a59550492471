"""ARFF, the format of Weka and MOA: declared columns, then rows as in CSV."""

import csv
import re
from pathlib import Path
from typing import Any

from onkel.data.bad_file import BadFileError
from onkel.data.delimited import Delimited
from onkel.data.tables import require_pyarrow
from onkel.data.text import open_text

_ATTRIBUTE = re.compile(
    r"""@attribute\s+("[^"]*"|'[^']*'|\S+)\s+(.+)$""", re.IGNORECASE
)
_KINDS = {"numeric": "number", "real": "number", "integer": "number", "string": "text"}


class Arff(Delimited):
    """A file in ARFF. Nominal columns are texts; if all values are integers, numbers.

    Sparse rows and dates in other than ISO's notation are refused.
    """

    def __init__(self, path: Path) -> None:
        require_pyarrow("ARFF")
        self.path = path
        self._separator = ","
        self._quote = "'"
        kinds: dict[str, str] = {}
        line = 0
        with open_text(path) as file:
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
        self._zoned = set()

    def _attribute(self, said: str, line: int) -> tuple[str, str]:
        matched = _ATTRIBUTE.match(said)
        if matched is None:
            raise BadFileError(self.path, f"{said!r} declares no column", line=line)
        name, kind = matched[1].strip("\"'"), matched[2].strip()
        if kind.startswith("{"):
            values = next(csv.reader([kind.strip("{} ")], skipinitialspace=True))
            whole = all(re.fullmatch(r"[+-]?\d+", value.strip()) for value in values)
            return name, "number" if whole else "text"
        word = kind.split()[0].lower()
        return name, "time" if word == "date" else _KINDS.get(word, kind)

    def _invalid_row(self, row: Any) -> str:
        return "skip" if row.text.startswith("%") else "error"

    def _is_comment(self, fields: list[str]) -> bool:
        return fields[0].startswith("%")
