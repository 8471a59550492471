"""Columns of tables as a survey sees them: gaps, categories, identifiers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from onkel.data.bad_file import BadFileError, Complain
from onkel.data.columns import MOST_CATEGORIES, Column, count_gaps, encode, numbers
from onkel.data.identifiers import Naming, Numbering
from onkel.data.medians import Medians
from onkel.data.reading_options import ReadingOptions

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class ColumnsSeen:
    """What is seen of the columns of tables, the target apart."""

    def __init__(self, columns: Sequence[Column], options: ReadingOptions) -> None:
        self._columns, self._rule = columns, options.missing
        self._rows = 0
        self.missing: Counter[str] = Counter()
        self._medians = Medians(sum(len(column.numbers) for column in columns))
        self._categories: dict[str, set[str]] = {
            column.name: set() for column in columns if column.kind == "text"
        }
        doubtful = [
            column
            for column in columns
            if options.keep is not None and column.name not in options.keep
        ]
        self._numbered = {
            column.name: Numbering(column.name)
            for column in doubtful
            if column.kind == "number"
        }
        self._named = {c.name: Naming() for c in doubtful if c.kind == "text"}

    def see(self, path: Path, batch: "RecordBatch", complain: Complain) -> np.ndarray:
        """Take rows into account; return their numbers, NaN where one is missing."""
        self._rows += batch.num_rows
        self.missing += count_gaps(batch, self._columns, self._rule, complain)
        found = numbers(batch, self._columns, complain)
        self._medians.see(found)
        at = 0
        for column in self._columns:
            if column.kind == "text":
                self._see_texts(path, column.name, batch)
            elif column.name in self._numbered:
                self._numbered[column.name].see(found[:, at])
            at += len(column.numbers)
        return found

    def _see_texts(self, path: Path, name: str, batch: "RecordBatch") -> None:
        texts, _ = encode(batch.column(name))
        named, seen = self._named.get(name), self._categories[name]
        if named is not None:
            named.see(texts, batch.num_rows)
        if len(seen) <= MOST_CATEGORIES:
            seen.update(texts)
        if len(seen) > MOST_CATEGORIES and not (named is not None and named.holds):
            self._refuse_texts(path, name)

    def _refuse_texts(self, path: Path, name: str) -> None:
        raise BadFileError(
            path,
            f"column {name} has more than {MOST_CATEGORIES} different texts, too many "
            "for features: drop it",
        )

    def left_out(self, path: Path) -> dict[str, str]:
        """Return columns that say nothing about a row, and why."""
        empty = {
            name: "empty" for name, many in self.missing.items() if many == self._rows
        }
        doubtful = self._numbered | self._named
        identifiers = [name for name, column in doubtful.items() if column.holds]
        left_out = empty | dict.fromkeys(identifiers, "identifier")
        if len(left_out) < len(self._columns):
            return left_out
        # There is nothing else to learn from.
        for name, seen in self._categories.items():
            if len(seen) > MOST_CATEGORIES:
                self._refuse_texts(path, name)
        return empty

    def kept(self, left_out: Mapping[str, str]) -> tuple[list[Column], np.ndarray]:
        """Return the others, with categories, and the medians of their numbers."""
        columns, is_kept = [], []
        for column in self._columns:
            stays = column.name not in left_out
            is_kept += [stays] * len(column.numbers)
            if stays:
                categories = tuple(sorted(self._categories.get(column.name, ())))
                has_gaps = column.name in self.missing
                columns.append(Column(column.name, column.kind, categories, has_gaps))
        return columns, self._medians.found()[np.array(is_kept, bool)]
