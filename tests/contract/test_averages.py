"""Averaged answers: they go on, begin anew and are refused like any other.

The means of the systems that delete are used with average_exact=True, whose answer
grows; what is compiled for them here is compiled for tests/exact anyway.
"""

import copy
import inspect
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import onkel
from onkel.engine import threads
from tests.contract.systems import (
    BOUNDED,
    CONSTANT,
    COVER,
    PEGASOS,
    REMOVAL,
    System,
    data,
    goes_on_alike,
    scores,
)

ROWS = 150
EXACT = {**BOUNDED, "average": "full", "average_exact": True}
WHOLE = {
    "bsgd": System("BSGDClassifier", {**EXACT, **PEGASOS, **REMOVAL}),
    "bsgd-merge": System("BSGDClassifier", {**EXACT, **PEGASOS, "average": "poly"}),
    "nbsgd": System(
        "NBSGDClassifier",
        {**EXACT, **PEGASOS, **REMOVAL, "maintenance_rate": 60.0},
    ),
    "bogd": System("BOGDClassifier", {**EXACT, **CONSTANT}),
    "bsgd-r": System("BSGDRegressor", {**EXACT, **PEGASOS, **REMOVAL}, True),
}
PERMANENT = {
    "sgd": System("KernelSGDClassifier", {**PEGASOS, "average": "full"}),
    "ogd-r": System("OGDRegressor", {**CONSTANT, "average": "poly"}, True),
    "avm": System("AVMClassifier", {**PEGASOS, **COVER, "average": "full"}),
}
AVERAGED = WHOLE | PERMANENT


def each(systems: dict[str, System]) -> Any:
    return pytest.mark.parametrize("system", systems.values(), ids=systems)


def last(system: System) -> System:
    """Return the same without an average."""
    without = {k: v for k, v in system.parameters.items() if "average" not in k}
    return system._replace(parameters=without)


def size_of_last(model: Any) -> int:
    return int(model._learner.counters.count)


# ---- which systems -------------------------------------------------------------------


def test_the_gradient_systems_can_average_and_the_others_cannot() -> None:
    systems = ("KernelSGD", "BSGD", "NBSGD", "OGD", "BOGD", "AVM")
    systems += ("FOGD", "NOGD", "DualSGD", "KLMS", "QKLMS", "NORMA")
    deleting = ("BSGD", "NBSGD", "BOGD", "NORMA")
    for name, cls in vars(onkel).items():
        if not hasattr(cls, "get_params") or name.startswith("BSCA"):
            continue
        system = name.removesuffix("Classifier").removesuffix("Regressor")
        given = inspect.signature(cls).parameters
        assert ("average" in given) == (system in systems), name
        assert ("suffix_fraction" in given) == (system in systems), name
        assert ("average_exact" in given) == (system in deleting), name
        if system in systems:
            assert given["average"].default is None


# ---- going on ------------------------------------------------------------------------


@each(AVERAGED)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_copy_in_mid_stream_goes_on_with_the_same_bits(
    system: System, classes: int
) -> None:
    X, y = data(system, 2 * ROWS, classes=classes)
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        goes_on_alike(twin, copy.deepcopy(model), X[ROWS:], y[ROWS:])


@each(AVERAGED)
def test_reading_the_answer_changes_nothing(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    twin = copy.deepcopy(model)
    for probe in (X, scipy.sparse.csr_array(X), X.astype(np.float32)):
        scores(model, probe)
    model.dual_coef_[...] = 7.0
    model.support_vectors_[...] = 7.0
    goes_on_alike(model, twin, X[ROWS:], y[ROWS:])


@each(AVERAGED)
@pytest.mark.parametrize("block_size", [1, 7, "auto"])
def test_chunks_and_blocks_do_not_matter(system: System, block_size: Any) -> None:
    X, y = data(system, 2 * ROWS)
    whole = system.make().partial_fit(X, y)
    pieces = system.make(block_size=block_size)
    for a, b in itertools.pairwise([0, 1, 5, 40, 41, 200, 2 * ROWS]):
        pieces.partial_fit(X[a:b], y[a:b])
    assert pieces.model_size_ == whole.model_size_
    np.testing.assert_array_equal(pieces.support_vectors_, whole.support_vectors_)
    np.testing.assert_allclose(
        pieces.dual_coef_, whole.dual_coef_, rtol=1e-7, atol=1e-12
    )


@each({name: system for name, system in AVERAGED.items() if not system.regressor})
def test_labels_that_arrive_late_are_averaged_alike_in_any_chunks(
    system: System,
) -> None:
    X, y = data(system, 2 * ROWS, classes=4)
    y[:30] = 2
    y[30:120] = np.where(y[30:120] > 1, 2, 0)
    y[120:200] = np.minimum(y[120:200], 2)
    whole = system.make().partial_fit(X, y)
    rows = system.make()
    for t in range(2 * ROWS):
        rows.partial_fit(X[t : t + 1], y[t : t + 1])
    assert whole.classes_.tolist() == rows.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(scores(rows, X), scores(whole, X), rtol=1e-7, atol=1e-9)
    assert rows.t_ == whole.t_ == 2 * ROWS


@each(AVERAGED)
def test_a_stream_after_fit_goes_on_with_the_mean_of_fit(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    classes = {} if system.regressor else {"classes": [0, 1]}
    model = system.make(shuffle=False).fit(X[:ROWS], y[:ROWS])
    model.partial_fit(X[ROWS:], y[ROWS:])
    stream = system.make(shuffle=False).partial_fit(X, y, **classes)
    np.testing.assert_allclose(scores(model, X), scores(stream, X), rtol=1e-9)


@each(AVERAGED)
def test_learning_goes_on_from_the_last_iterate(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model, plain = system.make(), last(system).make()
    np.testing.assert_array_equal(
        onkel.progressive(model, X, y), onkel.progressive(plain, X, y)
    )
    np.testing.assert_array_equal(model._learner.last_coef, plain.dual_coef_)
    assert model.n_updates_ == plain.n_updates_
    assert not np.allclose(scores(model, X), scores(plain, X))


# ---- beginning anew ------------------------------------------------------------------


@each(AVERAGED)
def test_fit_forgets_the_mean(system: System) -> None:
    X, y = data(system, ROWS)
    fresh = system.make().fit(X, y)
    veteran = system.make().partial_fit(3 * X, y).fit(X, y)
    goes_on_alike(veteran, fresh, X, y)
    goes_on_alike(clone(veteran).fit(X, y), system.make().fit(X, y), X, y)


# ---- what is shown -------------------------------------------------------------------


@each(WHOLE)
def test_an_exact_average_shows_what_left(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model = system.make().partial_fit(X, y)
    size = model.model_size_
    assert size > size_of_last(model) >= model.budget
    assert model.support_vectors_.shape == (size, X.shape[1])
    assert model.dual_coef_.shape == (1, size)
    left = model.n_maintenance_ * (2 if system.merges else 1)
    assert size <= size_of_last(model) + left
    K = rbf_kernel(X, model.support_vectors_, gamma=0.5)
    wanted = K @ model.dual_coef_[0]
    np.testing.assert_allclose(scores(model, X), wanted, atol=1e-11)
    sparse = scores(model, scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse, wanted, atol=1e-9)


def test_an_exact_average_is_one_of_other_kernels_too() -> None:
    X, y = data(WHOLE["bsgd"], ROWS)
    model = WHOLE["bsgd"].make(kernel="poly", gamma=0.3, degree=2, coef0=0.5).fit(X, y)
    assert model.model_size_ > size_of_last(model)
    K = polynomial_kernel(X, model.support_vectors_, degree=2, gamma=0.3, coef0=0.5)
    wanted = K @ model.dual_coef_[0]
    size = np.abs(wanted).max()
    np.testing.assert_allclose(scores(model, X), wanted, atol=1e-12 * size)


@each(WHOLE)
def test_a_folded_average_has_the_centres_of_the_last_iterate(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    exact = system.make().partial_fit(X, y)
    folded = system.make(average_exact=False).partial_fit(X, y)
    plain = last(system).make().partial_fit(X, y)
    np.testing.assert_array_equal(folded.support_vectors_, plain.support_vectors_)
    assert folded.model_size_ == size_of_last(exact)
    assert not np.allclose(scores(folded, X), scores(exact, X))


@each({"bsgd": WHOLE["bsgd"], "bsgd-merge": WHOLE["bsgd-merge"]})
def test_an_exact_average_without_a_full_budget_is_the_plain_one(
    system: System,
) -> None:
    X, y = data(system, ROWS)
    exact = system.make(budget=10 * ROWS).partial_fit(X, y)
    folded = system.make(budget=10 * ROWS, average_exact=False).partial_fit(X, y)
    np.testing.assert_array_equal(exact.dual_coef_, folded.dual_coef_)


def test_the_answer_of_one_row_is_the_empty_iterate_before_it() -> None:
    for system in AVERAGED.values():
        X, y = data(system, 1)
        classes = {} if system.regressor else {"classes": [0, 1]}
        model = system.make().partial_fit(X, y, **classes)
        assert model.t_ == 1
        np.testing.assert_array_equal(scores(model, X), 0.0)


def test_threads_do_not_change_an_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTHWHILE", 0)
    for system in (WHOLE["bsgd"], PERMANENT["avm"]):
        X, y = data(system, 700)
        one = system.make(n_jobs=1).fit(X, y)
        two = system.make(n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(two.support_vectors_, one.support_vectors_)
        np.testing.assert_allclose(two.dual_coef_, one.dual_coef_, rtol=1e-9)
        np.testing.assert_allclose(scores(two, X), scores(one, X), rtol=1e-9)


@pytest.mark.parametrize("exact", [False, True])
def test_the_history_is_that_of_the_last_iterate(exact: bool) -> None:
    system = WHOLE["bsgd"]
    X, y = data(system, ROWS)
    told = system.make(average_exact=exact, monitor=True, max_iter=2).fit(X, y)
    plain = last(system).make(monitor=True, max_iter=2).fit(X, y)
    for name in ("primal", "dual", "size", "updates", "maintenance"):
        assert told.history_[name] == plain.history_[name]


# ---- suffix --------------------------------------------------------------------------

SUFFIX = {
    "sgd": PERMANENT["sgd"],
    "avm": PERMANENT["avm"],
    "bsgd": WHOLE["bsgd"],
    "bogd": WHOLE["bogd"],
}


@each(SUFFIX)
def test_the_mean_of_all_is_a_suffix(system: System) -> None:
    X, y = data(system, ROWS)
    full = system.make(max_iter=2).fit(X, y)
    suffix = system.make(average="suffix", suffix_fraction=1.0, max_iter=2).fit(X, y)
    np.testing.assert_array_equal(suffix.dual_coef_, full.dual_coef_)


@each(SUFFIX)
def test_a_suffix_of_one_row_is_the_iterate_before_the_last(system: System) -> None:
    X, y = data(system, ROWS)
    given = {"average": "suffix", "suffix_fraction": 1 / ROWS, "shuffle": False}
    model = system.make(**given).fit(X, y)
    before = last(system).make(shuffle=False)
    before.partial_fit(X[:-1], y[:-1], classes=[0, 1])
    np.testing.assert_allclose(
        scores(model, X), scores(before, X), rtol=1e-9, atol=1e-9
    )


@each(SUFFIX)
def test_a_suffix_of_no_row_is_the_last_iterate(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make(average="suffix", suffix_fraction=1e-9).fit(X, y)
    plain = last(system).make().fit(X, y)
    np.testing.assert_allclose(scores(model, X), scores(plain, X), rtol=1e-12)


@each(SUFFIX)
@pytest.mark.parametrize("entry", ["partial_fit", "progressive"])
def test_a_suffix_is_refused_in_a_stream_also_after_fit(
    system: System, entry: str
) -> None:
    X, y = data(system, ROWS)

    def stream(model: Any) -> Any:
        if entry == "progressive":
            return onkel.progressive(model, X, y)
        return model.partial_fit(X, y)

    message = r'average="suffix".*use average="poly" with partial_fit'
    new = system.make(average="suffix", random_state=np.random.RandomState(3))
    before = dict(vars(new))
    with pytest.raises(ValueError, match=message):
        stream(new)
    assert vars(new) == before
    model = system.make(average="suffix").fit(X, y)
    answer, t = scores(model, X), model.t_
    with pytest.raises(ValueError, match=message):
        stream(model)
    np.testing.assert_array_equal(scores(model, X), answer)
    assert model.t_ == t
    # Nor may the parameter be changed to go on.
    model.set_params(average="poly")
    with pytest.raises(ValueError, match=r"average was 'suffix'.*is 'poly' now"):
        stream(model)
    model.set_params(average="suffix").fit(X, y)
    np.testing.assert_array_equal(scores(model, X), answer)


# ---- refused calls -------------------------------------------------------------------


# With this kernel nobody merges.
@each({name: system for name, system in WHOLE.items() if not system.merges})
def test_a_refused_call_leaves_no_trace_in_the_average(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model = system.make(kernel="poly", gamma=0.1).partial_fit(X[:ROWS], y[:ROWS])
    twin = copy.deepcopy(model)
    # Refused at once, and after many rows have been learnt and centres have left.
    for bad, message in ((np.nan, "NaN in row 290"), (1e120, "overflowed at row 290")):
        spoilt = X.copy()
        spoilt[290] = bad
        with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
            model.partial_fit(spoilt, y)
    goes_on_alike(model, twin, X[ROWS:], y[ROWS:])


FORMS: list[Callable] = [np.ndarray.tolist, scipy.sparse.csc_array, np.asfortranarray]


@pytest.mark.parametrize("form", FORMS)
def test_any_array_is_averaged_like_a_plain_one(form: Callable) -> None:
    system = PERMANENT["avm"]
    X, y = data(system, ROWS)
    model, plain = system.make().fit(form(X), y), system.make().fit(X, y)
    np.testing.assert_allclose(scores(model, X), scores(plain, X), rtol=1e-9)
