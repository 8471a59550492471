"""Every system with parameters that suit streams of a few hundred rows.

Budgets are small, so that every strategy is at work for most of a stream, and the
parameters are the same everywhere, so that few specialisations are compiled.
"""

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

import onkel
from tests import EVERYTHING

BUDGET = 12
FEATURES = 3
SEED = 7

PEGASOS = {"alpha": 0.01, "t0": 10.0}
CONSTANT = {"eta0": 0.4, "alpha": 0.05}
BOUNDED = {"budget": BUDGET}
# Any kernel can do it.
REMOVAL = {"maintenance": "removal"}
# Cells so large that some hundred rows share a dozen cores.
COVER = {"coverage_radius": 1.2}
FOURIER = {"n_components": 20}
TRACKED = {"noise": 0.1, "forgetting": 0.99}
REDUCED = {"eta0": 0.4, "alpha": 0.02, "memory_size": 9, "snapshot_period": 13}


class System(NamedTuple):
    """The name of a system and what it is made with."""

    name: str
    parameters: dict[str, Any]
    regressor: bool = False

    @property
    def cls(self) -> Any:
        return getattr(onkel, self.name)

    def make(self, **parameters: Any) -> Any:
        given = {"gamma": 0.5, "random_state": SEED, **self.parameters, **parameters}
        # Shares of the budget, unless somebody wants to see what happens.
        own = self.parameters.keys() - parameters.keys()
        for share in {"rank", "merge_size"} & own:
            given[share] = min(given[share], given["budget"])
        if given.get("kernel", "rbf") != "rbf" and self.accepts("maintenance"):
            # Merging, the default, is for rbf.
            given.setdefault("maintenance", "projection_knn")
        return self.cls(**given)

    def accepts(self, parameter: str) -> bool:
        return parameter in inspect.signature(self.cls).parameters

    @property
    def weighted(self) -> bool:
        return "sample_weight" in inspect.signature(self.cls.fit).parameters

    @property
    def bounded(self) -> bool:
        """Whether the size can never exceed the budget."""
        return "budget" in self.parameters and "maintenance_rate" not in self.parameters

    @property
    def projects(self) -> bool:
        """Whether a row may change the model without becoming a centre."""
        return self.name.startswith(("Projectron", "KRLS"))

    @property
    def merges(self) -> bool:
        """Whether centres may be other points than rows."""
        return self.accepts("maintenance") and "maintenance" not in self.parameters

    @property
    def covers(self) -> bool:
        """Whether a row may give its update to a centre that was there."""
        return self.name.startswith(("AVM", "QKLMS"))

    @property
    def explicit(self) -> bool:
        """Whether the model has explicit features besides centres, or instead."""
        return self.accepts("n_components")

    @property
    def spills(self) -> bool:
        """Whether several centres leave at a time."""
        return self.name.startswith("DualSGD")

    @property
    def everywhere(self) -> bool:
        """Whether an update changes more than the coefficients of a centre or two."""
        return self.name.startswith(("FOGD", "DualSVRG", "NOGD"))

    @property
    def averaged(self) -> bool:
        """Whether the answer is a mean of iterates."""
        return "average" in self.parameters


CLASSIFIERS = {
    "perceptron": System("KernelPerceptronClassifier", {}),
    "rbp": System("RBPClassifier", BOUNDED),
    "forgetron": System("ForgetronClassifier", BOUNDED),
    "budget-perceptron": System("BudgetPerceptronClassifier", BOUNDED),
    "bpa": System("BPAClassifier", {**BOUNDED, "C": 0.8}),
    "bpa-nn": System("BPAClassifier", {**BOUNDED, "C": 0.8, "variant": "nn"}),
    "bpa-p": System("BPAClassifier", {**BOUNDED, "C": 0.8, "variant": "p"}),
    "pa": System("BPAClassifier", {"budget": None, "C": 0.8}),
    "projectron": System("ProjectronClassifier", BOUNDED),
    "projectron++": System("ProjectronClassifier", {**BOUNDED, "aggressive": True}),
    "ogd": System("OGDClassifier", CONSTANT),
    "bogd": System("BOGDClassifier", {**BOUNDED, **CONSTANT}),
    "bogd++": System("BOGDClassifier", {**BOUNDED, **CONSTANT, "sampling": "weighted"}),
    "norma": System("NORMAClassifier", {**BOUNDED, **CONSTANT}),
    "sgd": System("KernelSGDClassifier", PEGASOS),
    "bsgd": System("BSGDClassifier", {**BOUNDED, **PEGASOS}),
    "bsgd-ball": System(
        "BSGDClassifier", {**BOUNDED, **PEGASOS, **REMOVAL, "ball": True}
    ),
    "bsgd-knn": System(
        "BSGDClassifier", {**BOUNDED, **PEGASOS, "maintenance": "projection_knn"}
    ),
    "bsgd-projection": System(
        "BSGDClassifier", {**BOUNDED, **PEGASOS, "maintenance": "projection"}
    ),
    "bsgd-mean": System(
        "BSGDClassifier", {**BOUNDED, **PEGASOS, **REMOVAL, "average": "poly"}
    ),
    "nbsgd": System(
        "NBSGDClassifier", {**BOUNDED, **PEGASOS, **REMOVAL, "maintenance_rate": 60.0}
    ),
    "avm": System(
        "AVMClassifier", {**PEGASOS, **COVER, "approx_beta": 3.0, "approx_rho": 0.7}
    ),
    "fogd": System("FOGDClassifier", {**CONSTANT, **FOURIER}),
    "krls": System("KRLSClassifier", {**BOUNDED, **TRACKED}),
    "nogd": System("NOGDClassifier", {**BOUNDED, **CONSTANT, "rank": 5}),
    "dual-sgd": System(
        "DualSGDClassifier", {**BOUNDED, **PEGASOS, **FOURIER, "merge_size": 4}
    ),
    "dual-svrg": System("DualSVRGClassifier", {**BOUNDED, **REDUCED, **FOURIER}),
    "dual-svrg-c": System(
        "DualSVRGClassifier",
        {**REDUCED, **FOURIER, **COVER, "oracle": "coverage"},
    ),
}

REGRESSORS = {
    "perceptron-r": System("KernelPerceptronRegressor", {"eta0": 0.3}, True),
    "rbp-r": System("RBPRegressor", {**BOUNDED, "eta0": 0.3}, True),
    "forgetron-r": System("ForgetronRegressor", {**BOUNDED, "eta0": 0.3}, True),
    "bpa-r": System("BPARegressor", {**BOUNDED, "C": 0.8}, True),
    "ogd-r": System("OGDRegressor", CONSTANT, True),
    "bogd-r": System("BOGDRegressor", {**BOUNDED, **CONSTANT}, True),
    "bogd++-r": System(
        "BOGDRegressor", {**BOUNDED, **CONSTANT, "sampling": "weighted"}, True
    ),
    "sgd-r": System("KernelSGDRegressor", PEGASOS, True),
    "bsgd-r": System(
        "BSGDRegressor", {**BOUNDED, **PEGASOS, "loss": "squared_error"}, True
    ),
    "nbsgd-r": System(
        "NBSGDRegressor",
        {**BOUNDED, **PEGASOS, **REMOVAL, "maintenance_rate": 60.0},
        True,
    ),
    "projectron-r": System("ProjectronRegressor", {**BOUNDED, "eta0": 0.3}, True),
    "avm-r": System(
        "AVMRegressor",
        {**PEGASOS, **COVER, "max_core": BUDGET, "average": "poly"},
        True,
    ),
    "qklms-r": System(
        "QKLMSRegressor", {**COVER, "eta0": 0.3, "max_core": BUDGET}, True
    ),
    "fogd-r": System("FOGDRegressor", {**CONSTANT, **FOURIER}, True),
    "krls-r": System("KRLSRegressor", {**BOUNDED, **TRACKED}, True),
    "nogd-r": System("NOGDRegressor", {**BOUNDED, **CONSTANT}, True),
    "dual-sgd-r": System(
        "DualSGDRegressor", {**BOUNDED, **PEGASOS, **FOURIER, "merge_size": 4}, True
    ),
    "dual-svrg-r": System(
        "DualSVRGRegressor", {**REDUCED, **FOURIER, "oracle": "always_move"}, True
    ),
}

SYSTEMS = CLASSIFIERS | REGRESSORS
# Systems whose continuation depends on the state of a generator.
RANDOM = ("rbp", "bogd", "bogd++", "nbsgd", "avm", "rbp-r", "bogd-r", "nbsgd-r")
COUNTERS = (
    *("t_", "n_updates_", "n_maintenance_", "n_mistakes_", "n_iter_"),
    *("model_size_", "n_cores_", "n_absorbed_", "phase_"),
)


def each(names: Iterable[str]) -> Any:
    """Parametrize a test over systems."""
    return pytest.mark.parametrize(
        "system", [pytest.param(SYSTEMS[name], id=name) for name in names]
    )


# What is compiled for single precision is compiled for it alone. It reaches points,
# caches and means, each of which is there without these; strategies see values only.
IN_DOUBLE_ALONE = ("bogd++", "bogd++-r", "bsgd-ball", "bsgd-mean", "bsgd-r")


def precisions(name: str) -> list[Any]:
    """Return in which precisions a system learns in the quick whole."""
    both = EVERYTHING or name not in IN_DOUBLE_ALONE
    return [np.float64, np.float32] if both else [np.float64]


def each_in_its_precisions(names: Iterable[str]) -> Any:
    """Parametrize a test over systems and precisions."""
    return pytest.mark.parametrize(
        "system, dtype",
        [
            pytest.param(SYSTEMS[name], dtype, id=f"{dtype.__name__}-{name}")
            for name in names
            for dtype in precisions(name)
        ],
    )


def rows(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features, a third of them zero, and a noisy function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, FEATURES)) * (rng.random((count, FEATURES)) < 0.7)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=count)
    return X, f


def data(system: System, count: int, seed: int = 0, classes: int = 2) -> Any:
    """Features, and targets or labels 0, 1, ... for them."""
    X, f = rows(count, seed)
    if system.regressor:
        return X, f
    edges = np.quantile(f, np.arange(1, classes) / classes)
    return X, np.digitize(f, edges)


def scores(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def weights(model: Any) -> np.ndarray:
    """Coefficients of explicit features, where there are any."""
    return getattr(model, "feature_coef_", np.zeros((0, 0)))


def draws(model: Any) -> np.random.Generator:
    """Return the generator of a model that learns from a stream."""
    return model._draws if hasattr(model, "_draws") else model._learner.rng


def goes_on_alike(model: Any, twin: Any, X: Any, y: Any) -> None:
    """Two models learn further rows to the same bits: nothing that matters differs."""
    assert model.t_ == twin.t_
    np.testing.assert_array_equal(model.dual_coef_, twin.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, twin.support_vectors_)
    np.testing.assert_array_equal(weights(model), weights(twin))
    np.testing.assert_array_equal(
        onkel.progressive(model, X, y), onkel.progressive(twin, X, y)
    )
    np.testing.assert_array_equal(model.dual_coef_, twin.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, twin.support_vectors_)
    np.testing.assert_array_equal(weights(model), weights(twin))
    for counter in COUNTERS:
        assert getattr(model, counter, None) == getattr(twin, counter, None)
    # Also the draws still to come.
    assert draws(model).random() == draws(twin).random()
