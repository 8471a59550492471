"""ONNX files in onnxruntime: every estimator, label and kernel."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

import onkel
from onkel.export import to_onnx
from onkel.export.formula import Formula
from onkel.export.models import formula_of
from onkel.export.onnx_file import as_onnx
from studies.export import rows
from studies.export_runs import apart, by_onnx, by_the_model
from tests.export.models import ASKED, EVERY, KERNELS, agrees, fitted, streamed


@pytest.mark.parametrize("name, task", EVERY)
def test_every_estimator_answers_as_in_python(name: str, task: str) -> None:
    agrees(fitted(name, task), by_onnx)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["OGDClassifier", "NystromFeatures"])
def test_every_kernel_answers_as_in_python(name: str, kernel: str) -> None:
    agrees(fitted(name, "3 classes", kernel=kernel), by_onnx)


@pytest.mark.parametrize("kernel", ["laplacian", "linear"])
def test_explicit_features_of_other_kernels(kernel: str) -> None:
    agrees(fitted("DualSGDClassifier", "2 classes", kernel=kernel), by_onnx)


@pytest.mark.parametrize("count", [100, 700], ids=["young", "fitted anew"])
@pytest.mark.parametrize(
    "name, task",
    [
        ("KernelClassifier", "2 classes"),
        ("KernelClassifier", "3 classes"),
        ("KernelRegressor", "values"),
    ],
)
def test_a_machine_in_a_stream(name: str, task: str, count: int) -> None:
    agrees(streamed(name, task, count), by_onnx)


def test_probabilities_of_the_log_loss() -> None:
    for task in ("2 classes", "3 classes"):
        agrees(fitted("BSGDClassifier", task, loss="log_loss"), by_onnx)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([-1, 1], np.int8),
        np.array([0.0, 2.0]),
        np.array([3, 200], np.uint8),
        np.array(["néin", "ja"]),
        np.array(["a", "b"], object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_kind(labels: np.ndarray) -> None:
    X, f = rows(100, 0)
    model = onkel.RBPClassifier(budget=12).fit(X, labels[(f > 0).astype(int)])
    found = by_onnx(formula_of(model), ASKED)["label"]
    assert found.tolist() == model.predict(ASKED.astype(float)).tolist()


def test_labels_that_onnx_cannot_say_are_named() -> None:
    formula = formula_of(fitted("RBPClassifier", "2 classes"))
    labels = np.array([1, 2**64 - 1], np.uint64)
    with pytest.raises(ValueError, match="labels of the type uint64"):
        as_onnx(formula._replace(classes=labels))


def test_rows_far_from_the_origin_keep_their_digits() -> None:
    """A year, whose months tell; scaled by the machine, and by nobody."""
    rng = np.random.default_rng(0)
    far = np.array([2020.0, 500.0])
    X = far + rng.uniform(-1.0, 1.0, size=(1300, 2))
    X = X.astype(np.float32).astype(float)  # what single precision can say of them
    f = np.sin(3.0 * (X[:, 0] - far[0])) + X[:, 1] - far[1]
    machine = onkel.KernelRegressor(budget=50, random_state=0).fit(X[:300], f[:300])
    plain = onkel.KRLSRegressor(budget=50, gamma=1.0).fit(X[:300], f[:300])
    for model in (machine, plain):
        agrees(model, by_onnx, X[300:].astype(np.float32))


def test_centres_that_are_far_apart_keep_their_digits() -> None:
    """Kernels that are local: distances are small beside what they are made of."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1000.0, 1000.0, size=(1300, 1)).astype(np.float32).astype(float)
    model = onkel.OGDRegressor(gamma=1.0, eta0=1.0).fit(X[:300], np.sin(X[:300, 0]))
    agrees(model, by_onnx, X[300:].astype(np.float32))
    single = by_onnx(formula_of(model), X.astype(np.float32), "single")
    assert apart(single, by_the_model(model, X.astype(np.float32))) > 1e-3


def test_coefficients_that_cancel_are_summed_up_in_double() -> None:
    model = fitted("NystromFeatures", "values", budget=300, rank=300, gamma=0.1)
    wanted = by_the_model(model, ASKED)
    formula = formula_of(model)
    assert apart(by_onnx(formula, ASKED, "auto"), wanted) < 1e-5
    assert apart(by_onnx(formula, ASKED, "single"), wanted) > 1e-4
    with pytest.raises(ValueError, match="precision must be one of"):
        as_onnx(formula, "half")


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    X, f = rows(200, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = onkel.RBPClassifier(budget=12).fit(frame, np.where(f > 0, "up", "down"))
    path = tmp_path / "model.onnx"
    path.write_text("what was there before")
    to_onnx(model, path)
    saved = onnx.load(path)
    said = {entry.key: entry.value for entry in saved.metadata_props}
    assert said["onkel"] == saved.producer_version == onkel.__version__
    assert said["estimator"] == "RBPClassifier"
    assert json.loads(said["classes"]) == ["down", "up"]
    assert json.loads(said["features"]) == ["a", "b", "c", "d"]
    assert {imported.domain for imported in saved.opset_import} == {""}
    assert list(tmp_path.iterdir()) == [path]


def test_without_onnx_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted("RBPClassifier", "2 classes")
    loaded = [name for name in sys.modules if name.startswith("onkel.export.onnx_")]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "onkel\[export\]"'):
        to_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def overflowing() -> Formula:
    formula = formula_of(fitted("RBPRegressor", "values"))
    (step,) = formula.steps
    return formula._replace(steps=(step._replace(coef=step.coef * 1e300),))  # type: ignore


def test_what_single_precision_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="coefficients of this model are too large"):
        as_onnx(overflowing())


def test_what_cannot_be_exported_is_refused() -> None:
    with pytest.raises(ValueError, match="RBPClassifier instance is not fitted"):
        formula_of(onkel.RBPClassifier())
    with pytest.raises(TypeError, match="Formula is no estimator of onkel"):
        formula_of(formula_of(fitted("RBPClassifier", "2 classes")))
    young = onkel.RBPClassifier().partial_fit([[1.0], [2.0]], ["only", "only"])
    with pytest.raises(ValueError, match="seen a single label, 'only'"):
        formula_of(young)


def test_a_kernel_that_nobody_knows_is_named() -> None:
    model: Any = fitted("LLSVMRegressor", "values")._still()
    unknown = model._answer().kernel._replace(kind=17)
    model._expansion = model._answer()._replace(kernel=unknown)
    with pytest.raises(ValueError, match="the kernel of the kind 17"):
        formula_of(model)


def test_a_model_that_has_learnt_nothing_answers_nothing() -> None:
    model = onkel.RBPRegressor().partial_fit([[1.0]], [0.0])
    assert model.model_size_ == 0
    found = by_onnx(formula_of(model), np.ones((3, 1), np.float32))
    assert found["prediction"].tolist() == [0.0, 0.0, 0.0]
