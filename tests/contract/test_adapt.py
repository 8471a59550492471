"""adapt: centres move and features get weights, and users see nothing but the gain.

Centres move where 6,000 rows and twenty for each centre are, so that every data set
here has that many. Two features say everything, the others nothing.
"""

import copy
import functools
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import onkel
from onkel.estimators import _machine_stream
from tests.contract.test_kernel import answers, sensible
from tests.contract.test_model_files import forged, refused, through_a_file

ROWS, TESTED, FEATURES, TOLD = 6100, 2400, 8, 2
KINDS = ("binary", "classes", "regression")
each = pytest.mark.parametrize("kind", KINDS)
forms_of_each = pytest.mark.parametrize(
    ("kind", "form"),
    [(kind, np.asarray) for kind in KINDS]
    + [("binary", scipy.sparse.csr_array), ("regression", scipy.sparse.csr_array)],
)


@functools.cache
def data(kind: str, rows: int = ROWS + TESTED) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    hidden = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=rows)
    if kind == "regression":
        return X, hidden
    return X, np.digitize(hidden, [0.0] if kind == "binary" else [-0.3, 0.3])


def make(kind: str, **parameters: Any) -> Any:
    name = "KernelRegressor" if kind == "regression" else "KernelClassifier"
    given = {"budget": 40, "gamma": 0.1, "C": 3.0, "random_state": 0}
    return getattr(onkel, name)(**{**given, **parameters})


@functools.cache
def fitted(kind: str, form: Any = np.asarray, **parameters: Any) -> Any:
    """A model that nobody may change."""
    X, y = data(kind)
    return make(kind, **parameters).fit(form(X[:ROWS]), y[:ROWS])


def new_rows(kind: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = data(kind)
    return X[ROWS:], y[ROWS:]


# ---- the gain ------------------------------------------------------------------------


@forms_of_each
def test_errors_are_fewer_and_noise_counts_less(kind: str, form: Any) -> None:
    X, y = new_rows(kind)
    adapted, plain = (fitted(kind, form, adapt=adapt) for adapt in (True, False))
    assert 1.0 - adapted.score(form(X), y) < 0.7 * (1.0 - plain.score(form(X), y))
    relevance = adapted.relevance_
    assert relevance.shape == (FEATURES,)
    assert relevance.dtype == np.float64
    assert relevance[:TOLD].min() > 1.5 * relevance[TOLD:].max()
    assert (plain.relevance_ == 1.0).all()
    sensible(adapted, X)


@each
def test_the_score_it_claims_is_about_right(kind: str) -> None:
    model = fitted(kind, adapt=True)
    # Rows held out choose among places, so that they are a little hopeful.
    assert abs(model.held_out_score_ - model.score(*new_rows(kind))) < 0.03


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_a_model_that_adapts_finds_its_parameters(kind: str) -> None:
    X, y = data(kind)
    errors = []
    for adapt in (True, False):
        model = make(kind, gamma="auto", C="auto", adapt=adapt).fit(X[:ROWS], y[:ROWS])
        errors.append(1.0 - model.score(*new_rows(kind)))
    assert errors[0] < 0.8 * errors[1]


def test_a_model_adapts_to_the_log_loss_too() -> None:
    X, y = data("classes")
    plain, adapted = (
        make("classes", loss="log_loss", adapt=adapt).fit(X[:ROWS], y[:ROWS])
        for adapt in (False, True)
    )
    rows, labels = new_rows("classes")
    assert adapted.score(rows, labels) > plain.score(rows, labels) + 0.03


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_features_are_weighed_where_centres_are_too_many_to_be_moved(kind: str) -> None:
    X, y = data(kind)
    plain, adapted = (
        make(kind, budget=300, adapt=adapt).fit(X[:ROWS], y[:ROWS])
        for adapt in (False, True)
    )
    assert adapted.model_size_ == 300
    assert adapted.relevance_[:TOLD].min() > adapted.relevance_[TOLD:].max()
    rows, targets = new_rows(kind)
    assert 1.0 - adapted.score(rows, targets) < 0.9 * (1.0 - plain.score(rows, targets))


def test_a_budget_is_found() -> None:
    X, y = data("regression")
    model = make("regression", budget="auto").fit(X[:ROWS], y[:ROWS])
    assert model.model_size_ >= 125
    assert model.relevance_[:TOLD].min() > model.relevance_[TOLD:].max()
    assert model.score(*new_rows("regression")) > 0.95


def test_the_centres_are_those_of_scaled_features_times_relevance() -> None:
    model = fitted("regression", adapt=True)
    X, _ = new_rows("regression")
    rows = model.scaler_.transform(X) * model.relevance_
    apart = ((rows[:, None] - model.support_vectors_) ** 2).sum(axis=2)
    scores = np.exp(-model.gamma_ * apart) @ model.dual_coef_.ravel()
    wanted = scores * model.target_scale_ + model.target_mean_
    np.testing.assert_allclose(model.predict(X), wanted, rtol=1e-4, atol=1e-4)


# ---- when not ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_with_too_few_rows_nothing_moves(kind: str) -> None:
    X, y = data(kind)
    on, off = (
        make(kind, budget=20, adapt=adapt).fit(X[:5999], y[:5999])
        for adapt in (True, False)
    )
    assert (on.relevance_ == 1.0).all()
    np.testing.assert_array_equal(answers(on, X), answers(off, X))


def test_targets_that_are_noise_are_not_made_worse() -> None:
    X, _ = data("regression")
    y = np.random.default_rng(5).normal(size=len(X))
    on, off = (
        make("regression", adapt=adapt).fit(X[:ROWS], y[:ROWS])
        for adapt in (True, False)
    )
    assert on.held_out_score_ >= off.held_out_score_
    assert on.score(X[ROWS:], y[ROWS:]) > off.score(X[ROWS:], y[ROWS:]) - 0.01


def test_fit_forgets_the_weights_of_other_rows() -> None:
    X, y = data("binary")
    model = copy.deepcopy(fitted("binary", adapt=True))
    model.fit(X[:500], y[:500])
    assert (model.relevance_ == 1.0).all()
    again = make("binary").fit(X[:500], y[:500])
    np.testing.assert_array_equal(answers(model, X), answers(again, X))


@pytest.mark.parametrize("value", ["yes", None, 2.5])
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_another_adapt_is_refused_by_name(kind: str, entry: str, value: Any) -> None:
    X, y = data(kind)
    with pytest.raises(ValueError, match="'adapt' parameter"):
        getattr(make(kind, adapt=value), entry)(X[:50], y[:50])


def test_a_stream_does_not_go_on_with_another_adapt() -> None:
    X, y = data("binary")
    model = make("binary").partial_fit(X[:50], y[:50])
    with pytest.raises(ValueError, match=r"adapt was True .* is False now"):
        model.set_params(adapt=False).partial_fit(X[:50], y[:50])


# ---- chance, copies and files --------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_the_same_seed_gives_the_same_bits(kind: str) -> None:
    X, y = data(kind)
    model, again = fitted(kind, adapt=True), make(kind).fit(X[:ROWS], y[:ROWS])
    np.testing.assert_array_equal(again.relevance_, model.relevance_)
    np.testing.assert_array_equal(answers(again, X), answers(model, X))


def test_threads_change_next_to_nothing() -> None:
    X, y = data("regression")
    one = fitted("regression", adapt=True)
    two = make("regression", n_jobs=2).fit(X[:ROWS], y[:ROWS])
    # Steps that end where rows held out gain no more may end one sooner or later.
    assert abs(one.score(X[ROWS:], y[ROWS:]) - two.score(X[ROWS:], y[ROWS:])) < 0.01


@forms_of_each
def test_copies_answer_with_the_same_bits(kind: str, form: Any, tmp_path: Path) -> None:
    model, (X, _) = fitted(kind, form, adapt=True), new_rows(kind)
    assert (model.relevance_ != 1.0).any()
    copies = (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        through_a_file(model, tmp_path),
    )
    for same in copies:
        np.testing.assert_array_equal(same.relevance_, model.relevance_)
        np.testing.assert_array_equal(answers(same, form(X)), answers(model, form(X)))
        assert same.adapt is True


def test_a_clone_has_the_parameter_and_nothing_learnt() -> None:
    for adapt in (True, False):
        twin = clone(fitted("binary", adapt=adapt))
        assert twin.adapt is adapt
        assert not hasattr(twin, "relevance_")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model file."""
    path = tmp_path_factory.mktemp("model") / "model.onkel"
    onkel.save(fitted("binary", adapt=True), path)
    return path.read_bytes()


def name_of(model: Any) -> str:
    return f"model.{model['fitted']['relevance_']['array']}"


def too_short(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)] = arrays[name_of(model)][:-1].copy()


def too_long(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)] = np.append(arrays[name_of(model)], 1.0)


def of_two_axes(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)] = arrays[name_of(model)].reshape(2, -1)


def nan(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)][3] = np.nan


def infinite(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)][3] = np.inf


def zero(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)][3] = 0.0


def negative(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)][3] = -1.0


def of_integers(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[name_of(model)] = np.ones(FEATURES, np.int64)


def a_number(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["relevance_"] = 1.0


def none(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["relevance_"] = None


def missing(model: Any, arrays: Any, metadata: Any) -> None:
    del model["fitted"]["relevance_"]


@pytest.mark.parametrize(
    "change",
    [
        *(too_short, too_long, of_two_axes, nan, infinite, zero, negative),
        *(of_integers, a_number, none, missing),
    ],
    ids=lambda change: change.__name__,
)
def test_a_file_of_strange_weights_is_refused(
    change: Any, content: bytes, tmp_path: Path
) -> None:
    refused(forged(content, change), tmp_path)


# ---- on the way ----------------------------------------------------------------------


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = data("binary", 8000)
    # With so many centres rows are not plenty, so that all of them say where to go.
    make("binary", budget=250, verbose=1).fit(X, y)
    told = capsys.readouterr().out
    assert "centres moved 0 times, validation loss" in told
    assert "centres moved 1 times, validation loss" in told
    assert "visited" not in told
    make("binary", verbose=1).fit(X, y)
    told = capsys.readouterr().out
    visits = re.findall(
        r"([0-9,]+) of ([0-9,]+) rows visited, validation loss 0\.\d+(.*)", told
    )
    done, of, rest = ([each[k] for each in visits] for k in range(3))
    assert done[0] == "0"
    assert done[-1] == of[0] == of[-1]
    assert len(done) == len(set(done)) > 2
    assert all(("s left" in left) == (k > 0) for k, left in enumerate(rest))
    assert "moved" not in told
    make("binary", verbose=1, adapt=False).fit(X, y)
    told = capsys.readouterr().out
    assert "held out" in told
    assert "moved" not in told
    assert "visited" not in told
    assert re.search(r"of that search .* s, solving .* s, merging .* s", told)


# ---- streams -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("binary", np.asarray),
        ("regression", scipy.sparse.csr_array),
    ],
)
def test_a_stream_adapts_and_goes_on_after_a_file(
    kind: str, form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One re-fit, to as many rows as it takes to adapt, which is soon there.
    orders = {
        "FIRST_ORDER": 7000,
        "FIRST_TRIAL": 10**6,
        "PATIENCE": 1,
        "FEWEST_MOVED": 1,
    }
    for name, value in orders.items():
        monkeypatch.setattr(_machine_stream, name, value)
    X, y = data(kind)
    X = form(X)
    model = make(kind, budget=60, memory_size=10_000)
    for start in range(0, 7000, 1750):
        model.partial_fit(X[start : start + 1750], y[start : start + 1750])
    for start, stop in ((7000, 8000), (8000, 8400)):
        same = through_a_file(model, tmp_path)
        for twin in (model, same):
            twin.partial_fit(X[start:stop], y[start:stop])
        assert (model.relevance_ != 1.0).any()
        sensible(model, X[8400:])
        np.testing.assert_array_equal(same.relevance_, model.relevance_)
        np.testing.assert_array_equal(answers(same, X), answers(model, X))
        model = same
    before = answers(model, X[8400:])
    scores = onkel.progressive(model, X[8400:], y[8400:])
    np.testing.assert_allclose(scores[:1], before[:1], rtol=1e-5, atol=1e-5)


def test_a_model_goes_on_after_fit() -> None:
    X, y = data("binary")
    model = copy.deepcopy(fitted("binary", adapt=True))
    before = model.score(*new_rows("binary"))
    model.partial_fit(X[:700], y[:700])
    assert model.score(*new_rows("binary")) > before - 0.05
    sensible(model, X[:200])
    # Until it is fitted anew, features count what they did.
    wanted = fitted("binary", adapt=True).relevance_
    np.testing.assert_array_equal(model.relevance_, wanted)


# ---- odd data ------------------------------------------------------------------------


def score_of(kind: str, rows: Any, **parameters: Any) -> float:
    _, y = data(kind)
    model = make(kind, gamma="auto", **parameters).fit(rows[:ROWS], y[:ROWS])
    assert np.isfinite(answers(model, rows)).all()
    return model.score(rows[ROWS:], y[ROWS:])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["binary", "regression"])
@pytest.mark.parametrize("unit", [1e-15, 3e17])
def test_rows_of_any_unit_are_learnt_without_a_scale(kind: str, unit: float) -> None:
    # Rows like these are accepted: their squares are finite in single precision.
    X = data(kind)[0].astype(np.float32) * np.float32(unit)
    assert score_of(kind, X, scale=False) > (0.65 if kind == "binary" else 0.25)


# Of models that do not adapt it is 0.72 and 0.32; features of variance 1: 0.9 and 0.97.
GAINED = 0.85


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_small_features_do_not_hide_the_gain(kind: str) -> None:
    X = np.float32(1e-3) * data(kind)[0].astype(np.float32)
    assert score_of(kind, X, scale=False) > GAINED


@pytest.mark.parametrize("kind", ["binary", "regression"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_an_outlier_does_not_hide_the_gain(kind: str, form: Any) -> None:
    X = data(kind)[0].copy()
    # Sparse rows are scaled by their maximum, so that all others become small.
    X[5] = 100.0
    assert score_of(kind, form(X)) > GAINED


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_constant_and_repeated_features_stop_nothing(kind: str) -> None:
    X, y = data(kind)
    wide = np.column_stack([X, np.full(len(X), 5.0), X[:, 0], np.zeros(len(X))])
    model = make(kind).fit(wide[:ROWS], y[:ROWS])
    assert np.isfinite(model.relevance_).all()
    sensible(model, wide[ROWS:])
    assert model.relevance_[0] > model.relevance_[TOLD:FEATURES].max()


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_rows_without_weight_do_not_say_where_centres_move(kind: str) -> None:
    X, y = data(kind)
    rng = np.random.default_rng(3)
    known = rng.random(ROWS) < 0.7
    strange = np.where(known, y[:ROWS], rng.permutation(y[:ROWS]))
    weight = np.where(known, rng.uniform(0.5, 1.5, ROWS), 0.0)
    model = make(kind).fit(X[:ROWS], strange, sample_weight=weight)
    assert model.relevance_[:TOLD].min() > model.relevance_[TOLD:].max()
    assert 1.0 - model.score(*new_rows(kind)) < 0.8 * (
        1.0 - fitted(kind, adapt=False).score(*new_rows(kind))
    )
