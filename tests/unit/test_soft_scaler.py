"""The soft scaler: of rows, in streams, and beside the scaler of old files.

z = arcsinh((x - mean) / spread),    spread = sqrt(pi / 2) mean |x - mean|
"""

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import onkel
from onkel.estimators import _machine, _machine_stream
from onkel.refit import soft_scaler
from onkel.refit.soft_scaler import SoftScaler

ROWS, FEATURES = 500, 4


def rows(count: int = ROWS) -> np.ndarray:
    """Features of several units, one of them with a long tail."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, FEATURES)) * [1.0, 1e-6, 1e6, 1.0] + [0.0, 1.0, -3.0, 9]
    X[:, 3] = np.exp(3.0 * X[:, 3] - 27.0)
    return X


def wanted(X: np.ndarray, of: np.ndarray) -> np.ndarray:
    """X, scaled as these rows say."""
    mean = of.mean(axis=0)
    spread = math.sqrt(math.pi / 2.0) * np.mean(np.abs(of - mean), axis=0)
    return np.arcsinh((X - mean) / spread)


# ---- rows ----------------------------------------------------------------------------


def test_rows_are_scaled_by_the_formula() -> None:
    X, new = rows(), 2.0 * rows(50)[::-1]
    scaler = SoftScaler().fit(X)
    np.testing.assert_allclose(scaler.transform(new), wanted(new, X), rtol=1e-12)
    np.testing.assert_allclose(SoftScaler().fit_transform(X), wanted(X, X), rtol=1e-12)
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), rtol=1e-12)
    assert (scaler.n_features_in_, scaler.n_samples_seen_) == (FEATURES, ROWS)


def test_what_is_normal_is_scaled_by_its_standard_deviation() -> None:
    X = 5.0 + 3.0 * np.random.default_rng(1).normal(size=(200_000, 1))
    scaler = SoftScaler().fit(X)
    assert scaler.scale_[0] == pytest.approx(3.0, rel=0.01)
    near = np.array([[5.0], [5.3], [4.7]])
    np.testing.assert_allclose(
        scaler.transform(near).ravel(), [0.0, 0.1, -0.1], atol=0.01
    )


def test_the_inverse_leads_back() -> None:
    X = rows()
    X[0] = [1e9, -1e9, 1e18, 1e12]
    scaler = SoftScaler().fit(X)
    back = scaler.inverse_transform(scaler.transform(X))
    np.testing.assert_allclose(back, X, rtol=1e-9, atol=1e-9 * scaler.scale_.max())
    for k in range(FEATURES):  # each in its own unit
        far = np.abs(X[:, k]).max()
        np.testing.assert_allclose(back[:, k], X[:, k], rtol=1e-9, atol=1e-12 * far)
    # Of scaled rows in single precision: each as exactly as that holds them.
    single = scaler.inverse_transform(scaler.transform(X).astype(np.float32))
    assert single.dtype == np.float64
    off = 1e-5 * (np.abs(X - scaler.mean_) + scaler.scale_)
    assert (np.abs(single - X) <= off).all()


@pytest.mark.parametrize("constant", [0.0, 0.1, -7.0, 1e-300, 3e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 20_011])
def test_a_constant_is_nothing(constant: float, dtype: type, count: int) -> None:
    X = np.full((count, 2), constant, dtype)
    X[:, 1] = np.arange(count)
    scaler = SoftScaler().fit(X)
    assert scaler.scale_[0] == 1.0
    # As far as a mean in double precision is that of the rows.
    np.testing.assert_allclose(
        scaler.transform(X)[:, 0], 0.0, atol=1e-7 * abs(constant)
    )


def test_a_constant_that_changes_later_is_seen() -> None:
    scaler = SoftScaler().fit(np.full((10, 1), 5.0))
    found = scaler.transform(np.array([[5.0], [6.0], [4.0]])).ravel()
    np.testing.assert_allclose(found, [0.0, math.asinh(1.0), -math.asinh(1.0)])


def test_one_row_is_all_that_it_knows() -> None:
    X = rows(1)
    scaler = SoftScaler().fit(X)
    np.testing.assert_array_equal(scaler.scale_, np.ones(FEATURES))
    np.testing.assert_array_equal(scaler.transform(X), np.zeros((1, FEATURES)))
    assert scaler.n_samples_seen_ == 1


def test_rows_in_single_precision_are_scaled_in_double() -> None:
    # Mean and spread of single precision would be wrong in the fourth place.
    X = (1e4 + np.random.default_rng(2).normal(size=(100_000, 2))).astype(np.float32)
    scaler = SoftScaler().fit(X)
    found = scaler.transform(X)
    assert found.dtype == np.float64
    assert scaler.mean_.dtype == scaler.scale_.dtype == np.float64
    exact = X.astype(np.float64)
    np.testing.assert_allclose(found, wanted(exact, exact), rtol=1e-9, atol=1e-9)


def test_sums_do_not_depend_on_how_many_rows_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = rows(1000)
    whole = SoftScaler().fit(X)
    for size in (1, 7, 999, 1000, 1001):
        monkeypatch.setattr(soft_scaler, "CHUNK", size)
        parts = SoftScaler().fit(X)
        np.testing.assert_array_equal(parts.mean_, whole.mean_)
        np.testing.assert_allclose(parts.scale_, whole.scale_, rtol=1e-12)


def test_rows_are_neither_changed_nor_copied_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(soft_scaler, "CHUNK", 100)
    X = rows(1000).astype(np.float32)
    before = X.copy()
    X.setflags(write=False)
    scaler = SoftScaler().fit(X)
    scaler.transform(X)
    np.testing.assert_array_equal(X, before)


def test_what_is_far_out_is_drawn_in_and_leaves_the_others_where_they_were() -> None:
    X = np.random.default_rng(3).normal(size=(10_000, 1))
    far = X.copy()
    far[0] = 1e4
    ours, theirs = SoftScaler().fit(far), StandardScaler().fit(far)
    z = ours.transform(far)
    assert z[0, 0] == np.abs(z).max() < 10.0
    assert z[1:].std() > 0.3
    assert theirs.transform(far)[1:].std() < 0.02
    # Their order stays, and the sign.
    np.testing.assert_array_equal(np.argsort(z.ravel()), np.argsort(far.ravel()))
    assert ours.transform(np.array([[1e300]]))[0, 0] < 800.0


def test_a_clone_knows_nothing_and_copies_know_everything() -> None:
    X = rows()
    scaler = SoftScaler().fit(X)
    twin = clone(scaler)
    assert not hasattr(twin, "mean_")
    assert twin.get_params() == {}
    for same in (copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler))):
        np.testing.assert_array_equal(same.transform(X), scaler.transform(X))


def test_fit_forgets_other_rows() -> None:
    scaler = SoftScaler().fit(rows())
    other = rows()[:50, :2] + 1.0
    np.testing.assert_array_equal(
        scaler.fit(other).transform(other), SoftScaler().fit(other).transform(other)
    )
    assert (scaler.n_features_in_, scaler.n_samples_seen_) == (2, 50)


# ---- machines ------------------------------------------------------------------------

KINDS = ("KernelClassifier", "KernelRegressor")
each = pytest.mark.parametrize("kind", KINDS)
scalers = pytest.mark.parametrize("scaler", [SoftScaler, StandardScaler])


def table(kind: str, count: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.exp(rng.normal(size=(count, 3))) * [1.0, 1e-4, 1e5]
    hidden = np.log(X[:, 0]) * np.log(1e4 * X[:, 1]) + 0.1 * rng.normal(size=count)
    return X, hidden if kind == "KernelRegressor" else hidden > 0.0


def make(kind: str) -> Any:
    return getattr(onkel, kind)(budget=20, gamma=0.5, C=3.0, random_state=0)


def answers(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def through_a_file(model: Any, folder: Path) -> Any:
    onkel.save(model, folder / "model.onkel")
    return onkel.load(folder / "model.onkel")


@each
@scalers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_file_of_either_scaler_goes_on_with_the_same_bits(
    kind: str,
    scaler: type,
    dtype: type,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_machine_stream, "PATIENCE", 6)
    X, y = table(kind, 6000)
    X = X.astype(dtype)
    # As models were fitted before there was a softer one.
    with monkeypatch.context() as formerly:
        formerly.setattr(_machine, "SoftScaler", scaler)
        fitted = make(kind).fit(X[:300], y[:300])
        stream = make(kind).partial_fit(X[:200], y[:200])
    for model in (fitted, stream):
        assert type(model.scaler_) is scaler
        same = through_a_file(model, tmp_path)
        assert type(same.scaler_) is scaler
        np.testing.assert_array_equal(same.scaler_.scale_, model.scaler_.scale_)
        np.testing.assert_array_equal(answers(same, X), answers(model, X))
        # Over a re-fit, which makes a scaler anew.
        before = model.scaler_
        for part in (slice(300, 3500), slice(3500, 6000)):
            for twin in (model, same):
                twin.partial_fit(X[part], y[part])
            np.testing.assert_array_equal(answers(same, X), answers(model, X))
            same = through_a_file(same, tmp_path)
        assert model.scaler_ is not before
        assert type(model.scaler_) is SoftScaler
        assert np.isfinite(answers(model, X)).all()


@each
def test_a_model_learns_what_logarithms_say(kind: str) -> None:
    X, y = table(kind, 1500)
    model = make(kind).set_params(budget=60, gamma="auto", C="auto")
    stream = clone(model)
    model.fit(X[:1000], y[:1000])
    assert type(model.scaler_) is SoftScaler
    np.testing.assert_array_equal(
        model.scaler_.transform(X), SoftScaler().fit(X[:1000]).transform(X)
    )
    assert model.score(X[1000:], y[1000:]) > 0.85
    for first in range(0, 1000, 100):
        stream.partial_fit(X[first : first + 100], y[first : first + 100])
    assert stream.score(X[1000:], y[1000:]) > 0.65


@each
def test_a_stream_in_which_the_quick_learner_changes_its_scale_goes_on(
    kind: str,
) -> None:
    X, y = table(kind, 1500)
    # Rows are forgotten, so that its centres are carried over, by way of the inverse.
    model = make(kind).set_params(memory_size=200)
    for first in range(0, 1500, 100):
        model.partial_fit(X[first : first + 100], y[first : first + 100])
    quick = model._quick
    back = model._choice.scaler.inverse_transform(quick.points)
    # Each is a row of the stream still.
    near = np.abs(back[:, None] - X) <= 1e-3 * np.abs(X)
    assert near.all(axis=2).any(axis=1).all()
    assert np.isfinite(answers(model, X)).all()


@each
def test_frames_are_no_matter_to_it(kind: str) -> None:
    X, y = table(kind)
    frame = pd.DataFrame(X, columns=list("abc"))
    plain = answers(make(kind).fit(X[:300], y[:300]), X)
    with sklearn.config_context(transform_output="pandas"):
        model = make(kind).fit(frame[:300], y[:300])
        # Rows that lie otherwise in memory are added up otherwise.
        np.testing.assert_allclose(answers(model, frame), plain, atol=1e-9)
        model.partial_fit(frame[300:700], y[300:700])
    assert np.isfinite(answers(model, frame)).all()


@each
def test_a_model_of_dense_rows_takes_sparse_ones(kind: str) -> None:
    X, y = table(kind)
    model = make(kind).fit(X[:300], y[:300])
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(answers(model, sparse), answers(model, X), atol=1e-9)
