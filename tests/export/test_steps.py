"""Single steps of formulas, in both languages, where models need them rarely."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import onkel
from onkel.export.formula import Bent, Filled, Formula, Steps
from onkel.export.scalings import scaling
from onkel.refit.calibration import BENDS, FEW_BENDS, log_odds
from onkel.refit.soft_scaler import SoftScaler
from studies.export import rows, targets
from studies.export_runs import COMPILER, by_c, by_onnx
from tests.export.models import ASKED, agrees, fitted

Run = Callable[[Formula, np.ndarray], dict[str, np.ndarray]]


@pytest.fixture(params=["onnx", "c"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    if request.param == "onnx":
        return by_onnx
    if COMPILER is None:
        pytest.skip("there is no C compiler, cc, on this machine")
    return partial(by_c, folder=tmp_path)


def answers(run: Run, steps: Steps, X: np.ndarray) -> np.ndarray:
    return run(Formula("Nothing", X.shape[1], steps, "features"), X)["features"]


@pytest.mark.parametrize(
    "scaler",
    [
        SoftScaler(),
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler((-1, 1)),
        MaxAbsScaler(),
        None,
    ],
    ids=str,
)
def test_scalers(run: Run, scaler: Any) -> None:
    X = ASKED.astype(float)
    wanted = X if scaler is None else scaler.fit(X[:100]).transform(X)
    found = answers(run, scaling(scaler), ASKED)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_scaler_that_nobody_knows_is_named() -> None:
    with pytest.raises(ValueError, match="a object cannot be exported"):
        scaling(object())


@pytest.mark.parametrize("bends", [FEW_BENDS, BENDS], ids=len)
def test_bent_lines(run: Run, bends: tuple[float, ...]) -> None:
    slopes = np.linspace(0.5, 3.0, len(bends) + 1)
    scores = np.linspace(-3.0, 3.0, 101, dtype=np.float32)[:, np.newaxis]
    found = answers(run, (Bent(np.array(bends), slopes),), scores)
    wanted = log_odds(scores.astype(float), slopes)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_what_is_missing_is_filled(run: Run) -> None:
    X = np.array([[np.nan, 1.0], [2.0, np.nan]], np.float32)
    found = answers(run, (Filled(np.array([7.0, 8.0])),), X)
    assert found.tolist() == [[7.0, 1.0], [2.0, 8.0]]


def test_features_that_a_machine_has_weighed(run: Run) -> None:
    model: Any = fitted("KernelClassifier", "2 classes")._still()
    model.relevance_ = np.array([0.5, 1.0, 2.0, 1.5])
    agrees(model, run)


def test_a_machine_of_sparse_rows(run: Run) -> None:
    X, f = rows(300, 0)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = onkel.KernelClassifier(budget=20, random_state=0)
    model.fit(scipy.sparse.csr_array(X), targets(f, "2 classes"))
    assert isinstance(model.scaler_, MaxAbsScaler)
    agrees(model, run)


def test_a_model_in_single_precision(run: Run) -> None:
    X, f = rows(300, 0)
    model = onkel.RBPClassifier(budget=12, random_state=0)
    agrees(model.fit(X.astype(np.float32), targets(f, "3 classes")), run)
