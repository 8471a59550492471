"""Labels: of any type, known from the start or met on the way (contract 11, 12, 19).

The scores of a model are compared, not only its predictions, wherever labels arrive
late: a class in the wrong row would otherwise hide behind those that are right.
"""

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special
from sklearn.metrics.pairwise import rbf_kernel

import onkel
from tests.contract.systems import (
    CLASSIFIERS,
    PEGASOS,
    System,
    data,
    each,
    each_in_its_precisions,
    goes_on_alike,
    rows,
)

# Rows at which the second, third and fourth label appear.
ARRIVALS = (0, 20, 70, 130)
ROWS = 220
ORDERS = {
    "sorted": np.array(["ant", "bee", "cat", "dog"]),
    # The third label sorts first and the fourth in the middle; widths differ.
    "unsorted": np.array(["ox", "zebra", "a", "monkey"]),
    "numbers": np.array([5, -3, 7, 0]),
}
in_each_order = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
LOSS_BASED = [name for name, system in CLASSIFIERS.items() if system.weighted]
LOG_LOSS = ["ogd", "bogd", "bogd++", "sgd", "bsgd", "bsgd-ball", "nbsgd", "avm"]
# The answer of the others is not the last iterate, and past ones are in it, or every
# update changes all of it (see test_features.py).
LAST = [
    name
    for name, system in CLASSIFIERS.items()
    if not system.averaged and not system.name.startswith(("FOGD", "DualSVRG", "KRLS"))
]


def late_labels(order: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make a stream whose labels appear one after another, in the order given."""
    X, f = rows(ROWS, seed)
    y = np.empty(ROWS, order.dtype)
    edges = [*ARRIVALS, ROWS]
    for known, (start, stop) in enumerate(itertools.pairwise(edges), 1):
        bins = np.quantile(f, np.arange(1, known) / known)
        y[start:stop] = order[np.digitize(f[start:stop], bins)]
        y[start] = order[known - 1]
    return X, y


def widened(scores: np.ndarray, known: np.ndarray, final: np.ndarray) -> np.ndarray:
    """Scores of the classes known at one time, as columns of those known at the end."""
    out = np.zeros((len(scores), len(final)))
    at = np.searchsorted(final, known)
    if len(known) == 2:
        out[:, at] = np.column_stack([-scores / 2, scores / 2])
    elif len(known) > 2:
        out[:, at] = scores
    return out


def in_chunks(
    model: Any, X: np.ndarray, y: np.ndarray, cuts: Any, final: np.ndarray
) -> np.ndarray:
    edges = [0, *cuts, len(y)]
    parts = []
    for a, b in itertools.pairwise(edges):
        scores = onkel.progressive(model, X[a:b], y[a:b])
        parts.append(widened(scores, model.classes_, final))
    return np.concatenate(parts)


@each(CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_text_labels_learn_like_their_ranks(system: System, classes: int) -> None:
    X, y = data(system, 150, classes=classes)
    names = np.array(["ant", "bee", "caterpillar", "d"])
    by_rank = system.make().fit(X, y)
    for labels in (names[y], names[y].astype(object), names[y].tolist()):
        by_name = system.make().fit(X, labels)
        np.testing.assert_array_equal(by_name.classes_, names[:classes])
        np.testing.assert_array_equal(
            by_name.decision_function(X), by_rank.decision_function(X)
        )
        np.testing.assert_array_equal(by_name.predict(X), names[by_rank.predict(X)])


@each(CLASSIFIERS)
@pytest.mark.parametrize("kind", [bool, float, np.int8])
def test_labels_of_any_type_come_back(system: System, kind: Any) -> None:
    X, y = data(system, 100)
    model = system.make().partial_fit(X, y.astype(kind))
    assert model.classes_.dtype == np.dtype(kind)
    assert model.predict(X).dtype == np.dtype(kind)
    assert set(model.predict(X)) <= {kind(0), kind(1)}


@each(CLASSIFIERS)
@in_each_order
def test_late_labels_give_the_same_result_in_any_chunks(
    system: System, order: np.ndarray
) -> None:
    X, y = late_labels(order)
    final = np.unique(order)
    whole = system.make()
    wanted = in_chunks(whole, X, y, [], final)
    assert np.abs(wanted).max() > 0
    for cuts in (ARRIVALS[1:], [1, 19, 21, 70, 71, 129], range(10, ROWS, 10)):
        model = system.make()
        got = in_chunks(model, X, y, cuts, final)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * size)
        np.testing.assert_array_equal(model.classes_, final)
        np.testing.assert_allclose(
            model.dual_coef_, whole.dual_coef_, rtol=1e-9, atol=1e-9
        )
        np.testing.assert_array_equal(model.support_vectors_, whole.support_vectors_)
        for counter in ("t_", "n_updates_", "n_maintenance_", "n_mistakes_"):
            assert getattr(model, counter) == getattr(whole, counter)


@each(CLASSIFIERS)
def test_row_by_row_equals_one_call_when_labels_are_late(system: System) -> None:
    X, y = late_labels(ORDERS["unsorted"], seed=1)
    X, y = X[:150], y[:150]
    one_call = system.make().partial_fit(X, y)
    model = system.make()
    for t in range(len(y)):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    np.testing.assert_array_equal(model.classes_, one_call.classes_)
    np.testing.assert_allclose(model.dual_coef_, one_call.dual_coef_, rtol=1e-9)
    assert model.n_mistakes_ == one_call.n_mistakes_


@each(LAST)
@in_each_order
def test_two_labels_known_late_learn_like_two_labels_given(
    system: System, order: np.ndarray
) -> None:
    # The rows before the second label count, and that is all they do.
    X, y = late_labels(order)
    X, y = X[: ARRIVALS[2]], y[: ARRIVALS[2]]
    model = system.make().partial_fit(X, y)
    start = ARRIVALS[1]
    later = system.make()
    if system.accepts("t0"):
        later.set_params(t0=later.t0 + start)
    later.partial_fit(X[start:], y[start:], classes=order[:2])
    assert model.t_ == later.t_ + start
    # The probabilities of NBSGD and AVM depend on the time, offset or not.
    if not (system.accepts("maintenance_rate") or system.covers):
        assert model.n_mistakes_ == later.n_mistakes_
        np.testing.assert_allclose(model.dual_coef_, later.dual_coef_, rtol=1e-12)


@each(CLASSIFIERS)
def test_n_mistakes_counts_wrong_predictions_among_the_classes_known(
    system: System,
) -> None:
    X, y = late_labels(ORDERS["unsorted"], seed=2)
    model = system.make()
    scores = onkel.progressive(model, X, y)
    first = [np.flatnonzero(y == label)[0] for label in model.classes_]
    mistakes = 0
    for t in range(len(y)):
        known = np.flatnonzero(np.array(first) <= t)
        predicted = model.classes_[known[scores[t, known].argmax()]]
        mistakes += len(known) > 1 and predicted != y[t]
    assert model.n_mistakes_ == mistakes


@each(CLASSIFIERS)
def test_while_one_label_was_seen_only_the_rows_are_counted(system: System) -> None:
    X, _ = rows(30)
    model = system.make()
    draws = np.random.SeedSequence(system.make().random_state).spawn(3)[1]
    np.testing.assert_array_equal(onkel.progressive(model, X, ["only"] * 30), 0.0)
    model.partial_fit(X[:5], ["only"] * 5)
    assert model.t_ == 35
    assert list(model.classes_) == ["only"]
    assert model.model_size_ == model.n_updates_ == model.n_maintenance_ == 0
    assert model.n_mistakes_ == 0
    assert model.dual_coef_.shape == (1, 0)
    assert model._learner.rng.random() == np.random.default_rng(draws).random()


@each(CLASSIFIERS)
def test_a_model_of_one_class_predicts_it(system: System) -> None:
    X, _ = rows(10)
    model = system.make().partial_fit(X, ["only"] * 10)
    np.testing.assert_array_equal(model.predict(X), ["only"] * 10)
    np.testing.assert_array_equal(model.decision_function(X), np.zeros(10))


@each(LAST)
@in_each_order
def test_at_the_third_label_the_score_is_shared_by_two_rows(
    system: System, order: np.ndarray
) -> None:
    X, y = late_labels(order)
    arrival = ARRIVALS[2]
    # Room for all, so that the newcomer is the last centre and nobody leaves.
    model = system.make(
        **{"budget": ROWS} if "budget" in system.parameters else {},
        **{"ball": False} if system.accepts("ball") else {},
        **{"coverage_radius": 1e-9} if system.covers else {},
    )
    model.partial_fit(X[:arrival], y[:arrival])
    probe, _ = rows(40, seed=9)
    before, centers = model.decision_function(probe), model.support_vectors_
    coef = model.dual_coef_

    model.partial_fit(X[arrival : arrival + 1], y[arrival : arrival + 1])

    np.testing.assert_array_equal(model.classes_, np.unique(order[:3]))
    low, high = np.searchsorted(model.classes_, np.sort(order[:2]))
    new = int(np.searchsorted(model.classes_, order[2]))
    shrunk = 1.0
    if system.accepts("t0"):
        shrunk = (arrival + PEGASOS["t0"]) / (arrival + 1 + PEGASOS["t0"])
    elif system.accepts("eta0"):
        shrunk = 1.0 - model.alpha * model.eta0
    size = coef.shape[1]
    wanted = np.zeros((3, size))
    wanted[low], wanted[high] = -shrunk * coef[0] / 2, shrunk * coef[0] / 2
    np.testing.assert_allclose(model.dual_coef_[:, :size], wanted, rtol=1e-12)
    np.testing.assert_array_equal(model.support_vectors_[:size], centers)

    # The row that brought the label moved its own class up and the runner-up down.
    assert model.model_size_ == size + 1
    moved = model.dual_coef_[:, size]
    assert moved[new] > 0
    assert np.count_nonzero(moved) == 2
    assert moved.sum() == 0
    shares = np.outer(rbf_kernel(probe, X[arrival : arrival + 1], gamma=0.5), moved)
    shared = np.zeros((len(probe), 3))
    shared[:, low], shared[:, high] = -shrunk * before / 2, shrunk * before / 2
    np.testing.assert_allclose(
        model.decision_function(probe), shared + shares, rtol=1e-9, atol=1e-9
    )


@each(LAST)
def test_a_fourth_label_leaves_the_scores_of_the_others_alone(system: System) -> None:
    X, y = late_labels(ORDERS["unsorted"])
    arrival = ARRIVALS[3]
    model = system.make(
        **{"budget": ROWS} if "budget" in system.parameters else {},
        **{"ball": False} if system.accepts("ball") else {},
        **{"coverage_radius": 1e-9} if system.covers else {},
        # else the row would be laid on the other centres
        **{"projection_threshold": 0.0} if system.projects else {},
    )
    model.partial_fit(X[:arrival], y[:arrival])
    old, coef = model.classes_, model.dual_coef_
    model.partial_fit(X[arrival : arrival + 1], y[arrival : arrival + 1])
    kept = np.isin(model.classes_, old)
    size = coef.shape[1]
    got = model.dual_coef_[:, :size]
    # Rows moved with their classes; they may only have shrunk, all alike.
    shrunk = np.abs(got).max() / np.abs(coef).max()
    assert 0.9 < shrunk <= 1.0 + 1e-12
    np.testing.assert_allclose(got[kept], shrunk * coef, rtol=1e-12)
    np.testing.assert_array_equal(got[~kept], 0.0)


@each(CLASSIFIERS)
def test_two_classes_have_one_score_and_more_share_their_centres(
    system: System,
) -> None:
    X, y = data(system, 100, classes=2)
    model = system.make().partial_fit(X, y, classes=[0, 1])
    assert model.dual_coef_.shape == (1, model.model_size_)
    assert model.decision_function(X).shape == (100,)
    X, y = data(system, 100, classes=4)
    model = system.make().partial_fit(X, y, classes=[0, 1, 2, 3])
    assert model.dual_coef_.shape == (4, model.model_size_)
    assert model.decision_function(X).shape == (100, 4)
    if system.name.startswith("KRLS"):
        return  # each class against the rest
    # Crammer-Singer: what one class gains its runner-up loses.
    total = np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-13 * total)


# ---- classes given -------------------------------------------------------------------


@each(CLASSIFIERS)
def test_given_classes_count_from_the_first_row(system: System) -> None:
    X, y = data(system, 60)
    model = system.make()
    scores = onkel.progressive(model, X, np.array(["b", "d"])[y], classes=list("dcba"))
    assert scores.shape == (60, 4)
    assert list(model.classes_) == list("abcd")
    assert model.n_updates_ > 0
    one_label = system.make().partial_fit(X, ["b"] * 60, classes=["b", "d"])
    assert one_label.n_updates_ > 0, "one label of two given is not one label seen"


@each(CLASSIFIERS)
def test_classes_may_be_given_again_in_any_order(system: System) -> None:
    X, y = data(system, 80, classes=3)
    once = system.make().partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    again = copy.deepcopy(once)
    once.partial_fit(X[40:], y[40:])
    again.partial_fit(X[40:], y[40:], classes=[2, 0, 1])
    np.testing.assert_array_equal(once.dual_coef_, again.dual_coef_)


def test_numbers_in_an_object_array_are_not_text() -> None:
    # As numpy makes of a list with None in it, and pandas of many a column.
    X, y = rows(20)[0], np.arange(20) % 2
    classes = np.array([0, 1], dtype=object)
    model = CLASSIFIERS["rbp"].make().partial_fit(X, y, classes=classes)
    plain = CLASSIFIERS["rbp"].make().partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


@each(CLASSIFIERS)
def test_a_label_that_is_not_among_the_classes_given_is_refused(system: System) -> None:
    X, y = data(system, 150)
    names = np.array(["cat", "dog"])[y]
    strange = names.copy().astype("U9")
    strange[33] = "wolf"
    fresh = system.make()
    before = dict(vars(fresh))
    with pytest.raises(ValueError, match=r"wolf"):
        fresh.partial_fit(X, strange, classes=["cat", "dog"])
    assert vars(fresh) == before

    model = system.make().partial_fit(X, names, classes=["cat", "dog"])
    twin = copy.deepcopy(model)
    for call in (model.partial_fit, lambda X, y: onkel.progressive(model, X, y)):
        with pytest.raises(ValueError, match=r"cat.*dog.*wolf"):
            call(X, strange)
    goes_on_alike(model, twin, X, names)


@each(CLASSIFIERS)
def test_other_classes_than_those_known_are_refused(system: System) -> None:
    X, y = data(system, 150)
    model = system.make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"classes=.*0 1 2"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0])
    goes_on_alike(model, twin, X, y)


def test_text_and_numbers_are_not_mixed_in_one_model() -> None:
    # numpy would turn the numbers into text, and predictions would change their type.
    X, y = rows(20)[0], np.arange(20) % 2
    model = CLASSIFIERS["rbp"].make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError):
        model.partial_fit(X, np.array(["0", "1"])[y])
    with pytest.raises(ValueError):
        model.partial_fit(X, ["cat"] * 20)
    goes_on_alike(model, twin, X, y)


# ---- what scores mean ----------------------------------------------------------------


@each(CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_score_of_zero_is_the_first_class(system: System, classes: int) -> None:
    X, y = data(system, 100, classes=classes)
    names = np.array(["ant", "bee", "cat", "dog"])
    model = system.make(kernel="linear").fit(X, names[y])
    origin = np.zeros((3, X.shape[1]))  # where every linear function is 0
    np.testing.assert_array_equal(model.decision_function(origin), 0.0)
    np.testing.assert_array_equal(model.predict(origin), ["ant"] * 3)


@each(CLASSIFIERS)
def test_predictions_are_the_sign_or_the_largest_score(system: System) -> None:
    for classes in (2, 4):
        X, y = data(system, 150, classes=classes)
        model = system.make().fit(X, y)
        f = model.decision_function(X)
        wanted = (f > 0).astype(int) if classes == 2 else f.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), wanted)


@each(CLASSIFIERS)
def test_the_empty_model_is_mistaken_about_all_but_the_first_class(
    system: System,
) -> None:
    X, _ = rows(1)
    for classes in (["a", "b"], ["a", "b", "c"]):
        for label in classes:
            model = system.make().partial_fit(X, [label], classes=classes)
            assert model.n_mistakes_ == (label != "a")
            # A perceptron moves at y f <= 0 all the same, and every loss has a slope.
            assert model.n_updates_ == 1


@each(name for name in CLASSIFIERS if name != "krls")
def test_probabilities_exist_for_log_loss_only(system: System) -> None:
    X, y = data(system, 60)
    model = system.make().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    if system.accepts("loss"):
        assert hasattr(model.set_params(loss="log_loss"), "predict_proba")


@each_in_its_precisions(LOG_LOSS)
def test_probabilities_are_those_of_the_scores(system: System, dtype: Any) -> None:
    for classes in (2, 4):
        X, y = data(system, 150, classes=classes)
        X = X.astype(dtype)
        model = system.make(loss="log_loss").fit(X, np.array(list("wxyz"))[y])
        p, f = model.predict_proba(X), model.decision_function(X)
        assert p.shape == (150, classes)
        assert p.dtype == dtype
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
        if classes == 2:
            np.testing.assert_allclose(p[:, 1], scipy.special.expit(f), rtol=1e-6)
        else:
            np.testing.assert_allclose(p, scipy.special.softmax(f, 1), rtol=1e-6)
        np.testing.assert_array_equal(
            model.predict(X), model.classes_[p.argmax(axis=1)]
        )
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-4)


@each(LOG_LOSS)
def test_probabilities_of_one_class_are_one(system: System) -> None:
    X, _ = rows(10)
    model = system.make(loss="log_loss").partial_fit(X, ["only"] * 10)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((10, 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((10, 1)))


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_of_huge_scores_do_not_overflow(classes: int) -> None:
    X, y = data(CLASSIFIERS["sgd"], 150, classes=classes)
    model = onkel.KernelSGDClassifier(loss="log_loss", alpha=1e-9, gamma=0.5)
    model.fit(X, y)
    assert np.abs(model.decision_function(X)).max() > 1e4
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


# ---- weights of classes --------------------------------------------------------------


@each(LOSS_BASED)
def test_class_weight_in_a_stream_is_a_sample_weight(system: System) -> None:
    X, y = late_labels(ORDERS["unsorted"])
    # One label has no entry: it weighs 1.
    by_class = {"ox": 0.5, "a": 2.0, "monkey": 0.0}
    weight = np.array([by_class.get(label, 1.0) for label in y])
    ours = system.make(class_weight=by_class)
    theirs = system.make()
    for part in (slice(0, 75), slice(75, ROWS)):
        ours.partial_fit(X[part], y[part])
        theirs.partial_fit(X[part], y[part], sample_weight=weight[part])
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)
    assert ours.t_ == ROWS
    both = system.make(class_weight=by_class)
    both.partial_fit(X, y, sample_weight=np.full(ROWS, 2.0))
    doubled = system.make().partial_fit(X, y, sample_weight=2.0 * weight)
    np.testing.assert_array_equal(both.dual_coef_, doubled.dual_coef_)


@each(LOSS_BASED)
def test_balanced_weights_in_fit_are_inverse_frequencies(system: System) -> None:
    X, y = data(system, 120, classes=3)
    y[y == 1] = 2
    ours = system.make(class_weight="balanced").fit(X, y)
    counts = np.bincount(y)
    weight = (120 / (2 * np.maximum(counts, 1)))[y]
    theirs = system.make().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-12)


@each(LOSS_BASED)
def test_balanced_weights_are_refused_in_a_stream(system: System) -> None:
    X, y = data(system, 100)
    model = system.make(class_weight="balanced")
    before = dict(vars(model))
    for call in (model.partial_fit, lambda X, y: onkel.progressive(model, X, y)):
        with pytest.raises(ValueError, match=r'class_weight="balanced".*partial_fit'):
            call(X, y)
    assert vars(model) == before
    # Also when the model comes from fit, where they were welcome.
    model.fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match="balanced"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, twin.dual_coef_)
    assert model.t_ == twin.t_
