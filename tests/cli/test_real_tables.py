"""Tables as people have them: filled, left out, piped in, and what is said of it."""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from onkel.cli.commands import onkel as command

SMALL = ["--system", "rbp", "--budget", "30", "--gamma", "2"]


def run(*words: Any, code: int = 0, piped: bytes | None = None) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words], input=piped)
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Missing numbers and texts, two identifiers, and an empty column."""
    rng = np.random.default_rng(0)
    lines = ["id,name,height,colour,note,y"]
    for i, (a, b) in enumerate(rng.normal(size=(300, 2))):
        height = "" if i % 50 == 7 else f"{a:.4f}"
        colour = "NA" if i % 100 == 3 else "red" if b > 0 else "blue"
        lines.append(f"{i + 1000},Mr {i},{height},{colour},,{int(a * b > 0)}")
    path = tmp_path_factory.mktemp("data") / "real.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "real.onkel"
    run("fit", table, *SMALL, "-o", path)
    return path


def test_fit_tells_what_it_filled_and_left_out(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    result = run("fit", table, *SMALL, "-o", path, "--json")
    found = json.loads(result.stdout)
    assert found["missing_cells"] == {"height": 6, "colour": 3}
    assert found["left_out"] == {
        **{"note": "empty", "id": "identifier", "name": "identifier"},
    }
    assert found["features"] == 5
    assert "9 missing cells filled" in result.stderr
    assert "height 6, colour 3." in result.stderr
    assert "Left out, identifier: id, name" in result.stderr
    kept = run("fit", table, *SMALL, "--keep", "id", "-o", path, "--json")
    assert json.loads(kept.stdout)["features"] == 6


def test_strict_users_get_file_line_and_column(table: Path, tmp_path: Path) -> None:
    words = "--missing", "refuse", "-o", tmp_path / "model.onkel"
    result = run("fit", table, *SMALL, *words, code=2)
    assert "real.csv:2: note is missing" in result.stderr
    result = run("fit", table, *SMALL, *words, "--drop", "note", code=2)
    assert "real.csv:5: colour is missing" in result.stderr


def test_a_model_fills_what_it_predicts(model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("height,colour\n0.5,red\n,blue\n0.25,?\n")
    result = run("predict", model, new)
    assert len(result.stdout.splitlines()) == 4
    assert "2 missing cells filled" in result.stderr


def test_the_race_tells_it_in_its_report(table: Path, tmp_path: Path) -> None:
    words = "--system", "RBP", "--alone", "--gamma", "2", "--permutations", "1"
    run("race", table, *words, "-o", tmp_path / "race")
    described = json.loads((tmp_path / "race" / "race.json").read_text())
    data = described["races"][0]["data"]["description"]
    assert data["missing"] == {"height": 6, "colour": 3}
    pages = [*tmp_path.glob("race/*.html"), *tmp_path.glob("race/*.md")]
    assert len(pages) == 2
    for page in pages:
        assert "height 6, colour 3" in page.read_text(encoding="utf-8"), page


def test_the_standard_input_is_a_file(
    table: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spool))
    raw = table.read_bytes()
    path = tmp_path / "model.onkel"
    found = json.loads(run("fit", "-", *SMALL, "-o", path, "--json", piped=raw).stdout)
    assert found["rows"] == 300 and found["data"] == "stdin.csv"
    expected = run("predict", model, table).stdout
    for piped in (raw, gzip.compress(raw)):
        assert run("predict", model, "-", piped=piped).stdout == expected
    evaluated = json.loads(run("evaluate", table, "-m", model, "--json").stdout)
    again = run("evaluate", "-", "-m", model, "--json", piped=raw)
    assert json.loads(again.stdout)["mistakes"] == evaluated["mistakes"]
    bad = run("fit", "-", *SMALL, "-o", path, piped=raw + b"1,2,3\n", code=2)
    assert "stdin:302: 3 fields where there are 6 columns" in bad.stderr
    assert run("predict", model, "-", piped=b"", code=2).stderr.startswith("Error: ")
    # nothing stays
    assert list(spool.iterdir()) == []
