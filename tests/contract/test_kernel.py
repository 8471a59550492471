"""KernelClassifier and KernelRegressor: what users count on.

They scale features, choose their parameters and fit again and again, so that most of
what the systems share is said differently here.
"""

import copy
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import onkel
from onkel.estimators import _machine_stream, kernel
from onkel.refit import values
from tests.contract.systems import CLASSIFIERS, REGRESSORS, data

ROWS = 600
GIVEN = {"gamma": 0.5, "C": 1.0}
both = pytest.mark.parametrize("name", ["KernelClassifier", "KernelRegressor"])
entries = pytest.mark.parametrize("entry", ["fit", "partial_fit", "progressive"])


@pytest.fixture(autouse=True)
def fitted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first re-fit of a stream be ordered at row 256, and soon be there."""
    for module in (_machine_stream, kernel):
        monkeypatch.setattr(module, "FIRST_ORDER", 256)
    monkeypatch.setattr(_machine_stream, "PATIENCE", 1)


def make(name: str, **parameters: Any) -> Any:
    return getattr(onkel, name)(**{"budget": 20, "random_state": 0, **parameters})


def some(name: str, count: int = ROWS, classes: int = 2) -> Any:
    like = REGRESSORS["rbp-r"] if name == "KernelRegressor" else CLASSIFIERS["rbp"]
    return data(like, count, classes=classes)


def answers(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def sensible(model: Any, X: Any) -> None:
    """Whatever it learnt, answers are numbers, and its probabilities are some."""
    assert np.isfinite(answers(model, X)).all()
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (X.shape[0], len(model.classes_))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
        # Of scores next to 0 rounding leaves probabilities that are the same.
        place = np.searchsorted(model.classes_, model.predict(X))
        predicted = probabilities[np.arange(len(place)), place]
        np.testing.assert_array_equal(predicted, probabilities.max(axis=1))


def alike(model: Any, twin: Any, X: Any, y: Any) -> None:
    """Two models go on to the same bits."""
    np.testing.assert_array_equal(answers(model, X), answers(twin, X))
    np.testing.assert_array_equal(
        onkel.progressive(model, X, y), onkel.progressive(twin, X, y)
    )
    np.testing.assert_array_equal(answers(model, X), answers(twin, X))


# ---- what goes in, and what comes out ------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
def test_the_likeliest_class_is_the_predicted_one(
    classes: int, dtype: Any, loss: str
) -> None:
    X, y = some("KernelClassifier", 300, classes)
    model = make("KernelClassifier", loss=loss).fit(X.astype(dtype), y)
    sensible(model, X.astype(dtype))
    assert model.score(X.astype(dtype), y) > 1.2 / classes
    assert model.support_vectors_.dtype == dtype


@both
def test_the_score_it_claims_is_about_right(name: str) -> None:
    X, y = some(name, 3000)
    model = make(name, budget=100).fit(X[:1000], y[:1000])
    assert abs(model.held_out_score_ - model.score(X[1000:], y[1000:])) < 0.06


def test_text_labels_pass_through_a_pipeline() -> None:
    X, y = some("KernelClassifier", 200)
    labels = np.array(["no", "yes"])[y]
    model = make_pipeline(MinMaxScaler(), make("KernelClassifier")).fit(X, labels)
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.score(X, labels) > 0.7
    assert model.classes_.tolist() == ["no", "yes"]


@both
def test_columns_keep_their_names(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = some(name, 100)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = make(name, **GIVEN).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    make(name, **GIVEN).partial_fit(frame, y).predict(frame)


@both
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
def test_sparse_rows_are_dense_rows_without_a_scale(name: str, entry: str) -> None:
    X, y = some(name)
    sparse = scipy.sparse.csr_array(X)
    dense, other = (make(name, scale=False, **GIVEN) for _ in range(2))
    getattr(dense, entry)(X, y)
    getattr(other, entry)(sparse, y)
    expected = answers(dense, X)
    for rows in (X, sparse):
        found = answers(other, rows)
        # Merging breaks ties by rounding, so that some centres may differ.
        assert np.abs(found - expected).mean() < 0.05 * np.abs(expected).mean()
        np.testing.assert_allclose(answers(dense, rows), expected, atol=1e-6)


@both
def test_a_scaled_model_takes_rows_of_both_kinds(name: str) -> None:
    X, y = some(name)
    for kinds in ((np.asarray, scipy.sparse.csr_array), (scipy.sparse.csr_array,) * 2):
        first, second = kinds
        model = make(name, **GIVEN).fit(first(X), y)
        np.testing.assert_allclose(
            answers(model, second(X)), answers(model, first(X)), atol=1e-6
        )
        model.partial_fit(second(X), y)
        sensible(model, X)


@both
def test_what_is_given_is_used(name: str) -> None:
    X, y = some(name, 200)
    model = make(name, gamma=0.7, C=3.0, scale=False).fit(X, y)
    assert (model.gamma_, model.C_, model.scaler_) == (0.7, 3.0, None)
    model = make(name, gamma=0.7).fit(X, y)
    assert model.gamma_ == 0.7
    model = make(name, C=3.0).partial_fit(*some(name))
    assert model.C_ == 3.0


@both
def test_a_budget_is_kept_in_fit_and_in_a_stream(name: str) -> None:
    X, y = some(name)
    assert make(name, **GIVEN).fit(X, y).model_size_ <= 20
    model = make(name, **GIVEN)
    for start in range(0, ROWS, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
        assert model.model_size_ <= 20


@both
def test_a_budget_is_found(name: str) -> None:
    X, y = some(name, 400)
    found = make(name, budget="auto", **GIVEN).fit(X, y)
    assert found.model_size_ > 20
    hasty = make(name, budget="auto", time_limit=1e-6, **GIVEN)
    with pytest.warns(UserWarning, match="time_limit"):
        assert hasty.fit(X, y).model_size_ <= 125


@both
def test_a_time_limit_is_for_every_budget_and_says_what_it_cost(name: str) -> None:
    X, y = some(name, 7000)
    model = make(name, budget=200, time_limit=1e-6)
    with pytest.warns(
        UserWarning, match="time_limit=1e-06 made .* of 200 cent"
    ) as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    assert model.score(X, y) > 0.7
    sensible(model, X[:100])


@both
def test_a_stream_has_no_time_limit(name: str) -> None:
    X, y = some(name)
    alike(
        *(
            make(name, time_limit=limit, **GIVEN).partial_fit(X, y)
            for limit in (1, None)
        ),
        *(X, y),
    )


def test_fit_needs_twice_the_data_beside_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "KEPT", 0)
    X = np.random.default_rng(0).normal(size=(60_000, 50))
    y = X[:, 0] * X[:, 1] > 0.0
    model = make("KernelClassifier", budget=80, gamma=0.01, C=1.0)
    model.fit(X[:7000], y[:7000])  # compiles
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * X.nbytes


# ---- weights -------------------------------------------------------------------------


@both
def test_rows_without_weight_are_not_there(name: str) -> None:
    X, y = some(name)
    weight = np.where(np.arange(ROWS) < 500, 1.0, 0.0)
    strange = np.where(weight > 0, y, 1 - y)
    model = make(name, budget=60, scale=False, **GIVEN)
    with_them = clone(model).fit(X, strange, sample_weight=weight)
    without = model.fit(X[:500], y[:500])
    assert abs(with_them.score(X, y) - without.score(X, y)) < 0.05


@both
def test_weights_are_repetitions_about(name: str) -> None:
    X, y = some(name, 300)
    weight = np.random.default_rng(0).integers(1, 4, size=300)
    model = make(name, budget=60, scale=False, **GIVEN)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    # The weights are relative to their mean, which is about two.
    repeated = model.set_params(C=1.0 / weight.mean())
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    found, expected = answers(weighted, X), answers(repeated, X)
    assert np.corrcoef(found, expected)[0, 1] > 0.98


@entries
def test_a_heavy_class_is_predicted_more_often(entry: str) -> None:
    X, y = some("KernelClassifier")
    shares = []
    for class_weight in (None, {1: 20.0}):
        model = make("KernelClassifier", class_weight=class_weight, **GIVEN)
        learn(model, entry, X, y)
        shares.append(float((model.predict(X) == 1).mean()))
    assert shares[1] > shares[0]


def test_balanced_classes_need_all_rows() -> None:
    X, y = some("KernelClassifier", 200)
    y[:80] = 0
    make("KernelClassifier", class_weight="balanced", **GIVEN).fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        make("KernelClassifier", class_weight="balanced").partial_fit(X, y)


# ---- chance --------------------------------------------------------------------------


@both
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
def test_the_same_seed_gives_the_same_bits(name: str, entry: str) -> None:
    X, y = some(name, 300)
    twins = [getattr(make(name), entry)(X, y) for _ in range(2)]
    alike(*twins, X, y)
    seeds = [np.random.RandomState(3) for _ in range(2)]
    twins = [getattr(make(name, random_state=seed), entry)(X, y) for seed in seeds]
    np.testing.assert_array_equal(answers(twins[0], X), answers(twins[1], X))
    getattr(make(name, random_state=None, **GIVEN), entry)(X, y)


@both
def test_threads_change_next_to_nothing(name: str) -> None:
    X, y = some(name, 1000)
    one, two = (
        answers(make(name, n_jobs=n_jobs, **GIVEN).fit(X, y), X) for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(two, one, atol=1e-3)


@both
def test_global_output_of_data_frames_changes_nothing(name: str) -> None:
    sklearn = pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    X, y = some(name, 100)
    with sklearn.config_context(transform_output="pandas"):
        model = make(name, **GIVEN).fit(X, y).partial_fit(X, y)
        sensible(model, X)


# ---- streams -------------------------------------------------------------------------


def learn(model: Any, entry: str, X: Any, y: Any, **options: Any) -> Any:
    if entry == "progressive":
        return onkel.progressive(model, X, y, **options)
    return getattr(model, entry)(X, y, **options)


@both
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_a_stream_may_be_cut_anywhere_after_its_first_call(
    name: str, classes: int, form: Any
) -> None:
    X, y = some(name, ROWS, classes)
    X = form(X)
    models = []
    for step in (1000, 97):
        model = make(name, **GIVEN).partial_fit(X[:50], y[:50])
        for start in range(50, ROWS, step):
            model.partial_fit(X[start : start + step], y[start : start + step])
        models.append(model)
    assert models[0].held_out_score_ == models[1].held_out_score_
    # A product of matrices rounds by the number of its rows.
    first, second = (answers(model, X) for model in models)
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


@both
def test_single_rows_are_a_stream(name: str) -> None:
    X, y = some(name, 300)
    whole, single = (make(name, **GIVEN).partial_fit(X[:20], y[:20]) for _ in "ab")
    whole.partial_fit(X[20:], y[20:])
    for row in range(20, 300):
        single.partial_fit(X[row : row + 1], y[row : row + 1])
    np.testing.assert_allclose(
        answers(whole, X), answers(single, X), rtol=1e-9, atol=1e-12
    )


@both
def test_memory_is_bounded(name: str) -> None:
    X, y = some(name)
    model = make(name, memory_size=100, **GIVEN)
    for start in range(0, ROWS, 7):
        model.partial_fit(X[start : start + 7], y[start : start + 7])
        assert len(model._recent) <= 100
        assert sum(len(kept[1]) for kept in model._recent.kept) < 200
    sensible(model, X)


@both
def test_a_model_goes_on_after_fit(name: str) -> None:
    X, y = some(name)
    model = make(name, **GIVEN).fit(X[:200], y[:200])
    before = model.score(X[200:], y[200:])
    for start in range(200, ROWS, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
        sensible(model, X)
    assert model.t_ == ROWS
    assert model.score(X, y) > before - 0.1
    np.testing.assert_array_equal(
        answers(model.fit(X[:200], y[:200]), X),
        answers(make(name, **GIVEN).fit(X[:200], y[:200]), X),
    )


@both
def test_progressive_scores_are_those_of_rows_not_yet_seen(name: str) -> None:
    X, y = some(name)
    model, twin = (make(name, **GIVEN).partial_fit(X[:50], y[:50]) for _ in "ab")
    scores = onkel.progressive(model, X[50:400], y[50:400])
    for row in (50, 51, 255, 256, 257, 300, 383, 384):
        twin.partial_fit(X[twin.t_ : row], y[twin.t_ : row]) if row > twin.t_ else None
        expected = answers(twin, X[row : row + 1])
        np.testing.assert_allclose(scores[row - 50], expected[0], atol=1e-5)


def two_classes_after_two_others() -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = some("KernelClassifier", ROWS, 4)
    model = make("KernelClassifier", **GIVEN)
    order = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y >= 2)])
    for start in range(0, ROWS, 50):
        rows = order[start : start + 50]
        model.partial_fit(X[rows], y[rows])
        sensible(model, X)
    return model, X, y


@pytest.mark.xfail(
    reason="weights of the mixture follow the last rows, and with them the memory that "
    "forgets: of classes that have long been away, 20 centres name none",
    strict=True,
)
def test_classes_of_long_ago_are_named_still() -> None:
    model, X, _ = two_classes_after_two_others()
    assert len(set(model.predict(X))) > 2


def test_classes_may_come_late() -> None:
    model, X, y = two_classes_after_two_others()
    assert model.classes_.tolist() == [0, 1, 2, 3]
    model.partial_fit(X[:200], y[:200])
    assert set(model.predict(X)) == {0, 1, 2, 3}


@pytest.mark.parametrize("label", [-1, 1, 7])
def test_a_label_may_come_between_others(label: int) -> None:
    X, y = some("KernelClassifier", ROWS)
    y = 2 * y
    y[400::5] = label
    model = make("KernelClassifier", **GIVEN).partial_fit(X, y)
    sensible(model, X)
    assert model.classes_.tolist() == sorted([0, 2, label])
    assert model.score(X[:400], y[:400]) > 0.55


def test_one_class_so_far_is_all_there_is() -> None:
    X, _ = some("KernelClassifier", 300)
    model = make("KernelClassifier").partial_fit(X, np.full(300, "only"))
    assert set(model.predict(X)) == {"only"}
    assert (model.predict_proba(X) == 1.0).all()


def test_a_sorted_stream_is_fitted_to_both_classes() -> None:
    X, y = some("KernelClassifier")
    order = np.argsort(y, kind="stable")
    model = make("KernelClassifier", **GIVEN)
    model.partial_fit(X[order], y[order])
    assert 0.5 < model.held_out_score_ < 1.0
    # As long as the same label comes again and again, it is what is predicted.
    assert (model.predict(X[order][-50:]) == 1).mean() > 0.9


def test_a_class_that_never_comes_and_a_rare_one_stop_nothing() -> None:
    X, y = some("KernelClassifier")
    model = make("KernelClassifier", **GIVEN).partial_fit(X, y, classes=[0, 1, 2])
    assert np.isfinite(model.held_out_score_)
    assert model.score(X, y) > 0.7
    y[[10, 500]] = 2
    model = make("KernelClassifier", **GIVEN).partial_fit(X, y)
    assert np.isfinite(model.held_out_score_)
    assert model.score(X, y) > 0.7


# ---- bad input -----------------------------------------------------------------------


def with_entry(X: np.ndarray, value: Any) -> Any:
    X = X.astype(object) if isinstance(value, str) else X.copy()
    X[17, 2] = value
    return X


@both
@entries
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda X, y: (with_entry(X, np.nan), y), "NaN in row 17, column 2"),
        (lambda X, y: (with_entry(X, -np.inf), y), "infinity in row 17, column 2"),
        (lambda X, y: (with_entry(X, 1e300), y), "overflows float64"),
        (lambda X, y: (with_entry(X, "text"), y), "'text', in row 17, column 2"),
        (lambda X, y: (X[:, :2], y), "2 features"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, np.where(np.arange(len(y)) == 5, np.nan, y)), "NaN"),
        (lambda X, y: (X[0], y[:1]), "1D array"),
    ],
    ids=[
        *("nan", "infinity", "overflow", "text", "width", "empty", "lengths"),
        *("nan-target", "flat"),
    ],
)
def test_bad_rows_are_refused_and_leave_no_trace(
    name: str, entry: str, change: Any, says: str
) -> None:
    X, y = some(name, 300)
    model = make(name, **GIVEN).partial_fit(X[:270], y[:270])
    twin = copy.deepcopy(model)
    if entry == "fit" and says == "2 features":
        return  # which is another data set
    with pytest.raises(ValueError, match=says):
        learn(model, entry, *change(X, y))
    if says not in ("NaN", "inconsistent numbers of samples"):
        with pytest.raises(ValueError, match=says):
            model.predict(change(X, y)[0])
    alike(model, twin, X[270:], y[270:])


@entries
def test_strange_labels_are_refused_and_leave_no_trace(entry: str) -> None:
    X, y = some("KernelClassifier", 300)
    model = make("KernelClassifier", **GIVEN)
    model.partial_fit(X[:270], y[:270], classes=[0, 1])
    twin = copy.deepcopy(model)
    if entry != "fit":
        with pytest.raises(ValueError, match="not among the classes given"):
            learn(model, entry, X, np.where(np.arange(300) == 299, 2, y))
    with pytest.raises(ValueError, match="continuous"):
        learn(model, entry, X, X[:, 0])
    with pytest.raises(ValueError, match=r"one class only|text and numbers"):
        learn(model, entry, X, np.full(300, "no"))
    alike(model, twin, X[270:], y[270:])


@both
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.full(300, -1.0), "[Nn]egative"),
        (np.full(300, np.nan), "NaN"),
        (np.ones(7), "sample_weight"),
    ],
    ids=["negative", "nan", "length"],
)
def test_bad_weights_are_refused_and_leave_no_trace(
    name: str, entry: str, weight: Any, says: str
) -> None:
    X, y = some(name, 300)
    model = make(name, **GIVEN).partial_fit(X[:270], y[:270])
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match=says):
        learn(model, entry, X, y, sample_weight=weight)
    alike(model, twin, X[270:], y[270:])


@both
def test_weights_of_zero_are_no_data_set_but_part_of_a_stream(name: str) -> None:
    X, y = some(name)
    with pytest.raises(ValueError, match="zero"):
        make(name, **GIVEN).fit(X, y, sample_weight=np.zeros(ROWS))
    model = make(name, **GIVEN).partial_fit(X, y, sample_weight=np.zeros(ROWS))
    sensible(model, X)
    sensible(model.partial_fit(X, y), X)


@both
@entries
@pytest.mark.parametrize(
    "parameters",
    [
        *({"budget": 0}, {"budget": -1}, {"budget": "x"}, {"budget": 2.5}),
        *({"gamma": 0.0}, {"gamma": -1.0}, {"gamma": "scale"}, {"gamma": np.inf}),
        *({"C": np.nan}, {"C": 0}, {"memory_size": 0}, {"memory_size": 1.5}),
        *({"time_limit": -1}, {"time_limit": 0}, {"loss": "hinge"}, {"scale": "yes"}),
        *({"block_size": 0}, {"n_jobs": 0}, {"random_state": "x"}, {"verbose": -1}),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(
    name: str, entry: str, parameters: dict[str, Any]
) -> None:
    X, y = some(name, 20)
    (parameter,) = parameters
    model = make(name, **parameters)
    with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
        learn(model, entry, X, y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")


@both
def test_a_stream_does_not_go_on_with_other_parameters(name: str) -> None:
    X, y = some(name, 300)
    model = make(name, **GIVEN).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"memory_size was 10000 .* is 5 now"):
        model.set_params(memory_size=5).partial_fit(X, y)


# ---- odd data ------------------------------------------------------------------------


ODD = {
    "constant feature": lambda X: np.column_stack([X, np.full(len(X), 1e8 + 0.1)]),
    "constant features": lambda X: np.ones_like(X),
    "zeros": np.zeros_like,
    "one feature": lambda X: X[:, :1],
    "huge": lambda X: 1e8 * X,
    "far away": lambda X: X + 1e8,
    "tiny": lambda X: 1e-150 * X,
    "an outlier": lambda X: np.vstack([X[:-1], np.full((1, X.shape[1]), 1e100)]),
    "twice": lambda X: np.concatenate([X[: len(X) // 2]] * 2),
}


@both
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_odd_features_give_sensible_answers(
    name: str, odd: str, scale: bool, form: Any
) -> None:
    X, y = some(name, 300)
    X = form(ODD[odd](X))
    sensible(make(name, scale=scale, C=1.0).fit(X[:100], y[:100]), X)
    sensible(make(name, scale=scale, C=1.0).partial_fit(X, y), X)


@both
@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
def test_few_rows_give_sensible_answers(name: str, count: int) -> None:
    X, y = some(name, 20)
    y = y if name == "KernelRegressor" else np.arange(20) % 2
    sensible(make(name, **GIVEN).partial_fit(X[:count], y[:count]), X)
    if count == 1 and name == "KernelClassifier":
        return  # of a single class
    sensible(make(name).fit(X[:count], y[:count]), X)
    sensible(make(name, budget="auto").fit(X[:count], y[:count]), X)
    sensible(make(name, budget=1).fit(X[:count], y[:count]), X)


@pytest.mark.parametrize("others", [2, 3])
def test_a_class_of_one_row_is_a_class(others: int) -> None:
    X, y = some("KernelClassifier", 100, others)
    y[50] = 9
    model = make("KernelClassifier").fit(X, y)
    sensible(model, X)
    assert len(model.classes_) == others + 1


@both
def test_a_single_row_of_weight_gives_sensible_answers(name: str) -> None:
    X, y = some(name, 100)
    sensible(make(name).fit(X, y, sample_weight=np.eye(100)[3]), X)
    sensible(make(name).fit(X, y, sample_weight=np.eye(100)[3] + 1e-30), X)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1e8])
def test_a_constant_target_is_predicted(value: float) -> None:
    X, _ = some("KernelRegressor")
    y = np.full(ROWS, value)
    model = make("KernelRegressor").fit(X[:100], y[:100])
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-6)
    model = make("KernelRegressor").partial_fit(X, y)
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-6)


@pytest.mark.parametrize(("factor", "shift"), [(1e150, 0.0), (1.0, 1e8), (1e-100, 0.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_targets_of_any_size_are_learnt(
    factor: float, shift: float, dtype: Any
) -> None:
    X, y = some("KernelRegressor", 300)
    X, y = X.astype(dtype), factor * y + shift
    model = make("KernelRegressor", budget=60).fit(X, y)
    error = np.abs(model.predict(X) - y).mean()
    assert error < 0.7 * np.abs(y - y.mean()).mean()


@both
def test_centres_coefficients_and_size_agree_in_a_stream(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = X[:, 0] * X[:, 1]
    model = make(name)
    for start in range(0, 600, 150):
        rows = slice(start, start + 150)
        model.partial_fit(X[rows], y[rows] if "Reg" in name else y[rows] > 0)
        assert model.support_vectors_.shape == (model.model_size_, 3)
        assert model.dual_coef_.shape == (1, model.model_size_)
        assert model.model_size_ <= model.budget
