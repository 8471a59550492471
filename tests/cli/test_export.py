"""onkel export, as it is typed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner, Result

import onkel
from onkel.cli import models
from onkel.cli.commands import onkel as command
from onkel.data import dataset
from studies.export import rows


def run(*words: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV with numbers of unlike sizes, some missing, and a column of text."""
    path = tmp_path_factory.mktemp("data") / "table.csv"
    X, f = rows(300, 0)
    lines = ["small,year,colour,label"]
    for i, (a, b, *_) in enumerate(X):
        small = "" if i % 10 == 0 else f"{a:.6g}"
        colour, label = ("red" if b > 0 else "blue"), ("up" if f[i] > 0 else "down")
        lines.append(f"{small},{2000 + 10 * b:.6g},{colour},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onkel"
    run("fit", table, "--system", "rbp", "--budget", 12, "--gamma", 0.5, "-o", path)
    return path


def test_a_model_of_fit_scales_and_fills_by_itself(
    model: Path, table: Path, tmp_path: Path
) -> None:
    onnx, c = tmp_path / "model.onnx", tmp_path / "model.c"
    said = json.loads(run("export", model, "--onnx", onnx, "--c", c, "--json").stdout)
    features = ["small", "year", "small is missing", "colour=blue", "colour=red"]
    assert said["features"] == features
    assert "not yet scaled" in said["input"]
    assert said["output"] == ["label", "scores"]
    assert said["bytes"] == {str(path): path.stat().st_size for path in (onnx, c)}
    assert " *     x[1] year\n" in c.read_text()
    X = []
    for line in table.read_text().splitlines()[1:]:
        small, year, colour, _ = line.split(",")
        marks = [not small, colour == "blue", colour == "red"]
        X.append([float(small or "nan"), float(year), *marks])
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    (label,) = session.run(["label"], {"X": np.array(X, np.float32)})
    estimator, preparation, _ = models.opened(model)
    known, _ = dataset(table, preparation=preparation).load()
    assert label.tolist() == estimator.predict(known).tolist()


def test_a_model_of_save_takes_what_it_was_fitted_to(tmp_path: Path) -> None:
    X, f = rows(100, 0)
    path, onnx = tmp_path / "model.onkel", tmp_path / "model.onnx"
    onkel.save(onkel.RBPRegressor(budget=12).fit(X, f), path)
    said = run("export", path, "--onnx", onnx).stdout
    assert "as the model was fitted to them" in said.replace("\n", " ")
    assert onnx.exists()


def test_what_cannot_be_done_is_said(model: Path, tmp_path: Path) -> None:
    assert "--onnx FILE, --c FILE, or both" in run("export", model, code=2).output
    nowhere = tmp_path / "no" / "model.c"
    assert "there is no folder" in run("export", model, "--c", nowhere, code=2).output
    onnx, c = tmp_path / "model.onnx", tmp_path / "model.c"
    words = ["export", model, "--onnx", onnx, "--c", c, "--name", "3d"]
    assert "'3d' is no name in C" in run(*words, code=2).output
    assert not onnx.exists()  # all or nothing
    empty = tmp_path / "empty.onkel"
    onkel.save(onkel.RBPClassifier(), empty)
    assert "not fitted" in run("export", empty, "--c", c, code=2).output


def test_odds_of_svm_train_are_said_to_be_left_out(tmp_path: Path) -> None:
    X, f = rows(60, 0)
    data, path = tmp_path / "train", tmp_path / "svm.onkel"
    data.write_text(
        "".join(
            f"{1 if y > 0 else -1} 1:{a:.5g} 2:{b:.5g}\n"
            for (a, b, *_), y in zip(X, f, strict=True)
        )
    )
    run("svm-train", "-q", "-b", 1, "-B", 10, data, path)
    assert "-b 1" in run("export", path, "--c", tmp_path / "svm.c").stderr
