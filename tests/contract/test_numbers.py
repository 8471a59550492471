"""Numbers of any kind are read as Python's, and a model is finite or says no.

Parameters of numpy's narrow types wrap around where Python's would not, sparse matrices
lead compiled code wherever their indices point, and a model that is once NaN stays so.
"""

import copy
import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import MultinomialNB

import onkel
from tests.contract.systems import CLASSIFIERS, SYSTEMS, data, goes_on_alike

pandas = pytest.importorskip("pandas")
X = np.random.default_rng(0).normal(size=(400, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


def perceptron(**parameters: Any) -> Any:
    return onkel.RBPClassifier(gamma=0.5, random_state=0, **parameters)


# ---- parameters ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.uint64])
def test_whole_numbers_of_numpy_count_as_pythons(kind: Any) -> None:
    given = perceptron(budget=kind(100), block_size=kind(16), max_iter=kind(2))
    plain = perceptron(budget=100, block_size=16, max_iter=2)
    np.testing.assert_array_equal(
        given.fit(X, y).dual_coef_, plain.fit(X, y).dual_coef_
    )


def test_a_budget_of_255_in_one_byte_is_kept() -> None:
    # 255 + 1 is 0 there.
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(3000, 3)), rng.integers(0, 2, 3000)
    given = {"block_size": 16, "gamma": 0.5, "maintenance": "removal"}
    model = onkel.BSGDClassifier(budget=np.uint8(255), **given)
    assert model.partial_fit(rows, labels).model_size_ == 255


def test_a_memory_of_200_rows_in_one_byte_is_kept() -> None:
    model = onkel.KernelClassifier(memory_size=np.uint8(200), budget=20)
    assert len(model.partial_fit(X[:100], y[:100])._recent.rows()[1]) == 100


def test_real_numbers_of_numpy_count_as_pythons() -> None:
    parameters: dict = {
        "alpha": np.uint8(1),
        "t0": np.float16(2),
        "smoothing": np.int8(1),
    }
    parameters |= {"gamma": np.longdouble(0.5), "random_state": np.int8(3)}
    model = onkel.KernelSGDClassifier(**parameters)
    plain = onkel.KernelSGDClassifier(
        alpha=1.0, t0=2.0, smoothing=1.0, gamma=0.5, random_state=3
    )
    for given in (model, plain):
        given.fit(X[:50], y[:50])
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


def test_parameters_stay_as_they_were_given() -> None:
    budget = np.uint8(255)
    model = perceptron(budget=budget)
    assert model.get_params()["budget"] is budget
    assert type(model.budget) is int and type(clone(model).budget) is int
    assert isinstance(clone(model).get_params()["budget"], np.uint8)
    model.set_params(budget=np.int16(3))
    assert model.fit(X, y).model_size_ == 3
    model.partial_fit(X, y)
    model.set_params(budget=3)  # the same number
    model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("budget", np.array(5)),
        ("budget", np.float64(5)),
        ("degree", 10**9),
        ("gamma", 10**400),
    ],
    ids=["array", "real", "degree", "digits"],
)
def test_what_is_no_number_of_use_is_refused_by_name(
    parameter: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=parameter):
        onkel.RBPClassifier(**{parameter: value}).fit(X, y)


# ---- sparse matrices -----------------------------------------------------------------


def broken(spoil: Callable[[Any], None]) -> Any:
    matrix = scipy.sparse.csr_matrix(X)
    spoil(matrix)
    return matrix


def entry(value: int) -> Callable[[Any], None]:
    def spoil(matrix: Any) -> None:
        matrix.indices[3] = value

    return spoil


def start(place: int, value: int) -> Callable[[Any], None]:
    def spoil(matrix: Any) -> None:
        matrix.indptr[place] = value

    return spoil


def cut(name: str) -> Callable[[Any], None]:
    def spoil(matrix: Any) -> None:
        setattr(matrix, name, getattr(matrix, name)[:-3])

    return spoil


BROKEN = {
    "beyond": (entry(10**7), "an entry of row 1 is in column 10000000"),
    "negative": (entry(-1), "an entry of row 1 is in column -1"),
    "falling": (start(2, 10**6), "indptr"),
    "late": (start(0, 3), "indptr"),
    "long": (start(-1, 10**7), "indptr"),
    "short": (cut("indptr"), "indptr"),
    "few-data": (cut("data"), "indptr"),
}


@pytest.mark.parametrize(("spoil", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_sparse_matrix_is_refused_everywhere(spoil: Any, message: str) -> None:
    matrix = broken(spoil)
    good = scipy.sparse.csr_matrix(X)
    model = perceptron().partial_fit(good, y)
    twin = copy.deepcopy(model)
    features = onkel.FourierFeatures(n_components=4).fit(good)
    for call in (
        lambda: model.predict(matrix),
        lambda: model.partial_fit(matrix, y),
        lambda: onkel.progressive(model, matrix, y),
        lambda: perceptron().fit(matrix, y),
        lambda: features.transform(matrix),
        lambda: onkel.NystromFeatures(budget=5).fit(matrix),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    goes_on_alike(model, twin, X, y)


def test_other_broken_formats_are_refused_before_they_are_converted() -> None:
    column, triples = scipy.sparse.csc_matrix(X), scipy.sparse.coo_matrix(X)
    column.indices[3] = 10**7
    triples.row[3] = 10**7
    for matrix in (column, triples):
        with pytest.raises(ValueError, match="is in row 10000000"):
            perceptron().fit(matrix, y)


def test_wide_indices_are_as_good_as_narrow_ones() -> None:
    # So few that k-means sees them as they are.
    narrow, wide = scipy.sparse.csr_matrix(X[:100]), scipy.sparse.csr_matrix(X[:100])
    wide.indices, wide.indptr = wide.indices.astype(int), wide.indptr.astype(int)
    for make in (onkel.NystromFeatures, onkel.LLSVMClassifier):
        models = [make(budget=5, random_state=0) for _ in range(2)]
        ask = "transform" if make is onkel.NystromFeatures else "decision_function"
        answers = [
            getattr(model.fit(rows, y[:100]), ask)(rows)
            for model, rows in zip(models, (narrow, wide), strict=True)
        ]
        np.testing.assert_array_equal(*answers)


# ---- what is no number ---------------------------------------------------------------

DAYS = pandas.date_range("2020", periods=len(y))


def with_object(value: Any) -> np.ndarray:
    table = X.astype(object)
    table[17, 2] = value
    return table


ODD_ROWS = {
    "times": (DAYS.to_numpy()[:, None], "times"),
    "spans": ((DAYS - DAYS[0]).to_numpy()[:, None], "times"),
    "column": (pandas.DataFrame({"a": X[:, 0], "b": DAYS}), r"times in column 1 \(b\)"),
    "span": (pandas.DataFrame({"a": DAYS - DAYS[0]}), r"times in column 0 \(a\)"),
    "text": (pandas.DataFrame({"a": X[:, 0], "b": "x"}), r"row 0, column 1 \(b\)"),
    "NA": (with_object(pandas.NA), "missing value, <NA>, in row 17, column 2"),
    "date": (with_object(datetime.date(2020, 1, 1)), "time, .* in row 17, column 2"),
    "dict": (with_object({}), "dict, .* in row 17, column 2"),
    "digits": (with_object(10**400), "too large .* in row 17, column 2"),
    "records": (np.zeros((len(y), 2), [("a", float)]), "records"),
}


@pytest.mark.parametrize(("rows", "message"), ODD_ROWS.values(), ids=ODD_ROWS)
def test_rows_that_are_no_numbers_are_refused_by_name(rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        perceptron().fit(rows, y)


def with_label(value: Any) -> np.ndarray:
    labels = y.astype(object)
    labels[17] = value
    return labels


ODD_LABELS = {
    "NA": (with_label(pandas.NA), "missing value.* row 17"),
    "None": (with_label(None), "missing value.* row 17"),
    "mixed": (with_label("a"), "mixes text.* row 17"),
    "mixed-list": ([1, "a"] * (len(y) // 2), "mixes text.* row 1"),
    "text-NA": (pandas.array(["a", None] * (len(y) // 2)), "missing.* row 1"),
    "dict": (with_label({}), "dict.* row 17"),
    "digits": (with_label(10**400), "row 17"),
    "records": (np.zeros(len(y), [("a", int), ("b", int)]), "numbers or text"),
    "times": (DAYS.to_numpy(), "numbers or text"),
    "bytes": (y.astype("S1"), "numbers or text"),
}


@pytest.mark.parametrize(("labels", "message"), ODD_LABELS.values(), ids=ODD_LABELS)
@pytest.mark.parametrize("cls", [onkel.RBPClassifier, onkel.RBPRegressor])
def test_odd_labels_and_targets_are_refused_by_name(
    cls: Any, labels: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cls(gamma=0.5).partial_fit(X, labels)


def test_objects_that_are_numbers_are_numbers() -> None:
    model = perceptron().fit(X, y.astype(object))
    assert model.classes_.dtype == np.int64


@pytest.mark.parametrize(("kind", "kept"), [("f2", "f4"), (np.longdouble, "f8")])
def test_labels_of_odd_precision_can_be_saved(
    kind: Any, kept: Any, tmp_path: Any
) -> None:
    model = perceptron().fit(X, y.astype(kind))
    onkel.save(model, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype == np.dtype(kept)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_messages_show_plain_numbers() -> None:
    with pytest.raises(ValueError, match=r"one class only, 0\.0;"):
        perceptron().fit(X, np.zeros(len(y)))
    model = perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"like 'a' where .* like 0:"):
        model.partial_fit(X, np.full(len(y), "a"))


# ---- weights of classes --------------------------------------------------------------


def test_a_weight_for_no_class_is_refused_by_name() -> None:
    weighted = CLASSIFIERS["bsgd"]
    given = {"class_weight": {"typo": 3}}
    with pytest.raises(ValueError, match=r"class_weight.*'typo'"):
        weighted.make(**given).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight.*'typo'"):
        weighted.make(**given).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight.* 7,"):
        weighted.make(class_weight={7: 3}).partial_fit(X, y, classes=[0, 1])
    # Other labels may yet come, and a fold may lack one.
    weighted.make(class_weight={7: 3}).partial_fit(X, y)
    weighted.make(class_weight={0: 1, 1: 2, 7: 3}).fit(X, y)


# ---- models that are finite ----------------------------------------------------------


def numbers(state: Any) -> list[np.ndarray]:
    """All arrays of floating-point numbers in a state."""
    if isinstance(state, tuple):
        return [array for part in state for array in numbers(part)]
    if not isinstance(state, np.ndarray):
        return []
    parts = [state[name] for name in state.dtype.names or ()] or [state]
    return [part for part in parts if part.dtype.kind == "f"]


@pytest.mark.parametrize("name", ["forgetron", "rbp", "sgd"])
@pytest.mark.parametrize("scale", [1e9, 1e18, 1e100, 1e-100])
def test_a_stream_of_any_scale_leaves_a_finite_model(name: str, scale: float) -> None:
    system = SYSTEMS[name]
    Z, targets = data(system, 90, seed=14)
    for kernel in ("linear", "poly"):
        model = system.make(kernel=kernel, degree=2)
        for row in range(len(Z)):
            try:
                model.partial_fit(Z[row : row + 1] * scale, targets[row : row + 1])
            except ValueError as error:
                assert "overflow" in str(error)
                continue
            learner = model._learner
            for array in numbers((learner.model, learner.budget)):
                assert np.isfinite(array).all()


def test_the_forgetron_takes_no_root_of_a_negative_number() -> None:
    q = np.random.default_rng(14)
    Z = q.normal(size=(120, 3)) * float(q.choice([1, 1e3, 1e9, 1e18, 1e100]))
    labels = q.integers(0, 2, 120)
    model = onkel.ForgetronClassifier(budget=12, kernel="linear", gamma=0.5)
    for row in range(len(Z)):
        model.partial_fit(Z[row : row + 1], labels[row : row + 1])
        assert np.isfinite(model.dual_coef_).all()


def test_a_tiny_offset_leaves_an_average_what_it_is() -> None:
    # Before the first row the model is empty, so that no offset says how it weighs.
    given = {"alpha": 0.01, "average": "full", "gamma": 0.5}
    tiny = onkel.KernelSGDClassifier(t0=1e-300, **given).partial_fit(X, y)
    none = onkel.KernelSGDClassifier(t0=0.0, **given).partial_fit(X, y)
    np.testing.assert_allclose(tiny.dual_coef_, none.dual_coef_)


@pytest.mark.parametrize("name", ["KernelRegressor", "BSGDRegressor", "LLSVMRegressor"])
def test_a_target_whose_square_overflows_is_refused_by_row(name: str) -> None:
    targets = X[:, 0].copy()
    targets[17] = 1e200
    with pytest.raises(ValueError, match=r"1e\+200.* row 17 "):
        getattr(onkel, name)().fit(X, targets)


def test_far_from_all_centres_a_score_is_zero() -> None:
    for dtype in (np.float32, np.float64):
        model = perceptron().fit(X.astype(dtype), y)
        assert (model.decision_function(np.full((2, 3), 1e3, dtype)) == 0.0).all()


def test_weights_that_underflow_in_single_precision_do_not_stop_merging() -> None:
    model = onkel.BSGDClassifier(budget=20, gamma=0.5)
    model.partial_fit(X.astype("f4"), y, sample_weight=np.full(len(y), 1e-30))
    assert model.model_size_ == 20 and np.isfinite(model.dual_coef_).all()


# ---- what else there is --------------------------------------------------------------


@pytest.mark.parametrize("cls", [SGDClassifier, MultinomialNB])
def test_any_classifier_with_partial_fit_can_be_judged_progressively(cls: Any) -> None:
    rows = np.abs(X[:60])
    scores = onkel.progressive(cls(), rows, y[:60])
    twin, wanted = cls(), np.zeros(60)
    for row in range(60):
        x = rows[row : row + 1]
        if row and cls is SGDClassifier:
            wanted[row] = twin.decision_function(x)[0]
        elif row:
            wanted[row] = np.diff(twin.predict_log_proba(x)[0])[0]
        twin.partial_fit(x, y[row : row + 1], classes=[0, 1])
    np.testing.assert_allclose(scores, wanted)


def test_any_regressor_with_partial_fit_can_be_judged_progressively() -> None:
    scores = onkel.progressive(SGDRegressor(random_state=0), X, X[:, 0])
    assert scores[0] == 0.0 and np.abs(scores - X[:, 0])[200:].mean() < 0.3


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: perceptron().fit(scipy.sparse.coo_array(X[:, 0]), y), "1 dimension"),
        (lambda: perceptron().partial_fit(X, y, classes=[0, 1, np.nan]), "classes"),
        (lambda: perceptron().partial_fit(X, y, classes=[0, "a", None]), "classes"),
        (lambda: perceptron(n_jobs=10**7).fit(X, y), "n_jobs"),
        (lambda: perceptron().fit(X, y).set_params(n_jobs=1.5).predict(X), "n_jobs"),
        (
            lambda: onkel.BSGDClassifier(class_weight={0: 10**400}).fit(X, y),
            "class_weight",
        ),
        (
            lambda: onkel.BSGDClassifier().fit(X, y, sample_weight={}),
            "sample_weight",
        ),
        (lambda: onkel.BSGDRegressor(epsilon=10**400).fit(X, X[:, 0]), "epsilon"),
    ],
)
def test_what_a_stranger_tried_is_refused_by_name(call: Callable, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_half_precision_is_saved(tmp_path: Any) -> None:
    model = onkel.BSGDClassifier(alpha=np.float16(0.5), gamma=0.5)
    model.partial_fit(X, y, classes=np.array([0, 1], np.float16))
    onkel.save(model, tmp_path / "model")
    assert onkel.load(tmp_path / "model").alpha == 0.5


def test_coefficients_that_are_finite_but_whose_sum_is_not_are_refused() -> None:
    model = onkel.OGDClassifier(gamma=1.0).partial_fit(10.0 * np.eye(3), [0, 1, 0])
    model._learner.model.coef[:, :3] = 1e308
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit([[-50.0, 0.0, 0.0]], [1])
    assert model.t_ == 3


@pytest.mark.parametrize("size", [1e60, 1e75, 1e103])
def test_a_row_whose_kernel_value_is_close_to_infinite_is_refused(size: float) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.arange(12) % 2
    model = onkel.RBPClassifier(budget=4, kernel="poly", gamma=1.0, random_state=0)
    model.partial_fit(X, y)
    before = model.decision_function(X)
    X[5] = size
    with pytest.raises(ValueError, match="overflowed at row 5"):
        model.partial_fit(X, y)
    X[5] = 0.0
    np.testing.assert_array_equal(model.decision_function(X)[:5], before[:5])
