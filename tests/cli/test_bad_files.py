"""Bad files: where they are bad, exit code 2, and nothing half-written."""

import bz2
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from onkel.cli.commands import onkel as command

BATCH_ROWS = 10


def _csv(rows: int, **changed: str) -> str:
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(a > 0)}" for a, b in rng.normal(size=(rows, 2))]
    for row, line in changed.items():
        lines[int(row.removeprefix("row"))] = line
    return "\n".join(["a,b,label", *lines]) + "\n"


def truncated(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv.bz2"
    whole = bz2.compress(_csv(5000).encode())
    path.write_bytes(whole[: len(whole) // 2])
    return path, [], "data.csv.bz2"


def wrong_index_order(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.svm"
    path.write_text("1 1:2 2:3\n" * 30 + "-1 2:1 1:4\n")
    return path, [], "data.svm:31"


def text_in_regression(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.svm"
    path.write_text("1.5 1:2 2:3\n" * 30 + "high 2:1\n" + "2.5 1:1\n")
    return path, ["--task", "regression"], "data.svm:31"


def text_target_in_regression(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text(_csv(200, row170="0.1,0.2,high"))
    return path, ["--task", "regression"], "data.csv:172"


def other_type_in_batch_17(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    # Row 165 is in the seventeenth batch of ten, and in line 167.
    path.write_text(_csv(200, row165="0.1,tall,1"))
    return path, [], "data.csv:167"


def empty(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text("")
    return path, [], "data.csv"


def missing_target(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text(_csv(200))
    return path, ["--target", "price"], "'price'"


def missing_value(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text(_csv(200, row100="0.1,,1"))
    return path, ["--missing", "refuse"], "data.csv:102"


def missing_label(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text(_csv(200, row100="0.1,0.2,"))
    return path, [], "data.csv:102"


def too_large(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.csv"
    path.write_text(_csv(300, row200="1e308,0.2,1"))
    return path, [], "data.csv:202: a is 1e+308"


def without_columns(folder: Path) -> tuple[Path, list[str], str]:
    path = folder / "data.parquet"
    parquet.write_table(pyarrow.table({}), path)
    return path, [], "data.parquet: no columns"


FAULTS = [
    *(truncated, wrong_index_order, text_in_regression, text_target_in_regression),
    *(other_type_in_batch_17, empty, missing_target, missing_value),
    *(missing_label, too_large, without_columns),
]
COMMANDS: dict[str, list[str]] = {
    "fit": ["--batch-rows", str(BATCH_ROWS)],
    "evaluate": ["--progressive", "--batch-rows", str(BATCH_ROWS)],
    "race": ["--batch-rows", str(BATCH_ROWS)],
    "tune": ["--batch-rows", str(BATCH_ROWS)],
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_file_is_refused(
    name: str, fault: Callable[[Path], Any], tmp_path: Path
) -> None:
    path, options, says = fault(tmp_path)
    results = tmp_path / "results"
    output = [] if name == "tune" else ["-o", str(results)]
    words = [name, str(path), *options, *COMMANDS[name], *output]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == [path]
