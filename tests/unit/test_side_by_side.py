"""Who learns side by side on a GPU, and what is said where there is none."""

import importlib.util
from typing import Any

import numpy as np
import pytest

from onkel import AVMClassifier, BSGDClassifier, BSGDRegressor, NBSGDClassifier
from onkel.refit.devices import NoGpuError
from onkel.tune import devices
from onkel.tune.pupils import RefusedError
from onkel.tune.sample import Sample
from onkel.tune.side_by_side import progressive
from onkel.tune.tune import Tuning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] * X[:, 1] > 0.0).astype(int)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (AVMClassifier(gamma=1.0, coverage_radius=0.5), "Cover"),
        (NBSGDClassifier(gamma=1.0, maintenance_rate=3.0), "grows"),
        (BSGDClassifier(gamma=1.0, maintenance="projection"), "Project"),
        (BSGDClassifier(gamma=1.0, average="full"), "average"),
        (BSGDClassifier(gamma=1.0, refit=True), "refit=True"),
        (BSGDRegressor(gamma=1.0, loss="squared_error"), "ball"),
    ],
)
def test_who_is_refused_is_told_why(model: Any, reason: str) -> None:
    with pytest.raises(RefusedError, match=f"{type(model).__name__}.*{reason}"):
        progressive([model], X, Y)


def test_a_system_without_a_grid_is_tried_by_the_processor_under_auto(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "WORTHWHILE", 0)
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    tuning = Tuning(Sample(X, Y, False), "avm", 0, {"gamma": 1.0})
    several = [{"coverage_radius": radius} for radius in (0.2, 0.4)]
    assert list(tuning.all_tried(several)) == list(map(tuning.tried, several))


def test_without_numba_cuda_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    tuning = Tuning(Sample(X, Y, False), "rbp", 0, {"budget": 5}, "cuda")
    with pytest.raises(NoGpuError, match=r'pip install "onkel\[gpu\]"'):
        list(tuning.all_tried([{"gamma": 1.0}]))


def test_a_gpu_that_fails_leaves_the_work_to_the_processor_under_auto(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.setattr(devices, "_find_gpu", lambda: None)

    def fail() -> None:
        raise OSError("CUDA_ERROR_OUT_OF_MEMORY")

    rows = devices.WORTHWHILE
    with pytest.warns(RuntimeWarning, match=r"failed.*The processor does the work"):
        assert devices.carry_out("auto", rows, lambda: devices.on_gpu(fail)) is None
    with pytest.raises(RuntimeError, match="smaller budget"):
        devices.carry_out("cuda", rows, lambda: devices.on_gpu(fail))


def test_a_device_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no device 'tpu'; there are auto, cpu, cuda"):
        devices.carry_out("tpu", 1, lambda: None)
