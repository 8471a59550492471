"""The averaged answer equals the oracle's, which adds up all iterates.

Lazily kept means against eagerly accumulated ones: every change of a coefficient, every
fold, ball, merge and exit has to be in them.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial.distance
from sklearn.base import RegressorMixin

import onkel
from tests import EVERYTHING
from tests.exact import avm, bogd, bsgd, kernel_sgd, klms, nbsgd, norma, ogd, qklms
from tests.exact.averaging import Average
from tests.exact.test_engine import (
    BUDGETED,
    CONSTANT,
    KEPT,
    PEGASOS,
    REMOVAL,
    ROWS,
    SPHERE,
    System,
    data,
    labels_of,
)

PERMANENT = (("KernelSGD", kernel_sgd.run), ("OGD", ogd.run), ("AVM", avm.run))


def parameters_of(name: str) -> dict[str, Any]:
    if name == "OGD":
        return CONSTANT
    return {**PEGASOS, **SPHERE} if name == "AVM" else PEGASOS


def permanent() -> Iterator[Any]:
    """Systems that never delete a centre."""
    for (name, run), loss in itertools.product(PERMANENT, ("hinge", "log_loss")):
        given = {**parameters_of(name), "loss": loss}
        system = System(name, run, given, name == "AVM")
        for task in ("binary", "multiclass"):
            yield pytest.param(system, task, id=f"{name}-{loss}-{task}")
    for name, run in PERMANENT:
        given = {**parameters_of(name), "loss": "squared_error"}
        if name != "OGD":
            # The ball is felt, and the factor folded, again and again.
            given |= {"alpha": 0.3, "t0": 0.0, "ball": True}
        system = System(name, run, given, name == "AVM")
        yield pytest.param(system, "regression", id=f"{name}-squared-ball")
    yield pytest.param(System("KLMS", klms.run), "multiclass", id="KLMS")
    yield pytest.param(System("QKLMS", qklms.run, SPHERE), "regression", id="QKLMS")


def deleting() -> Iterator[Any]:
    # An average sees what happens to centres, not why: they leave, move, or give parts
    # to one other or to all.
    kept_so = (REMOVAL, KEPT[0], KEPT[3]) if not EVERYTHING else (REMOVAL, *KEPT[:4])
    for kept in kept_so:
        given = {**PEGASOS, **BUDGETED, **kept, "loss": "log_loss"}
        name = kept["maintenance"] + str(kept.get("n_merged", ""))
        for task in ("binary", "multiclass"):
            system = System("BSGD", bsgd.run, given)
            yield pytest.param(system, task, id=f"BSGD-{name}-{task}")
    given = {**PEGASOS, **BUDGETED, **REMOVAL, "maintenance_rate": 120.0}
    yield pytest.param(System("NBSGD", nbsgd.run, given, True), "binary", id="NBSGD")
    # They differ in who leaves.
    samplings = ("uniform", "weighted") if EVERYTHING else ("uniform",)
    for sampling, task in itertools.product(samplings, ("binary", "multiclass")):
        given = {**CONSTANT, **BUDGETED, "sampling": sampling, "max_coef": 1.3}
        system = System("BOGD", bogd.run, given, True)
        yield pytest.param(system, task, id=f"BOGD-{sampling}-{task}")
    system = System("NORMA", norma.run, {**CONSTANT, **BUDGETED})
    yield pytest.param(system, "binary", id="NORMA")
    given = {**PEGASOS, **BUDGETED, **REMOVAL, "alpha": 0.5, "ball": True}
    system = System("BSGD", bsgd.run, {**given, "loss": "squared_error"})
    yield pytest.param(system, "regression", id="BSGD-ball")


KINDS = ("full", "suffix", "poly")


def answer(model: Any, X: np.ndarray) -> np.ndarray:
    """Scores by the formula that users are promised, which predictions must equal."""
    squared = scipy.spatial.distance.cdist(X, model.support_vectors_, "sqeuclidean")
    scores = np.exp(-0.5 * squared) @ model.dual_coef_.T
    predict = getattr(model, "decision_function", model.predict)
    np.testing.assert_allclose(predict(X), scores.squeeze(), rtol=1e-9, atol=1e-9)
    return scores


def mean_of(wanted: Any, X: np.ndarray) -> np.ndarray:
    squared = scipy.spatial.distance.cdist(X, wanted.mean_centers, "sqeuclidean")
    return np.exp(-0.5 * squared) @ wanted.mean_coef.T


def agree(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)


def check(system: System, task: str, kind: str, exact: bool) -> None:
    X, y = data(task, seed=6)
    average = Average(kind, exact=exact, suffix_fraction=0.4)
    wanted = system.run(X, y, task, gamma=0.5, average=average)
    given: dict[str, Any] = {"average": kind, "suffix_fraction": 0.4, "gamma": 0.5}
    if exact:
        given["average_exact"] = True
    model = system.estimator(task, **given, shuffle=False, block_size=16)
    model.fit(X, y)
    agree(answer(model, X), mean_of(wanted, X), 1e-7)
    if not exact:
        assert model.model_size_ == len(wanted.centers)
    if kind == "suffix":
        return
    # The same as a stream, read on the way.
    stream = system.estimator(task, **given)
    classes = {} if task == "regression" else {"classes": labels_of(task)}
    for first, stop in itertools.pairwise((0, 1, 70, 71, 200, ROWS)):
        stream.partial_fit(X[first:stop], y[first:stop], **classes)
        answer(stream, X[:5])
    agree(answer(stream, X), mean_of(wanted, X), 1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("system, task", list(permanent()))
def test_means_of_systems_that_never_delete(
    system: System, task: str, kind: str
) -> None:
    check(system, task, kind, exact=False)


# Centres that left are kept in one way, whoever made them leave.
KEPT_EXACTLY = ("BSGD-removal", "BSGD-merge", "BSGD-ball", "BOGD", "NORMA")
# And folding does not see the ball, which AVM's mean does.
FOLDED = ("BSGD-removal", "BSGD-merge", "BSGD-projection", "NBSGD", "BOGD", "NORMA")


def deleting_in_both_ways() -> Iterator[Any]:
    for case, exact in itertools.product(deleting(), (False, True)):
        some = KEPT_EXACTLY if exact else FOLDED
        if EVERYTHING or str(case.id).startswith(some):
            name = f"{case.id}-{'exact' if exact else 'folded'}"
            yield pytest.param(*case.values, exact, id=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("system, task, exact", list(deleting_in_both_ways()))
def test_means_of_systems_that_delete(
    system: System, task: str, kind: str, exact: bool
) -> None:
    check(system, task, kind, exact)


# Both leave the mean of coefficients as it is: one says so of each.
@pytest.mark.parametrize("name, format", [("AVM", "float32"), ("BSGD", "csr")])
def test_precision_and_format_do_not_matter(name: str, format: str) -> None:
    X, y = data("binary", seed=7)
    X = X.astype(np.float32).astype(np.float64)
    if name == "AVM":
        system = System("AVM", avm.run, {**PEGASOS, **SPHERE}, True)
    else:
        given = {**PEGASOS, **BUDGETED, **REMOVAL, "loss": "log_loss"}
        system = System("BSGD", bsgd.run, given)
    wanted = system.run(X, y, "binary", gamma=0.5, average=Average("poly"))
    rows = X.astype(np.float32) if format == "float32" else scipy.sparse.csr_array(X)
    model = system.estimator("binary", gamma=0.5, average="poly")
    model.partial_fit(rows, y, classes=[0, 1])
    got = model.decision_function(X)[:, None]
    agree(got, mean_of(wanted, X), 1e-3 if format == "float32" else 1e-7)


LONG = 5000


def plain_mean(model: Any, X: np.ndarray, y: np.ndarray, probe: np.ndarray) -> Any:
    """Mean over all iterates of the scores at some points, from the models themselves.

    `model` has no average: its answer is the iterate. Its checks are left out, because
    they would be run five thousand times.
    """
    classes = {} if isinstance(model, RegressorMixin) else {"classes": [0, 1]}
    model.partial_fit(X[:1], y[:1], **classes)
    learner, one = model._learner, np.ones(1)
    y = y if isinstance(model, RegressorMixin) else 2.0 * y - 1.0
    total = np.zeros(len(probe))  # the first iterate is 0
    for i in range(1, len(y)):
        total += learner.score(probe)[:, 0]
        for _ in learner.learn(X[i : i + 1], y[i : i + 1], one):
            pass
    return total / len(y)


@pytest.mark.parametrize(
    "cls, given",
    [
        (
            onkel.AVMRegressor,
            {"loss": "squared_error", "alpha": 0.2, "coverage_radius": 0.7},
        ),
        (
            onkel.KernelSGDRegressor,
            {"loss": "squared_error", "alpha": 0.2, "ball": True},
        ),
        (onkel.OGDClassifier, {"loss": "log_loss", "eta0": 0.5, "alpha": 0.05}),
        (
            onkel.BSGDRegressor,
            {"loss": "squared_error", "alpha": 0.2, "budget": 40, **REMOVAL},
        ),
        (onkel.BOGDClassifier, {"loss": "log_loss", "budget": 40, "alpha": 0.01}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_five_thousand_updates_with_folds_and_balls(cls: Any, given: Any) -> None:
    task = "regression" if cls.__name__.endswith("Regressor") else "binary"
    X, y = data(task, seed=8, rows=LONG)
    y = y * 3 if task == "regression" else y
    probe = X[:20] + 0.01
    given = {**given, "gamma": 0.5, "random_state": 0}
    wanted = plain_mean(cls(**given), X, y, probe)
    exact = {"average_exact": True} if "budget" in given else {}
    model = cls(**given, average="full", **exact)
    model.partial_fit(X, y, **({} if task == "regression" else {"classes": [0, 1]}))
    assert model.n_updates_ == LONG
    predict = getattr(model, "decision_function", model.predict)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(predict(probe), wanted, rtol=0, atol=1e-9 * scale)


def test_closed_form_without_a_budget() -> None:
    # Each coefficient is -g_i/(alpha t) from its row on: harmonic numbers.
    X, y = data("binary", seed=9)
    alpha = 0.02
    model = onkel.KernelSGDClassifier(
        loss="log_loss", alpha=alpha, gamma=0.5, average="full", shuffle=False
    ).fit(X, y)
    last = onkel.KernelSGDClassifier(
        loss="log_loss", alpha=alpha, gamma=0.5, shuffle=False
    ).fit(X, y)
    raw = last.dual_coef_[0] * alpha * ROWS
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, ROWS))])
    wanted = raw / (alpha * ROWS) * (harmonic[-1] - harmonic)
    np.testing.assert_allclose(model.dual_coef_[0], wanted, rtol=1e-9, atol=1e-12)


def test_several_passes_count_all_rows() -> None:
    X, y = data("binary", seed=10)
    tiled, labels = np.tile(X, (3, 1)), np.tile(y, 3)
    for kind in KINDS:
        given = {"average": kind, "gamma": 0.5, "alpha": 0.01, "shuffle": False}
        thrice = onkel.AVMClassifier(**given, coverage_radius=0.5, max_iter=3)
        once = onkel.AVMClassifier(**given, coverage_radius=0.5)
        np.testing.assert_allclose(
            thrice.fit(X, y).dual_coef_, once.fit(tiled, labels).dual_coef_, rtol=1e-9
        )


def test_learning_does_not_depend_on_the_average() -> None:
    X, y = data("binary", seed=11)
    scores = [
        onkel.progressive(
            onkel.AVMClassifier(coverage_radius=0.5, gamma=0.5, average=average), X, y
        )
        for average in (None, "full", "poly")
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_labels_that_arrive_late_keep_the_mean() -> None:
    # While one label is known nothing is learnt, yet the rows count; a third label
    # splits the scores, and those of the iterates with them.
    X, y = data("multiclass", seed=12)
    y[:40] = 1
    y[40:90] = np.where(y[40:90] > 1, 2, 1)
    given = {"coverage_radius": 0.5, "gamma": 0.5, "alpha": 0.05}
    model = onkel.AVMClassifier(**given, average="full")
    iterate = onkel.AVMClassifier(**given)
    total = np.zeros((10, 4))
    for i in range(ROWS):
        if i > 0:
            scores = iterate.decision_function(X[:10])
            if scores.ndim == 1:
                scores = np.outer(scores, [-0.5, 0.5])
            total[:, iterate.classes_ if i > 40 else [0, 1]] += scores
        for one in (model, iterate):
            one.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(
        model.decision_function(X[:10]), total / ROWS, rtol=1e-9, atol=1e-9
    )
    assert math.isclose(model.t_, ROWS)
