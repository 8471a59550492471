"""Records: what was measured, by name, in a file of JSON that outlives a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Records = dict[str, Record]


class RecordFile:
    """Records by name, which are safe in their file as soon as they are added.

    The file and its folder are made with the first record.

    Examples
    --------
    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "measured.json")
    >>> file.add("dna/svc", {"error": 0.1})
    >>> file.records
    {'dna/svc': {'error': 0.1}}
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        """All of the file: the records are `cells`; more may stand beside them."""
        if not self.path.exists():
            return {"cells": {}}
        found: dict[str, Any] = json.loads(self.path.read_text())
        if "cells" not in found:
            raise ValueError(f"{self.path} has no records, which would be its cells")
        return found

    def write(self, content: Mapping[str, Any]) -> None:
        """Write all of it, so that an interruption leaves the old or the new."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".json.new")
        fresh.write_text(json.dumps(content, indent=1) + "\n")
        fresh.replace(self.path)

    @property
    def records(self) -> Records:
        """All that are there now."""
        return dict(self.read()["cells"])

    def add(self, name: str, record: Record) -> None:
        """Add a record, or replace it, also while other processes add theirs."""
        import fcntl  # which not all systems have; all can read and write

        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            content = self.read()
            content["cells"][name] = record
            self.write(content)


def rounded(value: Any, digits: int) -> Any:
    """Return a value with so many figures of each number that count.

    Examples
    --------
    >>> rounded({"error": [0.123456, 7]}, 3)
    {'error': [0.123, 7]}
    """
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(inner, digits) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner, digits) for inner in value]
    return value


def a_line_each(records: Mapping[str, Record]) -> str:
    """JSON of records for people and for version control: a line for each.

    Examples
    --------
    >>> print(a_line_each({"one": {"error": 0.5}, "two": {}}))
    {
    "one": {"error": 0.5},
    "two": {}
    }
    """
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in records.items())
    return "{\n" + ",\n".join(lines) + "\n}"
