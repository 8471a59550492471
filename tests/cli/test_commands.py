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
from onkel.compiled import compile_cache
from onkel.compiled.symbols import FUNCTIONS
from onkel.storage import model_file

SMALL = ["--system", "rbp", "--budget", "30", "--gamma", "2"]


def run(*words: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def answer(*words: Any) -> Any:
    return json.loads(run(*words, "--json").stdout)


def test_the_cache_is_listed_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert answer("cache", "list")["folders"] == []
    function = FUNCTIONS["onkel.engine.passes.learn"].function
    folder = compile_cache.CompileCache(function)._folders()[0]
    folder.mkdir()
    (folder / "passes.learn-1.0123.4567.nbc").write_bytes(b"code")
    (found,) = answer("cache", "list")["folders"]
    assert (found["entries"], found["of older versions"]) == (1, 1)
    assert "1 entries removed" in run("cache", "clear").output
    assert answer("cache", "list")["folders"] == []


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


# ---- no knobs, and what is right without looking -------------------------------------


def test_the_default_has_no_knobs_and_stands_beside_the_majority(
    moons: Path, tmp_path: Path
) -> None:
    found = answer("fit", moons, "-p", "budget=20", "-o", tmp_path / "model.onkel")
    assert found["system"] == "KernelClassifier"
    assert found["learnt"] == "all rows at once"
    assert found["accuracy"] > 0.9 > found["baseline"]["accuracy"] == 0.5
    tested = answer("evaluate", moons, "-p", "budget=20")
    assert tested["system"] == "KernelClassifier"
    assert {"accuracy", "f1", "auc", "log_loss"} <= tested.keys()
    assert tested["auc"] > 0.95 and tested["log_loss"] < 0.3
    assert tested["baseline"]["log_loss"] == pytest.approx(np.log(2), abs=0.01)
    shown = run("evaluate", moons, *SMALL).stdout
    assert "always upper" in shown or "always lower" in shown


def test_a_fit_says_if_it_was_a_stream(moons: Path, tmp_path: Path) -> None:
    words = ["fit", moons, *SMALL, "-o", tmp_path / "model.onkel"]
    found = answer(*words, "--memory", 0, "--batch-rows", 100)
    assert "--memory is 0" in found["learnt"]
    assert "shuffled within batches of 100" in found["learnt"]
    assert 0.8 < found["accuracy"] < 1
    assert found["measured_on"] == "each row before it was learnt"
    whole = answer(*words, "--memory", 0, "--batch-rows", 100, "--shuffle")
    assert "shuffled as a whole" in whole["learnt"]


@pytest.fixture(scope="module")
def in_a_row(moons: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows, sorted by label."""
    head, *rows = moons.read_text().splitlines()
    path = tmp_path_factory.mktemp("sorted") / "sorted.csv"
    rows.sort(key=lambda row: row.rpartition(",")[2])
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_sorted_rows_are_no_success(in_a_row: Path, moons: Path) -> None:
    words = ["evaluate", in_a_row, *SMALL, "--progressive"]
    told = run(*words).stderr
    assert "sorted by label" in told and "--shuffle" in told
    sorted_rows, shuffled = answer(*words), answer(*words, "--shuffle")
    assert sorted_rows["accuracy"] > 0.99 and len(sorted_rows["warnings"]) == 1
    assert shuffled["accuracy"] < 0.98 and shuffled["warnings"] == []
    assert answer("evaluate", moons, *SMALL, "--progressive")["warnings"] == []
    small = answer(*words, "--shuffle", "--memory", 0, "--batch-rows", 50)
    assert small["rows"] == 600 and small["accuracy"] < 0.98
    run("evaluate", in_a_row, *SMALL, "--shuffle", code=2)


def test_a_race_of_a_stream_keeps_its_order(in_a_row: Path, tmp_path: Path) -> None:
    words = ["race", in_a_row, "--system", "rbp", "--alone", "--gamma", 2]
    words += ["-o", tmp_path / "race", "--in-order"]
    done = run(*words, "--json")
    (found,) = json.loads(done.stdout)
    assert found["data"]["in_order"] and found["settings"]["permutations"] == 1
    assert found["results"][0]["error"] < 0.02 and found["baseline"]["error"] == 0.5
    assert "sorted by label" in found["warnings"][0]
    assert "sorted by label" in (tmp_path / "race" / "race.html").read_text()
    assert any(line.startswith("RBP ") for line in done.stderr.splitlines())
    said = run(*words, "--permutations", 2, code=2).stderr
    assert "--permutations cannot be given with --in-order" in said


def test_predictions_of_rows_with_a_target_are_judged(
    model: Path, moons: Path, tmp_path: Path
) -> None:
    told = run("predict", model, moons).stderr
    assert "accuracy 0.9" in told and "600 rows" in told and "lower: 0.5" in told
    head, *rows = moons.read_text().splitlines()
    rows = [row.rpartition(",")[0] + "," for row in rows[:300]] + rows[300:]
    path = tmp_path / "half.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    assert "on the 300 rows" in run("predict", model, path).stderr
    path.write_text("\n".join([head, *rows[300:], "1,1,red,middle"]) + "\n")
    done = run("predict", model, path)
    assert "middle" in done.stderr and len(done.stdout.splitlines()) == 302


def test_predictions_have_the_identifier(moons: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "named.csv", tmp_path / "model.onkel"
    head, *rows = moons.read_text().splitlines()
    named = [f"moon {i},{row},{i % 7}" for i, row in enumerate(rows)]
    path.write_text("\n".join([f"name,{head},week", *named]) + "\n")
    dropped = ["--drop", "name", "--drop", "week"]
    run("fit", path, *SMALL, "--target", "moon", *dropped, "-o", model)
    lines = run("predict", model, path, "--batch-rows", 100).stdout.splitlines()
    assert lines[0] == "name,prediction" and len(lines) == 601
    assert lines[-1].startswith("moon 599,")
    lines = run("predict", model, path, "--id", "week", "--id", "left").stdout.split()
    assert lines[0] == "week,left,prediction"
    assert lines[9].split(",")[0] == "1"
    bare = run("predict", model, path, "--drop", "name").stdout.splitlines()
    assert bare[0] == "prediction"
    assert "'size'" in run("predict", model, path, "--id", "size", code=2).stderr


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


def test_svm_has_probabilities_and_weights(svm_file: Path, tmp_path: Path) -> None:
    model, output = tmp_path / "model", tmp_path / "output"
    words = ["svm-train", "-g", 2, "-B", 40, "-q"]
    run(*words, "-b", 1, svm_file, model)
    run("svm-predict", "-b", 1, svm_file, model, output)
    head, *lines = output.read_text().splitlines()
    assert head == "labels -1 1" and len(lines) == 200
    for line in lines:
        label, *shares = map(float, line.split())
        assert sum(shares) == pytest.approx(1, abs=1e-4)
        assert label == (-1, 1)[int(np.argmax(shares))]
    truth = [float(line.split()[0]) for line in svm_file.read_text().splitlines()]
    right = [float(line.split()[0]) for line in lines]
    assert np.mean(np.array(truth) == right) > 0.9
    # without -b the file is as before
    run("svm-predict", svm_file, model, output)
    assert set(output.read_text().split()) == {"-1", "1"}
    ones = []
    for weight in (0.01, 100):
        told = run(
            *words, f"-w1 {weight}".split()[0], weight, "-w9", 2, svm_file, model
        )
        assert "class label 9" in told.stderr
        assert onkel.load(model).class_weight == {1: weight}
        run("svm-predict", "-q", svm_file, model, output)
        ones.append(output.read_text().split().count("1"))
    assert ones[0] < 100 < ones[1]
    refused = run("svm-predict", "-b", 1, svm_file, model, output, code=2)
    assert "svm-train -b 1" in refused.stderr
    run("svm-train", "-s", 3, "-b", 1, svm_file, model, code=2)


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
    always, ready = found["beside"].values()
    assert ready["error"] < 0.05 and 0.4 < always["error"] < 0.6
    assert "itself" in run("tune", moons, "--system", "kernel", code=2).stderr


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
