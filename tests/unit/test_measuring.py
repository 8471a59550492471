"""Records in files, and memory of the process."""

import json
import mmap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from onkel.measuring import memory
from onkel.measuring.records import RecordFile, a_line_each, rounded


def add_some(path: Path, first: int) -> None:
    for number in range(first, first + 20):
        RecordFile(path).add(str(number), {"number": number})


def test_processes_add_records_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "new" / "records.json"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(add_some, [path, path], [0, 20]))
    found = RecordFile(path).records
    assert {int(name) for name in found} == set(range(40))
    assert all(record == {"number": int(name)} for name, record in found.items())


def test_what_stands_beside_the_records_stays(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "records.json")
    assert file.read() == {"cells": {}}
    file.write({"about": "a run", "cells": {"one": {"error": 1.0}}})
    file.add("two", {"error": 2.0})
    file.add("one", {"error": 0.5})
    cells = {"one": {"error": 0.5}, "two": {"error": 2.0}}
    assert file.read() == {"about": "a run", "cells": cells}


def test_an_interruption_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RecordFile(tmp_path / "records.json")
    file.add("one", {"error": 1.0})

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.add("two", {"error": 2.0})
    assert list(file.records) == ["one"]


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"one": {}}')
    with pytest.raises(ValueError, match="has no records"):
        RecordFile(path).add("two", {})
    assert path.read_text() == '{"one": {}}'


def test_lines_are_json_with_fewer_figures() -> None:
    records = {"one": {"error": 1 / 3, "seeds": [1, 2 / 3]}, "two": {}}
    text = a_line_each({name: rounded(each, 3) for name, each in records.items()})
    assert len(text.splitlines()) == 4
    assert json.loads(text)["one"] == {"error": 0.333, "seeds": [1, 0.667]}


def test_growth_is_seen_also_after_it_is_over() -> None:
    growth = memory.Growth()
    before, size = memory.resident(), 2**26
    with mmap.mmap(-1, size) as pages:
        pages.write(b"x" * size)
    if growth.bytes is None or before is None:
        pytest.skip("the system does not tell")
    assert growth.bytes > 0.9 * size
    assert memory.peak(children=True) >= memory.peak() >= before
