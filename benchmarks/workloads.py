"""The data and the systems that the benchmarks share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

import onkel
from onkel.data.catalogue import load


class Workload(NamedTuple):
    """Rows to learn, and the settings that go with them."""

    name: str
    X: Any
    y: np.ndarray
    gamma: float
    budget: int


def shuffled(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def ijcnn1() -> Workload:
    X, y = shuffled(*load("ijcnn1"))
    return Workload("ijcnn1", X.toarray(), y, 2.0, 500)


def cod_rna() -> Workload:
    X, y = load("cod-rna")
    X = StandardScaler().fit_transform(X.toarray()).astype(np.float32)
    return Workload("cod-rna", *shuffled(X, y), 0.125, 500)


def covtype() -> Workload:
    X, y = load("covtype")
    X, y = X[:200_000].toarray(), y[:200_000]
    X = StandardScaler().fit_transform(X).astype(np.float32)
    return Workload("covtype", *shuffled(X, (y == 2).astype(int)), 1 / 54, 1000)


def a9a() -> Workload:
    return Workload("a9a (CSR)", *shuffled(*load("a9a")), 1 / 128, 1000)


def w8a() -> Workload:
    return Workload("w8a", *shuffled(*load("w8a")), 1 / 300, 1000)


def systems(work: Workload, n_jobs: int = 1) -> dict[str, Callable[[], Any]]:
    """Return constructors of the budgeted classifiers, with the issue's settings."""
    rows = len(work.y)
    common = {
        "budget": work.budget,
        "gamma": work.gamma,
        "n_jobs": n_jobs,
        "random_state": 0,
    }
    pegasos = {**common, "alpha": 1 / (32 * rows), "maintenance": "removal"}
    bogd = {**common, "eta0": 0.5, "alpha": 0.0, "max_coef": 4.0}
    return {
        "RBP": lambda: onkel.RBPClassifier(**common),
        "Forgetron": lambda: onkel.ForgetronClassifier(**common),
        "BOGD uniform": lambda: onkel.BOGDClassifier(**bogd),
        "BSGD removal": lambda: onkel.BSGDClassifier(**pegasos),
        "NBSGD removal": lambda: onkel.NBSGDClassifier(
            **pegasos, maintenance_rate=0.6 * rows
        ),
        "BOGD weighted": lambda: onkel.BOGDClassifier(**bogd, sampling="weighted"),
        "BPA-S": lambda: onkel.BPAClassifier(**common),
        "Budget Perceptron": lambda: onkel.BudgetPerceptronClassifier(**common),
    }


# Largest ratio of learning to predicting that we aim at; no aim for the last.
TARGETS = {
    "RBP": 1.5,
    "Forgetron": 1.5,
    "BOGD uniform": 1.5,
    "BSGD removal": 1.5,
    "NBSGD removal": 1.5,
    "BOGD weighted": 2.0,
    "BPA-S": 2.0,
}
