"""The dual systems equal their oracle, whatever the block, precision or format."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize

import onkel
from tests import EVERYTHING
from tests.exact import bsca
from tests.exact.kernels import gram
from tests.exact.test_engine import SEED, TOLERANCE, agree, data, scores_of

ROWS, BUDGET, GAMMA = 120, 20, 0.5
CLASSES = {"binary": 2, "multiclass": 4, "regression": None}
# Projecting onto the nearest alone is the same to a dual as projecting onto all.
MAINTENANCE = ("merge", "projection", "removal", None)
if EVERYTHING:
    MAINTENANCE += ("projection_knn",)
CASES = [
    pytest.param(loss, task, maintenance, id=f"{loss}-{task}-{maintenance}")
    for loss, tasks in (
        ("hinge", ("binary", "multiclass")),
        ("squared_hinge", ("binary", "multiclass")),
        ("epsilon_insensitive", ("regression",)),
        ("squared_error", ("regression",)),
    )
    for task in tasks
    for maintenance in MAINTENANCE
]


def generators() -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence(SEED).spawn(3)]


def orders_of(selection: str, epochs: int) -> list[np.ndarray]:
    rng = generators()[0]
    if selection == "uniform":
        return [rng.integers(ROWS, size=ROWS) for _ in range(epochs)]
    return [rng.permutation(ROWS) for _ in range(epochs)]


def estimator(task: str, loss: str, maintenance: str | None, **parameters: Any) -> Any:
    cls = onkel.BSCARegressor if task == "regression" else onkel.BSCAClassifier
    given = {"C": 2.0, "gamma": GAMMA, "tol": 0.0, **parameters}
    budget = None if maintenance is None else BUDGET
    kept = {} if maintenance is None else {"maintenance": maintenance}
    return cls(loss=loss, budget=budget, random_state=SEED, **kept, **given)


def oracle(
    X: np.ndarray,
    y: np.ndarray,
    task: str,
    loss: str,
    maintenance: str | None,
    **more: Any,
) -> Any:
    orders = more.pop("orders", None)
    kept = {} if maintenance is None else {"maintenance": maintenance}
    budget = None if maintenance is None else BUDGET
    given = {"C": 2.0, "gamma": GAMMA, **kept, **more}
    return bsca.run(
        X, y, orders, n_classes=CLASSES[task], loss=loss, budget=budget, **given
    )


def scores(model: Any, X: Any) -> np.ndarray:
    """Scores of the last iterate, which the oracle knows; the answer is a mean."""
    learner = model._learner
    found = learner.score(X, coef=learner.last_coef)
    return found[:, 0] if found.shape[1] == 1 else found


def equal(model: Any, wanted: Any, X: np.ndarray, tolerance: float = 1e-6) -> None:
    agree(scores(model, X), scores_of(wanted, X), tolerance)
    largest = np.abs(wanted.dual).max()
    np.testing.assert_allclose(
        model.dual_variables_, wanted.dual, rtol=0, atol=tolerance * largest
    )
    # Without a budget the answer also has the centres that left during its mean.
    size = np.count_nonzero(model._learner.last_coef.any(axis=0))
    assert len(wanted.centers) == (model.model_size_ if model.budget else size)
    assert model.n_updates_ == wanted.n_updates
    assert model.n_maintenance_ == wanted.n_maintenance


@pytest.mark.parametrize("loss, task, maintenance", CASES)
def test_learning_equals_the_oracle(
    loss: str, task: str, maintenance: str | None
) -> None:
    X, y = data(task, rows=ROWS)
    wanted = oracle(X, y, task, loss, maintenance, orders=orders_of("permutation", 3))
    equal(estimator(task, loss, maintenance, max_iter=3).fit(X, y), wanted, X)


@pytest.mark.parametrize("task", CLASSES)
def test_merging_several_equals_the_oracle(task: str) -> None:
    X, y = data(task, rows=ROWS)
    loss = "squared_error" if task == "regression" else "hinge"
    orders = orders_of("permutation", 3)
    wanted = oracle(X, y, task, loss, "merge", orders=orders, n_merged=4)
    assert wanted.sizes[-ROWS:].min() < BUDGET - 1
    model = estimator(task, loss, "merge", max_iter=3, n_merged=4)
    equal(model.fit(X, y), wanted, X)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("task, epochs", [("binary", 4), ("regression", 3)])
def test_without_a_budget_the_mean_is_that_of_the_last_epoch(
    task: str, epochs: int, sparse: bool
) -> None:
    X, y = data(task, rows=ROWS)
    X, y = X[:30], y[:30]
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    rng = generators()[0]
    *early, last = (rng.permutation(len(y)) for _ in range(epochs))
    # Each iterate counts before its row is visited.
    iterates = [
        oracle(X, y, task, loss, None, orders=[*early, last[:seen]])
        for seen in range(len(y))
    ]
    wanted = np.mean([scores_of(one, X) for one in iterates], axis=0)
    rows = scipy.sparse.csr_array(X) if sparse else X
    model = estimator(task, loss, None, max_iter=epochs).fit(rows, y)
    answer = model.predict if task == "regression" else model.decision_function
    agree(answer(rows), wanted, 1e-6)
    # A row that left in the last epoch is in the answer.
    assert model.model_size_ > len(iterates[-1].centers)


@pytest.mark.parametrize("selection", ["uniform", "acf"])
@pytest.mark.parametrize("task", CLASSES)
def test_selections_equal_the_oracle(task: str, selection: str) -> None:
    X, y = data(task, rows=ROWS)
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    if selection == "acf":
        drawn = {"selection": "acf", "rng": generators()[0], "epochs": 4}
    else:
        drawn = {"orders": orders_of("uniform", 4)}
    wanted = oracle(X, y, task, loss, "merge", **drawn)
    model = estimator(task, loss, "merge", max_iter=4, selection=selection)
    equal(model.fit(X, y), wanted, X)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("task", CLASSES)
def test_block_precision_and_format_do_not_matter(
    task: str, dtype: Any, sparse: bool
) -> None:
    X, y = data(task, rows=ROWS, seed=1)
    X = X.astype(dtype)
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    wanted = oracle(
        X.astype(np.float64), y, task, loss, "merge", orders=orders_of("permutation", 2)
    )
    rows = scipy.sparse.csr_array(X) if sparse else X
    for block_size in (1, 7, 64, ROWS, "auto"):
        model = estimator(task, loss, "merge", max_iter=2, block_size=block_size)
        model.fit(rows, y)
        agree(scores(model, rows), scores_of(wanted, X), TOLERANCE[dtype])


def test_sample_weights_equal_the_oracle() -> None:
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], size=ROWS)
    for task, loss in (("binary", "hinge"), ("regression", "squared_error")):
        X, y = data(task, rows=ROWS, seed=3)
        orders = orders_of("permutation", 2)
        wanted = oracle(X, y, task, loss, "merge", orders=orders, sample_weight=weight)
        model = estimator(task, loss, "merge", max_iter=2)
        equal(model.fit(X, y, sample_weight=weight), wanted, X)
        assert (model.dual_variables_[:, weight == 0] == 0).all()


@pytest.mark.parametrize("budget", [None, BUDGET])
def test_more_epochs_continue_the_same_run(budget: int | None) -> None:
    X, y = data("binary", rows=ROWS)
    fixed = {"budget": budget, "gamma": GAMMA, "random_state": SEED, "tol": 0.0}
    short = onkel.BSCAClassifier(**fixed, max_iter=2, monitor=True).fit(X, y)
    long = onkel.BSCAClassifier(**fixed, max_iter=5, monitor=True).fit(X, y)
    for name in ("primal", "dual", "maintenance", "size"):
        assert short.history_[name] == long.history_[name][:2]


def test_the_mean_is_that_of_the_last_epochs_iterates() -> None:
    # Rows whose variable returns to 0 would leave, and their share with them.
    X, y = data("regression", rows=60)
    C, orders = 0.3, orders_of("permutation", 2)
    orders = [order[order < 60] for order in orders]
    first, last = orders
    iterates = [
        scores_of(
            bsca.run(
                X,
                y,
                [first, last[:k]],
                n_classes=None,
                loss="squared_error",
                C=C,
                gamma=GAMMA,
            ),
            X,
        )
        for k in range(len(last))
    ]

    class Told:
        """A generator that gives these orders."""

        def __init__(self) -> None:
            self.left = list(orders)

        def permutation(self, n: int) -> np.ndarray:
            return self.left.pop(0)

    model = onkel.BSCARegressor(
        loss="squared_error", C=C, gamma=GAMMA, budget=None, max_iter=2, tol=0.0
    )
    model._seeds = lambda: [Told(), np.random.default_rng(0), None]
    agree(model.fit(X, y).predict(X), np.mean(iterates, axis=0), 1e-10)


@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_error"]
)
def test_without_a_budget_the_limit_is_the_solution_of_the_programme(loss: str) -> None:
    """Two hundred points, the dual solved by L-BFGS-B, no bias."""
    task = "binary" if loss.endswith("hinge") else "regression"
    X, y = data(task, rows=200, seed=6)
    C, epsilon, gamma = 2.0, 0.1, 5.0
    K = gram(X, X, gamma=gamma)
    sign = np.where(y == 1, 1.0, -1.0) if task == "binary" else np.ones(200)
    target = np.ones(200) if task == "binary" else y
    Q = K * np.outer(sign, sign)
    squared = loss.startswith("squared")
    if squared:
        Q = Q + np.eye(200) / C
    # Residual losses: a = a+ - a-, both from 0 on.
    parts = [1.0] if task == "binary" else [1.0, -1.0]
    tube = epsilon if loss == "epsilon_insensitive" else 0.0

    def negative_dual(v: np.ndarray) -> tuple[float, np.ndarray]:
        pieces = v.reshape(len(parts), 200)
        a = np.array(parts) @ pieces
        g = target - Q @ a
        value = target @ a - a @ Q @ a / 2 - tube * pieces.sum()
        return -value, -np.concatenate([s * g - tube for s in parts])

    bounds = [(0, None if squared else C)] * (200 * len(parts))
    start = np.zeros(200 * len(parts))
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(
        negative_dual,
        start,
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options=options,
    )
    a = np.array(parts) @ best.x.reshape(len(parts), 200)
    cls = onkel.BSCAClassifier if task == "binary" else onkel.BSCARegressor
    model = cls(
        loss=loss,
        C=C,
        gamma=gamma,
        budget=None,
        max_iter=400,
        tol=0.0,
        monitor=True,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(scores(model, X), K @ (sign * a), atol=2e-4)
    dual = np.array(model.history_["dual"])
    assert (np.diff(dual) >= -1e-9 * np.abs(dual[1:])).all()
    assert dual[-1] == pytest.approx(-best.fun, rel=1e-6)
    assert model.history_["primal"][-1] == pytest.approx(dual[-1], rel=1e-4)
    if loss == "hinge":
        assert model.dual_variables_.min() >= 0 and model.dual_variables_.max() <= C
