"""Systems with explicit features equal their oracles, given the same frequencies.

The oracles store what the systems only keep sums of: DualSVRG's memory and models.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import onkel
from onkel.engine import threads
from tests import EVERYTHING
from tests.exact import dual_sgd, dual_svrg, fogd, nogd
from tests.exact.averaging import Average
from tests.exact.test_engine import (
    CONSTANT,
    LOSSES,
    PEGASOS,
    ROWS,
    SEED,
    TOLERANCE,
    System,
    agree,
    data,
    labels_of,
    learn,
    oracle,
    with_few_losses,
)

INPUTS, COMPONENTS, BUDGET = 5, 40, 20
DUAL = {"budget": BUDGET, "merge_size": 7}
REDUCED = {"alpha": 0.02, "eta0": 0.4, "memory_size": 13, "snapshot_period": 17}
ORACLES: dict[str, dict[str, Any]] = {
    "budget": {"oracle": "budget", "budget": BUDGET},
    "coverage": {"oracle": "coverage", "coverage_radius": 1.0},
    "eager": {"oracle": "coverage", "coverage_radius": 1.0, "lazy_core": False},
    "capped": {"oracle": "coverage", "coverage_radius": 0.7, "max_core": 9},
    "always-move": {"oracle": "always_move"},
    "no-reset": {"oracle": "budget", "budget": BUDGET, "reset": False},
}
SMOOTH = ("smooth_hinge", "squared_error", "log_loss", "squared_hinge")


def frequencies(kernel: str = "rbf", gamma: float = 0.5) -> np.ndarray:
    """Draw what a model with this seed draws (contract 14 and 24)."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED).spawn(3)[2])
    shape = COMPONENTS // 2, INPUTS
    if kernel == "laplacian":
        return gamma * rng.standard_cauchy(shape)
    return math.sqrt(2 * gamma) * rng.standard_normal(shape)


def feature_map(omega: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def features(x: np.ndarray) -> np.ndarray:
        angles = omega @ x
        return np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(len(omega))

    return features


def identity(x: np.ndarray) -> np.ndarray:
    return x


class Featured(System):
    """A system whose oracle is given the features that the estimator draws."""

    def estimator(self, task: str, **parameters: Any) -> Any:
        if self.name != "NOGD":
            parameters["n_components"] = COMPONENTS
        return super().estimator(task, **parameters)

    def run(self, X: Any, y: Any, task: str, **parameters: Any) -> Any:
        kernel, gamma = parameters.get("kernel", "rbf"), parameters.get("gamma", 0.5)
        precision = parameters.pop("precision", np.float64)
        if self.name != "NOGD" and "features" not in parameters:
            omega = frequencies(kernel, gamma).astype(precision).astype(np.float64)
            linear = kernel == "linear"
            parameters["features"] = identity if linear else feature_map(omega)
        return super().run(X, y, task, **parameters)


def systems() -> Iterator[Any]:
    for loss, tasks in LOSSES:
        given = {"loss": loss}
        for schedule in ("constant", "invscaling"):
            rate = {**given, **CONSTANT, "learning_rate": schedule, "power_t": 0.4}
            yield Featured("FOGD", fogd.run, rate, tasks=tasks), schedule
        for rank in (6, BUDGET):
            rate = {**given, **CONSTANT, "budget": BUDGET, "rank": rank}
            yield Featured("NOGD", nogd.run, rate, tasks=tasks), f"rank{rank}"
        dual = {**given, **PEGASOS, **DUAL}
        yield Featured("DualSGD", dual_sgd.run, dual, tasks=tasks), ""
        one = {**dual, "merge_size": 1, "budget": 8}
        yield Featured("DualSGD", dual_sgd.run, one, tasks=tasks), "one"
        for name, choice in ORACLES.items():
            # The losses differ in a slope only.
            if loss in SMOOTH[:2] or (loss in SMOOTH and name == "coverage"):
                reduced = {**given, **REDUCED, **choice}
                system = Featured("DualSVRG", dual_svrg.run, reduced, tasks=tasks)
                yield system, name


def cases() -> Iterator[Any]:
    for system, variant in systems():
        for task in system.tasks:
            loss = system.parameters["loss"]
            name = "-".join(str(p) for p in (system.name, loss, variant, task) if p)
            yield pytest.param(system, task, id=name)


CASES = list(cases())
FEW_LOSSES = with_few_losses(CASES, ("hinge", *SMOOTH[:2]), "FOGD")


def kernel_part(X: np.ndarray, centers: np.ndarray, coef: np.ndarray) -> np.ndarray:
    squared = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squared) @ coef.T


def expressed(X: np.ndarray) -> np.ndarray:
    return np.array([feature_map(frequencies())(x) for x in X])


def final_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Scores under the last model, by the formula that users are promised."""
    scores = kernel_part(X, model.support_vectors_, model.dual_coef_)
    if not hasattr(model, "phase_"):
        np.testing.assert_allclose(model.frequencies_, frequencies())
        scores = scores + expressed(X) @ model.feature_coef_.T
    predict = getattr(model, "decision_function", model.predict)
    np.testing.assert_allclose(predict(X), scores.squeeze(), rtol=1e-7, atol=1e-7)
    return scores.squeeze()


def scores_of(result: Any, X: np.ndarray, mean: bool = False) -> np.ndarray:
    centers = result.mean_centers if mean else result.centers
    scores = kernel_part(X, centers, result.mean_coef if mean else result.coef)
    if hasattr(result, "feature_coef"):
        return scores + expressed(X) @ result.feature_coef.T
    if hasattr(result, "switched"):
        return scores
    return scores + expressed(X) @ (result.mean_w if mean else result.w)


@pytest.mark.parametrize("system, task", CASES)
def test_learning_equals_the_oracle(system: System, task: str) -> None:
    X, y = data(task)
    wanted = oracle(system, task, gamma=0.5, precision=np.float64)
    model = system.estimator(task, gamma=0.5)
    agree(learn(model, X, y, task, []), wanted.scores, 1e-8)
    assert model.model_size_ == len(wanted.centers) == wanted.sizes[-1]
    assert model.n_updates_ == wanted.n_updates
    assert model.n_maintenance_ == wanted.n_maintenance
    assert model.t_ == ROWS
    if task != "regression":
        assert model.n_mistakes_ == wanted.n_errors
    agree(final_scores(model, X), scores_of(wanted, X), 1e-8)
    if system.name == "NOGD":
        assert model.phase_ == 2


# Single precision and CSR meet for some only.
IN_ALL_FORMATS = ("FOGD-hinge-constant", "DualSVRG-log_loss-coverage")


def precisions() -> Iterator[Any]:
    for case in FEW_LOSSES:
        for dtype in (np.float64, np.float32):
            forms = [np.asarray, scipy.sparse.csr_array]
            some = EVERYTHING or str(case.id).startswith(IN_ALL_FORMATS)
            if dtype is np.float32 and not some:
                forms = forms[:1]
            name = f"{case.id}-{dtype.__name__}"
            yield pytest.param(*case.values, dtype, forms, id=name)


@pytest.mark.parametrize("system, task, dtype, forms", list(precisions()))
def test_block_chunks_precision_and_format_do_not_matter(
    system: System, task: str, dtype: Any, forms: list[Callable]
) -> None:
    X, y = data(task)
    X = X.astype(dtype)
    # float32 rounds the frequencies, and so must the oracle's.
    wanted = oracle(system, task, gamma=0.5, precision=dtype).scores
    for form, (block_size, chunks) in itertools.product(
        forms,
        (
            (1, []),
            (7, [1, 2, 50, 51]),
            (ROWS, []),
            ("auto", range(10, ROWS, 10)),
        ),
    ):
        model = system.estimator(task, gamma=0.5, block_size=block_size)
        agree(learn(model, form(X), y, task, chunks), wanted, TOLERANCE[dtype])


SOME = [
    case
    for case in CASES
    if str(case.id).startswith(
        (
            *("FOGD-hinge-constant", "NOGD-hinge-rank20", "DualSGD-hinge-b"),
            *("DualSGD-hinge-m", "DualSVRG-smooth_hinge-coverage"),
        )
    )
]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", ["laplacian", "poly", "linear"])
@pytest.mark.parametrize("system, task", SOME)
def test_every_kernel_equals_the_oracle(
    system: System, task: str, kernel: str, sparse: bool
) -> None:
    X, y = data(task, seed=2)
    shape: dict[str, Any] = {"kernel": kernel, "gamma": 0.3}
    if system.name == "NOGD":
        shape |= {"degree": 2, "coef0": 0.5, "eta0": 0.1}
    elif kernel == "poly":
        pytest.skip("poly has no Fourier features")
    wanted = oracle(system, task, seed=2, **shape).scores
    model = system.estimator(task, **shape, block_size=16)
    if sparse:
        X = scipy.sparse.csr_matrix(X)
    agree(learn(model, X, y, task, [70]), wanted, 1e-6)
    other = X.toarray() if sparse else scipy.sparse.csr_array(X)
    predict = getattr(model, "decision_function", model.predict)
    np.testing.assert_allclose(predict(X), predict(other), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "system, task",
    [case for case in FEW_LOSSES if "invscaling" not in str(case.id)],
)
def test_sample_weights_equal_the_oracle(system: System, task: str) -> None:
    X, y = data(task, seed=3)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], size=ROWS)
    wanted = system.run(X, y, task, gamma=0.5, sample_weight=weight)
    model = system.estimator(task, gamma=0.5)
    if task == "regression":
        model.partial_fit(X, y, sample_weight=weight)
    else:
        model.partial_fit(X, y, classes=labels_of(task), sample_weight=weight)
    assert model.n_updates_ == wanted.n_updates
    agree(final_scores(model, X), scores_of(wanted, X), 1e-7)


@pytest.mark.parametrize("kind", ["full", "suffix", "poly"])
@pytest.mark.parametrize(
    "system, task",
    [
        case
        for case in CASES
        if case.values[0].name in ("FOGD", "NOGD", "DualSGD")
        and case.values[0].parameters["loss"] in ("log_loss", "absolute_error")
    ],
)
def test_averages_equal_the_oracle(system: System, task: str, kind: str) -> None:
    X, y = data(task, seed=6)
    average = Average(kind, suffix_fraction=0.4)
    wanted = system.run(X, y, task, gamma=0.5, average=average)
    model = system.estimator(
        *(task,), average=kind, suffix_fraction=0.4, gamma=0.5, shuffle=False
    )
    model.fit(X, y)
    agree(final_scores(model, X), scores_of(wanted, X, mean=True), 1e-7)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_with_exact_features_all_oracles_of_dual_svrg_agree(task: str) -> None:
    X, y = data(task, seed=7)
    loss = "squared_error" if task == "regression" else "log_loss"
    given = {**REDUCED, "loss": loss, "eta0": 0.05, "kernel": "linear"}
    found = []
    for choice in ORACLES.values():
        if "reset" in choice:
            continue  # another algorithm
        system = Featured("DualSVRG", dual_svrg.run, {**given, **choice})
        found.append(learn(system.estimator(task), X, y, task, [100]))
    for scores in found[1:]:
        np.testing.assert_allclose(scores, found[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_with_exact_features_dual_sgd_is_sgd_whatever_moves(task: str) -> None:
    X, y = data(task, seed=7)
    kind = "Regressor" if task == "regression" else "Classifier"
    parent = getattr(onkel, f"KernelSGD{kind}")(**PEGASOS, kernel="linear")
    wanted = learn(parent, X, y, task, [])
    for budget, merge_size in ((1, 1), (8, 3), (20, 20)):
        dual = {**PEGASOS, "budget": budget, "merge_size": merge_size}
        model = getattr(onkel, f"DualSGD{kind}")(**dual, kernel="linear")
        np.testing.assert_allclose(
            learn(model, X, y, task, []), wanted, rtol=1e-9, atol=1e-9
        )
        assert model.model_size_ <= budget


@pytest.mark.parametrize("oracle", ["budget", "coverage", "always-move"])
def test_the_checkpoint_is_the_mean_of_the_last_models(oracle: str) -> None:
    X, y = data("binary", seed=8)
    probe, period = data("binary", seed=9)[0], 25
    given = {**REDUCED, **ORACLES[oracle], "n_components": COMPONENTS, "gamma": 0.5}
    model = onkel.DualSVRGClassifier(**{**given, "snapshot_period": period})
    # Until the first checkpoint it does the same, and it never comes to one.
    twin = onkel.DualSVRGClassifier(**{**given, "snapshot_period": ROWS})
    model.set_params(random_state=SEED)
    twin.set_params(random_state=SEED)
    scores = []
    for t in range(period):
        twin.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        scores.append(twin.decision_function(probe))
    model.partial_fit(X[:period], y[:period], classes=[0, 1])
    np.testing.assert_allclose(
        model.decision_function(probe), np.mean(scores, axis=0), rtol=1e-10, atol=1e-13
    )
    size = model._learner.counters.count
    np.testing.assert_array_equal(
        model._learner.budget.checkpoint[:, :size], model._learner.model.coef[:, :size]
    )


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_nogd_of_full_rank_changes_no_score_at_the_switch(task: str) -> None:
    X, y = data(task, seed=10)
    probe = data(task, seed=11)[0]
    kind = "Regressor" if task == "regression" else "Classifier"
    model = getattr(onkel, f"NOGD{kind}")(budget=BUDGET, rank=BUDGET, gamma=0.5)
    predict = model.predict if task == "regression" else model.decision_function
    t = 0
    classes = {} if task == "regression" else {"classes": labels_of(task)}
    while not hasattr(model, "t_") or model.phase_ == 1:
        before = predict(probe) if t else None
        model.partial_fit(X[t : t + 1], y[t : t + 1], **classes)
        t += 1
    # What the switch changes is no more than the update that came with it.
    update = predict(probe) - before
    features = model._learner.model.mapping.matrix
    squared = ((probe[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2)
    own = ((X[t - 1] - model.support_vectors_) ** 2).sum(axis=1)
    z_probe, z = np.exp(-0.5 * squared) @ features, np.exp(-0.5 * own) @ features
    expected = z_probe @ z
    update = update.reshape(len(probe), -1)
    factor = update[np.abs(expected).argmax()] / expected[np.abs(expected).argmax()]
    np.testing.assert_allclose(update, np.outer(expected, factor), atol=1e-8)
    assert np.abs(factor).max() <= 0.5 + 1e-8


def test_threads_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTHWHILE", 0)
    X, y = data("binary", rows=1000)
    for cls, given in (
        (onkel.FOGDClassifier, {"n_components": COMPONENTS}),
        (onkel.NOGDClassifier, {"budget": BUDGET}),
        (onkel.DualSVRGClassifier, {"n_components": COMPONENTS, "eta0": 0.3}),
    ):
        one = cls(**given, gamma=0.5, random_state=0, n_jobs=1)
        two = cls(**given, gamma=0.5, random_state=0, n_jobs=2)
        np.testing.assert_allclose(
            *(onkel.progressive(one, X, y), onkel.progressive(two, X, y)),
            rtol=1e-9,
            atol=1e-12,
        )
        np.testing.assert_allclose(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("memory", [1, 3, 7])
@pytest.mark.parametrize("loss", ["smooth_hinge", "log_loss"])
@pytest.mark.parametrize("cores", [0, BUDGET])
def test_with_a_period_of_one_dual_svrg_is_descent_on_its_memory(
    cores: int, loss: str, memory: int
) -> None:
    """The checkpoint is the model: w <- (w - eta mean_i g_i(w)) / (1 + eta alpha)."""
    X, y = data("binary", seed=11)
    eta, alpha, smoothing = 0.7, 0.05, 0.4
    squared = ((X[:, None] - X[None, :cores]) ** 2).sum(axis=2)
    values = np.hstack([np.exp(-0.5 * squared), expressed(X)])  # what w multiplies
    moves = np.hstack([np.eye(ROWS, cores), expressed(X)])  # what a row adds to w
    moves[:cores, cores:] = 0.0
    signs, w, scores = np.where(y == 1, 1.0, -1.0), np.zeros(cores + COMPONENTS), []
    for t in range(ROWS):
        scores.append(values[t] @ w)
        kept = slice(max(0, t + 1 - memory), t + 1)
        margins = signs[kept] * (values[kept] @ w)
        slopes = -1.0 / (1.0 + np.exp(margins))
        if loss == "smooth_hinge":
            slopes = -np.clip((1.0 - margins) / smoothing, 0.0, 1.0)
        gradient = (signs[kept] * slopes) @ moves[kept] / len(margins)
        w = (w - eta * gradient) / (1.0 + eta * alpha)
    model = onkel.DualSVRGClassifier(
        **{"loss": loss, "smoothing": smoothing, "eta0": eta, "alpha": alpha},
        **{"snapshot_period": 1, "memory_size": memory, "n_components": COMPONENTS},
        **{"oracle": "budget" if cores else "always_move", "budget": BUDGET},
        **{"gamma": 0.5, "random_state": SEED},
    )
    found = onkel.progressive(model, X, y, classes=[0, 1])
    assert model.model_size_ == cores
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), values @ w, atol=1e-9)
