"""Forged files: whoever writes a right digest still cannot crash or hang a process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.estimators._machine_quick import Choice, Given
from onkel.estimators._machine_stream import Order
from onkel.refit.reservoir import Reservoir
from onkel.refit.soft_scaler import SoftScaler
from tests.contract.forging import FEATURES, content_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, FEATURES))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
three = np.digitize(X[:, 0], [-0.5, 0.5])
REDUCED: dict[str, Any] = {
    **{"gamma": 0.5, "budget": 12, "n_components": 20},
    **{"memory_size": 9, "snapshot_period": 13},
}


def never_maintained() -> Any:
    model = onkel.NBSGDClassifier(budget=5, gamma=0.5, maintenance_rate=60.0)
    model.set_params(maintenance="removal").partial_fit(X[:3], y[:3])
    budget = model._learner.budget
    model._learner.budget = budget._replace(limit=10**6, hard_limit=5)
    return model


def without_cores() -> Any:
    model = onkel.AVMClassifier(gamma=0.5, coverage_radius=1e-3, max_core=80)
    budget = model.partial_fit(X[:100], y[:100])._learner.budget
    budget.mark[:] = -1
    budget.counters[0].cores = 0
    return model


def without_tiles() -> Any:
    model = onkel.DualSVRGClassifier(**REDUCED).partial_fit(X[:50], y[:50])
    budget = model._learner.budget
    model._learner.budget = budget._replace(
        some=np.zeros((1, 1)), values=budget.values[:9].copy()
    )
    return model


def strange_class() -> Any:
    model = onkel.DualSVRGClassifier(**REDUCED).partial_fit(X[:50], three[:50])
    model._learner.budget.entries.y = 1e12
    return model


def another_average() -> Any:
    model = onkel.BSGDClassifier(gamma=0.5, budget=5, average="full").partial_fit(
        X[:50], y[:50]
    )
    whole = onkel.BSGDClassifier(
        gamma=0.5, budget=5, average="full", average_exact=True
    ).partial_fit(X[:50], y[:50])
    model._learner.model = model._learner.model._replace(
        average=whole._learner.model.average
    )
    return model


def endless_sum() -> Any:
    model = onkel.BSGDClassifier(gamma=0.5, budget=5, average="full")
    counters = model.partial_fit(X[:50], y[:50])._learner.model.average.counters
    counters.rows, counters.decay = 2**62, 2**61
    return model


def endless_power() -> Any:
    model = onkel.RBPClassifier(kernel="poly", degree=2, gamma=0.5)
    learner = model.partial_fit(X[:50], y[:50])._learner
    kernel = learner.plan.kernel._replace(degree=2**62)
    learner.plan = learner.plan._replace(kernel=kernel)
    return model


def no_limit() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model._learner.budget = model._learner.budget._replace(limit=0)
    return model


def strange_threads() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    return model.set_params(n_jobs={"a": 1})


def impossible_variance() -> Any:
    model = onkel.KRLSClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model._learner.budget.spread.values[0, 2, 2] = -1.0
    return model


def negative_norms() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model._learner.model.norms[:] = 1e30
    return model


def without_neighbours() -> Any:
    model = onkel.BPAClassifier(gamma=0.5, budget=5, variant="nn")
    model.partial_fit(X[:50], y[:50])._learner.model.cache.nearest[:] = -1
    return model


def huge_coefficients() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model._learner.model.coef[:] = -1e308
    return model


def far_center() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model._learner.model.points[0, 0] = 1e308
    return model


def strange_label() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=5).partial_fit(X[:50], y[:50])
    model.classes_ = np.array([0.0, np.inf])
    return model


def repeated_rows() -> Any:
    model = onkel.RBPClassifier(budget=5).partial_fit(X[:50], y[:50])
    kept = model._beginning.kept
    model._beginning = Reservoir(model._beginning.size)
    model._beginning.kept = kept * 300
    return model


# ---- machines in a stream: what is under way, and how they answer together -----------


def machine(**parts: Any) -> Any:
    """A kernel machine in a stream, of which some parts are others."""
    model = onkel.KernelClassifier(budget=12, gamma=0.5, C=1.0, memory_size=200)
    model.partial_fit(X, y)
    vars(model).update(parts)
    return model


def order(model: Any = None, **parts: Any) -> Any:
    """A machine with an order of which some parts are others."""
    model = machine() if model is None else model
    made = Order(False, model._recent.copy(), 7, model.t_ + 50)
    model._order = made._replace(**parts)
    return model


def successor(**parts: Any) -> Any:
    """A machine with a successor of which some parts are others."""
    model = machine()
    model._found_successor(model._choice, model.t_)
    model._successor = model._successor._replace(**parts)
    return model


def mixed(**parts: Any) -> Any:
    model = machine()
    model._mixture = model._mixture._replace(**parts)
    return model


def chosen(**given: Any) -> Any:
    model = machine()
    choice = model._choice
    model._choice = choice._replace(given=choice.given._replace(**given))
    return model


def recent(rows: Any, targets: Any, size: int = 200) -> Reservoir:
    kept = Reservoir(size)
    kept.kept = [(rows, targets, np.ones(len(targets)))]
    return kept


def of_another_size() -> Any:
    learner = machine()._quick_learner(Given(0.5), X, 1, 13)
    return successor(learner=learner)


def of_more_labels() -> Any:
    return successor(learner=machine()._quick_learner(Given(0.5), X, 3))


def of_another_kind() -> Any:
    model = onkel.RBPClassifier(gamma=0.5, budget=9).partial_fit(X, y)
    return successor(learner=model._learner)


def not_alike() -> np.ndarray:
    known = np.eye(4)
    known[0, 1] = 0.5
    return known


def wide_scaler() -> Any:
    return SoftScaler().fit(np.zeros((9, FEATURES + 1)))


UNDER_WAY: dict[str, tuple[Any, str]] = {
    "order of nothing": (lambda: machine(_order=3), "no order"),
    "order of another kind": (lambda: machine(_order=(True, 1, 2, 3)), "no order"),
    "trial or not": (lambda: order(is_trial=1), "no order"),
    "no seed": (lambda: order(seed=-1), "_order.seed"),
    "seed too large": (lambda: order(seed=2**32), "_order.seed"),
    "seed of text": (lambda: order(seed="x"), "_order.seed"),
    "no row when due": (lambda: order(due=1.5), "_order.due"),
    "due before": (lambda: order(due=-1), "_order.due"),
    "due never": (lambda: order(due=2**63), "_order.due"),
    "due or not": (lambda: order(due=True), "_order.due"),
    "order without rows": (lambda: order(recent=None), "_order.recent"),
    "order of no rows": (lambda: order(recent=Reservoir(200)), "_order.recent"),
    "order of more rows": (
        lambda: order(recent=recent(X, y.astype(float), 300)),
        "_order.recent is not of 200",
    ),
    "order of rows at once": (
        lambda: order(recent=recent(X, y.astype(float))),
        "_order.recent has rows without a target",
    ),
    "order of wider rows": (
        lambda: order(recent=recent(np.zeros((9, FEATURES + 1)), np.zeros(9))),
        "_order.recent has rows without its features",
    ),
    "order of infinite rows": (
        lambda: order(recent=recent(np.full((9, FEATURES), np.inf), np.zeros(9))),
        "_order.recent",
    ),
    "order of a strange class": (
        lambda: order(recent=recent(X[:9], np.full(9, 2.0))),
        "class that is none",
    ),
    "order of targets of text": (
        lambda: order(recent=recent(X[:9], np.full(9, "x"))),
        "target",
    ),
    "successor of nothing": (lambda: machine(_successor=3), "successor is none"),
    "successor that is an order": (
        lambda: machine(_successor=order()._order),
        "successor is none",
    ),
    "successor without a learner": (lambda: successor(learner=None), "quick learner"),
    "successor of another kind": (of_another_kind, "quick learners are none"),
    "successor of another size": (of_another_size, "budget of 13"),
    "successor of more labels": (of_more_labels, "Model|Posterior"),
    "successor without a choice": (lambda: successor(choice=None), "no choice"),
    "successor of the future": (lambda: successor(begun=301), "not kept"),
    "successor that began long ago": (lambda: successor(begun=1), "not kept"),
    "successor that starts before": (lambda: successor(start=-1), "_successor.start"),
    "successor that starts too soon": (lambda: successor(start=50), "not kept"),
    "successor that has more to learn": (lambda: successor(start=150), "could be kept"),
    "successor that starts at no row": (lambda: successor(start=1.5), "start"),
    "successor that starts at nan": (lambda: successor(begun=np.nan), "begun"),
    "mixture of nothing": (lambda: machine(_mixture=None), "no weights"),
    "mixture of numbers": (lambda: machine(_mixture=np.ones(4)), "no weights"),
    "weights too few": (lambda: mixed(weights=np.ones(3)), "no weights"),
    "weights of whole numbers": (lambda: mixed(weights=np.ones(4, int)), "no weights"),
    "infinite weights": (lambda: mixed(weights=np.full(4, np.inf)), "no weights"),
    "precision of less": (lambda: mixed(precision=np.eye(3)), "no weights"),
    "precision without numbers": (
        lambda: mixed(precision=np.full((4, 4), np.nan)),
        "no weights",
    ),
    "negative precision": (lambda: mixed(precision=-np.eye(4)), "no precision"),
    "no precision": (lambda: mixed(precision=np.ones((4, 4))), "no precision"),
    "precision of two ways": (lambda: mixed(precision=not_alike()), "no precision"),
    "nothing is largest": (lambda: mixed(largest=np.zeros(1)), "no largest"),
    "largest of several": (lambda: mixed(largest=np.ones(2)), "no weights"),
    "largest is no number": (lambda: mixed(largest=np.full(1, np.nan)), "no weights"),
    "choice of nothing": (lambda: machine(_choice=None), "no choice"),
    "choice of a number": (lambda: machine(_choice=0.5), "no choice"),
    "choice without parameters": (
        lambda: machine(_choice=Choice(None, (0.5, 0.1, 1.0, 1.0))),
        "no choice",
    ),
    "choice of a strange scale": (
        lambda: machine(_choice=Choice(3, Given(0.5))),
        "scaler",
    ),
    "choice of a wide scale": (
        lambda: machine(_choice=Choice(wide_scaler(), Given(0.5))),
        "mean_ is not of so many features",
    ),
    "no gamma": (lambda: chosen(gamma=0.0), "the gamma"),
    "negative gamma": (lambda: chosen(gamma=-1.0), "the gamma"),
    "gamma is no number": (lambda: chosen(gamma=np.nan), "the gamma"),
    "gamma of text": (lambda: chosen(gamma="auto"), "the gamma"),
    "infinite noise": (lambda: chosen(noise=np.inf), "the noise"),
    "memory that grows": (lambda: chosen(slow=1.5), "the slow"),
    "no memory": (lambda: chosen(fast=0.0), "the fast"),
}


@pytest.mark.parametrize(("forge", "says"), UNDER_WAY.values(), ids=UNDER_WAY)
def test_a_machine_with_nonsense_under_way_is_refused_by_name(
    forge: Any, says: str, tmp_path: Path
) -> None:
    onkel.save(forge(), tmp_path / "forged")
    with pytest.raises(onkel.ModelFileError, match=says):
        onkel.load(tmp_path / "forged")


@pytest.mark.parametrize("forge", [machine, order, successor])
def test_a_machine_with_something_under_way_is_a_machine(
    forge: Any, tmp_path: Path
) -> None:
    model = forge()
    onkel.save(model, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X, y)
    np.testing.assert_array_equal(
        loaded.decision_function(X), model.decision_function(X)
    )


def test_a_model_file_error_is_a_value_error() -> None:
    assert issubclass(onkel.ModelFileError, ValueError)


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (never_maintained, "Bernoulli.limit"),
        (without_cores, "Cover.mark"),
        (without_tiles, "Memory.values"),
        (impossible_variance, "Spread.values"),
        (strange_class, "Memory.entries.y"),
        (another_average, "Model.average is a Whole, no Mean"),
        (endless_sum, "counters.decay|counters.rows"),
        (endless_power, "Kernel.degree"),
        (no_limit, "Discard.limit"),
        (strange_threads, "n_jobs"),
        (negative_norms, "Model.norms"),
        (without_neighbours, "Nearest.nearest is no other centre"),
        (huge_coefficients, "Model.coef"),
        (far_center, "Model.points"),
        (strange_label, "classes_"),
        (repeated_rows, "_beginning has more rows"),
    ],
)
def test_a_model_that_nobody_learnt_is_refused_by_name(
    forge: Any, says: str, tmp_path: Path
) -> None:
    onkel.save(forge(), tmp_path / "forged")
    with pytest.raises(onkel.ModelFileError, match=says):
        onkel.load(tmp_path / "forged")


def test_a_full_table_of_cells_is_made_anew(tmp_path: Path) -> None:
    model = onkel.AVMClassifier(gamma=0.5, coverage_radius=1.0, coverage="grid")
    model.partial_fit(X[:50], y[:50])._learner.budget.table[:] = 0
    onkel.save(model, tmp_path / "forged")
    loaded = onkel.load(tmp_path / "forged").partial_fit(X[50:], y[50:])
    assert loaded.t_ == len(X)


def test_devices_and_endless_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(onkel.ModelFileError, match="no file"):
        onkel.load("/dev/zero")
    content = content_of("RBPClassifier", np.random.default_rng(0))
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"]["extra"] = "[" * 100_000
    text = json.dumps(header).encode()
    (tmp_path / "long").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(onkel.ModelFileError):
        onkel.load(tmp_path / "long")
    model = onkel.RBPClassifier(gamma=0.5, budget=[1] * 3_000_000)
    with pytest.raises(TypeError, match="parts"):
        onkel.save(model, tmp_path / "long")


NAMES = sorted(
    name
    for name in onkel.__all__
    if name.endswith(("Classifier", "Regressor", "Features"))
)


def test_forgeries_are_refused_or_work_like_models() -> None:
    # Plain Python sees every place outside of an array, where compiled code would not.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.contract.forging", *NAMES, "--count", "20"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [outcome["name"] for outcome in outcomes] == NAMES
    assert sum(outcome["refused"] for outcome in outcomes) > 10 * len(NAMES)
