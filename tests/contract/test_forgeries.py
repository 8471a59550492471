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
from onkel.refit.reservoir import Reservoir
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
