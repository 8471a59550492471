"""The commands, as they are typed; systems are few, since each has to be compiled."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.datasets import make_moons

import onkel
from onkel.cli.commands import COMMANDS, Commands
from onkel.cli.commands import onkel as command
from onkel.storage import model_file

SMALL = ["--system", "rbp", "--budget", "30", "--gamma", "2"]


def run(*words: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def answer(*words: Any) -> Any:
    return json.loads(run(*words, "--json").stdout)


@pytest.fixture(scope="module")
def moons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV with a column of text, and labels that are text."""
    path = tmp_path_factory.mktemp("data") / "my moons.csv"
    X, y = make_moons(600, noise=0.15, random_state=0)
    lines = ["left,right,colour,moon"]
    for (a, b), label in zip(X, y, strict=True):
        colour = "red" if a > 0.5 else "blue"
        lines.append(f"{a},{b},{colour},{'upper' if label else 'lower'}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(moons: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "moons.onkel"
    run("fit", moons, *SMALL, "-o", path)
    return path


# ---- fit, predict, evaluate ----------------------------------------------------------


def test_fit_says_what_it_did(moons: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    found = answer("fit", moons, *SMALL, "-p", "degree=2", "-o", path)
    assert found["rows"] == 600
    assert found["features"] == 4  # two numbers, two colours
    assert found["classes"] == {"lower": 300, "upper": 300}
    assert found["system"] == "RBPClassifier"
    assert 0 < found["model_size"] <= 30
    assert onkel.load(path).degree == 2


def test_predictions_are_those_of_the_model(
    model: Path, moons: Path, tmp_path: Path
) -> None:
    output = tmp_path / "predictions.csv"
    run("predict", model, moons, "--scores", "-o", output)
    lines = output.read_text().splitlines()
    assert lines[0] == "prediction,score"
    predicted = [line.split(",")[0] for line in lines[1:]]
    truth = [line.split(",")[-1] for line in moons.read_text().splitlines()[1:]]
    right = np.mean(np.array(predicted) == np.array(truth))
    tested = answer("evaluate", moons, "--model", model)
    assert tested["accuracy"] == pytest.approx(right)
    assert tested["rows"] == 600
    assert right > 0.85


def test_the_target_may_be_missing_from_rows_to_predict(
    model: Path, moons: Path, tmp_path: Path
) -> None:
    path = tmp_path / "unlabelled.csv"
    lines = moons.read_text().splitlines()
    path.write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert run("predict", model, path).stdout == run("predict", model, moons).stdout


def test_a_stream_in_batches_is_the_stream(moons: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.onkel", tmp_path / "parts.onkel"
    common = ["evaluate", moons, *SMALL, "--progressive"]
    first = answer(*common, "-o", whole)
    second = answer(*common, "--batch-rows", 37, "-o", parts)
    assert first["mistakes"] == second["mistakes"]
    np.testing.assert_array_equal(
        onkel.load(whole).dual_coef_, onkel.load(parts).dual_coef_
    )
    assert first["mistakes"] == onkel.load(whole).n_mistakes_


def test_a_model_goes_on_learning(model: Path, moons: Path, tmp_path: Path) -> None:
    path = tmp_path / "later.onkel"
    run("evaluate", moons, "--model", model, "--progressive", "-o", path)
    assert onkel.load(path).t_ == onkel.load(model).t_ + 600


def test_a_new_model_is_tested_on_rows_held_out(moons: Path) -> None:
    found = answer("evaluate", moons, *SMALL, "--held-out", "0.25")
    assert found["rows"] == 150
    assert found["accuracy"] > 0.8


def test_regression_has_errors_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "sine.csv"
    x = np.linspace(0, 6, 300)
    rows = [f"{a},{np.sin(a)}" for a in np.random.default_rng(0).permutation(x)]
    path.write_text("x,y\n" + "\n".join(rows) + "\n")
    found = answer("evaluate", path, *SMALL)
    assert found["system"] == "RBPRegressor"
    assert {"rmse", "mean_absolute_error", "r2"} <= found.keys()


def test_probabilities_need_the_loss_that_has_them(model: Path, moons: Path) -> None:
    assert "log_loss" in run("predict", model, moons, "--proba", code=2).stderr


def test_results_are_tables_for_people(moons: Path, tmp_path: Path) -> None:
    shown = run("fit", moons, *SMALL, "-o", tmp_path / "model.onkel").stdout
    assert "lower 300, upper 300" in shown
    assert "RBPClassifier" in shown


def test_text_columns_alone_will_do(tmp_path: Path) -> None:
    path, model = tmp_path / "text.csv", tmp_path / "model.onkel"
    path.write_text("s,t,y\n" + "u,k,pos\nv,l,neg\nw,k,pos\n" * 20)
    run("fit", path, *SMALL, "-o", model)
    assert run("predict", model, path).stdout.startswith("prediction\npos\nneg\npos")


def test_an_unused_column_can_be_dropped(
    model: Path, moons: Path, tmp_path: Path
) -> None:
    path = tmp_path / "more.csv"
    lines = moons.read_text().splitlines()
    path.write_text("\n".join(f"{line},{i}" for i, line in enumerate(lines)) + "\n")
    run("predict", model, path, code=2)
    assert run("predict", model, path, "--drop", "0").exit_code == 0


def test_options_that_a_model_knows_are_refused_beside_it(
    model: Path, moons: Path
) -> None:
    said = run("evaluate", moons, "-m", model, "--budget", 3, code=2).stderr
    assert "--budget cannot be given with --model" in said


def test_a_system_for_all_rows_cannot_be_progressive(moons: Path) -> None:
    run("evaluate", moons, "--system", "bsca", "--progressive", code=2)


# ---- LIBSVM's commands ---------------------------------------------------------------


@pytest.fixture(scope="module")
def svm_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("svm") / "train"
    X, y = make_moons(200, noise=0.1, random_state=0)
    rows = zip(X, y, strict=True)
    path.write_text("".join(f"{2 * t - 1} 1:{a:g} 2:{b:g}\n" for (a, b), t in rows))
    return path


def test_svm_train_and_predict(svm_file: Path, tmp_path: Path) -> None:
    model, output = tmp_path / "model", tmp_path / "output"
    trained = run("svm-train", "-g", 2, "-c", 10, "-B", 40, svm_file, model)
    assert trained.stdout.startswith("nSV = ")
    said = run("svm-predict", svm_file, model, output).stdout
    predicted = output.read_text().split()
    truth = [line.split()[0] for line in svm_file.read_text().splitlines()]
    right = sum(a == b for a, b in zip(predicted, truth, strict=True))
    assert said == f"Accuracy = {right / 2:g}% ({right}/200) (classification)\n"
    assert right > 180


def test_svm_train_validates_crosswise(svm_file: Path) -> None:
    said = run("svm-train", "-g", 2, "-B", 40, "-v", 3, svm_file).stdout
    assert said.startswith("Cross Validation Accuracy = ")
    assert not svm_file.with_name("train.model").exists()


# ---- tune ----------------------------------------------------------------------------


def test_tune_prints_a_command_that_works(moons: Path, tmp_path: Path) -> None:
    words = ["tune", moons, "--system", "rbp", "--budget", 30, "--trials", 4]
    found = answer(*words)
    assert found["error"] < 0.2
    assert len(found["trials"]) == 4
    assert found["command"] in run(*words).stdout.replace("\n", " ").replace("  ", " ")
    again = shlex.split(found["command"])[1:]
    run(*again, "-o", tmp_path / "model.onkel")
    assert onkel.load(tmp_path / "model.onkel").budget == 30


def test_tune_takes_the_grid_of_a_paper(moons: Path) -> None:
    words = ["tune", moons, "--system", "rbp", "--rows", 200, "--preset", "nbsgd"]
    found = answer(*words, "--budgets", "10,40")
    assert len(found["trials"]) == 5
    assert found["best"]["budget"] in (10, 40)


# ---- the rest ------------------------------------------------------------------------


def test_every_command_has_help() -> None:
    for name in COMMANDS:
        said = run(name, "--help").stdout
        assert "Usage: " in said
        assert "\\" not in said and "\b" not in said
    assert all(name in run("--help").stdout for name in COMMANDS)


@pytest.mark.parametrize("module", ["onkel", "onkel.cli"])
def test_a_command_is_a_program_too(module: str) -> None:
    words = [sys.executable, "-m", module, "data", "info", "nothing"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "nothing" in done.stderr


def test_debug_shows_where_an_error_comes_from() -> None:
    result = CliRunner().invoke(command, ["--debug", "fit", "no such file"])
    assert isinstance(result.exception, ValueError | FileNotFoundError)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--system", "svm"], "no system 'svm'"),
        (["-p", "bandwidth=1"], "no parameter 'bandwidth'"),
        (["-p", "budget"], "NAME=VALUE"),
        (["-p", "budget=0"], "budget"),
        (["--gamma", "wide"], "gamma"),
        (["--target", "height"], "height"),
        (["--positive", "middle"], "middle"),
        (["--above", "3"], "moon"),
        (["--task", "regression"], "moon"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_bad_options_are_refused(
    words: list[str], says: str, moons: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model.onkel"
    result = run("fit", moons, *words, "-o", output, code=2)
    assert says in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_label_is_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("a,b\n1,yes\n2,yes\n3,yes\n")
    for words in (["fit", "-o", tmp_path / "m"], ["evaluate"]):
        assert "yes" in run(words[0], path, *words[1:], code=2).stderr
    assert "too few" in run("tune", path, code=2).stderr


def test_a_model_without_columns_is_refused(moons: Path, tmp_path: Path) -> None:
    onkel.save(onkel.RBPClassifier(), tmp_path / "bare.onkel")
    said = run("predict", tmp_path / "bare.onkel", moons, code=2).stderr
    assert "onkel fit" in said


def test_a_damaged_model_is_refused(model: Path, moons: Path, tmp_path: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    (tmp_path / "damaged.onkel").write_bytes(content)
    output = tmp_path / "predictions.csv"
    said = run("predict", tmp_path / "damaged.onkel", moons, "-o", output, code=2)
    assert "damaged" in said.stderr
    assert not output.exists()


def test_a_forged_preparation_is_refused(
    model: Path, moons: Path, tmp_path: Path
) -> None:
    contents = model_file.read(model)
    path = tmp_path / "forged.onkel"
    for extra in ({"preparation": {}}, {"preparation": 3}, {"preparation": None}, []):
        model_file.write(contents.estimator, path, extra, contents.arrays)
        run("predict", path, moons, code=2)


def test_missing_tools_are_named() -> None:
    class Broken(Commands):
        def get_command(self, context: Any, name: str) -> Any:
            raise ImportError('pip install "onkel[cli]"')

    result = CliRunner().invoke(Broken(params=command.params), ["fit"])
    assert result.exit_code == 1
    assert "pip install" in result.output
