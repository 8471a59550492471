"""Files of C, compiled strictly, and run."""

import re
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel.export import to_c
from onkel.export.c_file import as_c
from onkel.export.models import formula_of
from studies.export import rows
from studies.export_runs import COMPILER, STRICT, by_c
from tests.export.models import agrees, fitted, streamed
from tests.export.test_onnx import overflowing

with_a_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler, cc, on this machine"
)


@with_a_compiler
@pytest.mark.parametrize(
    "name, task",
    [
        ("BSGDRegressor", "values"),
        ("DualSGDClassifier", "3 classes"),
        ("FOGDClassifier", "2 classes"),
        ("FourierFeatures", "values"),
        ("KernelClassifier", "2 classes"),
        ("KernelClassifier", "3 classes"),
        ("KernelRegressor", "values"),
        ("KRLSClassifier", "3 classes"),
    ],
)
def test_estimators_answer_as_in_python(name: str, task: str, tmp_path: Path) -> None:
    agrees(fitted(name, task), partial(by_c, folder=tmp_path))


@with_a_compiler
@pytest.mark.parametrize("kernel", ["laplacian", "poly", "linear"])
def test_other_kernels_answer_as_in_python(kernel: str, tmp_path: Path) -> None:
    agrees(
        fitted("OGDClassifier", "3 classes", kernel=kernel),
        partial(by_c, folder=tmp_path),
    )


@with_a_compiler
@pytest.mark.parametrize(
    "name, task",
    [("KernelClassifier", "3 classes"), ("KernelRegressor", "values")],
)
def test_a_machine_in_a_stream(name: str, task: str, tmp_path: Path) -> None:
    agrees(streamed(name, task, 700), partial(by_c, folder=tmp_path))


@with_a_compiler
def test_what_the_comment_says_can_be_called(tmp_path: Path) -> None:
    """Two models in a program that declares what their comments tell it to."""
    moons, values = tmp_path / "moons.c", tmp_path / "values.c"
    X, f = rows(200, 0)
    awkward = np.array(['*/ "??/', "%s\\n é"])[(f > 0).astype(int)]
    model = onkel.KRLSClassifier(budget=12, gamma=0.5).fit(X, awkward)
    to_c(model, moons, name="moons")
    to_c(fitted("BSGDRegressor", "values"), values, name="values")
    texts = [path.read_text() for path in (moons, values)]
    said = [re.findall(r"^ \*     (.+;)$", text, re.MULTILINE) for text in texts]
    assert [len(lines) for lines in said] == [4, 1]
    lines = [
        "#include <stdio.h>",
        *said[0],
        *said[1],
        "int main(void) {",
        "    const float x[4] = {0.5f, 1.0f, -1.0f, 5.0f};",
        "    float odds[2]; moons_probabilities(x, odds);",
        '    printf("%s\\n", moons_classes[moons_predict(x)]);',
        '    printf("%g %g\\n", odds[0], odds[1]);',
        '    printf("%g\\n", values_predict(x));',
        "    return 0; }",
    ]
    (tmp_path / "main.c").write_text("\n".join(lines) + "\n")
    command = [str(COMPILER), *STRICT, "-o", "main", "main.c", "moons.c", "values.c"]
    subprocess.run([*command, "-lm"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    label, chances, value = found.stdout.decode().splitlines()
    row = [[0.5, 1.0, -1.0, 5.0]]
    assert label == model.predict(row)[0]
    known = model.predict_proba(row)[0]
    assert [*map(float, chances.split())] == pytest.approx(known, rel=1e-4)
    wanted = fitted("BSGDRegressor", "values").predict(row)
    assert float(value) == pytest.approx(wanted[0], rel=1e-4)


def test_precision_is_as_wanted() -> None:
    formula = formula_of(
        fitted("NystromFeatures", "values", budget=300, rank=300, gamma=0.1)
    )
    assert b"static const double" in as_c(formula, "model.c", "model")
    assert b"in double precision" in as_c(formula, "model.c", "model")
    assert b"double" not in as_c(formula, "model.c", "model", "single")
    assert b"exp(" in as_c(formula, "model.c", "model", "double")


@pytest.mark.parametrize("name", ["", "3d", "a-b", "_model", "é", "a b", "x;y"])
def test_a_name_that_is_none_in_c_is_refused(name: str, tmp_path: Path) -> None:
    model, path = fitted("RBPClassifier", "2 classes"), tmp_path / "model.c"
    path.write_text("what was there before")
    with pytest.raises(ValueError, match=f"{name!r} is no name in C"):
        to_c(model, path, name=name)
    assert path.read_text() == "what was there before"
    to_c(model, path, name="a_b3")
    assert "int a_b3_predict(const float *x)" in path.read_text()


def test_what_single_precision_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="coefficients of this model are too large"):
        as_c(overflowing(), "model.c", "model")
