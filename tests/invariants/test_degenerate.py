"""Data on which Gram matrices are singular, or the unit matrix, or all ones."""

from typing import Any

import numpy as np
import pytest

import onkel

ROWS, BUDGET = 90, 8
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(ROWS, 3))

# Features and gamma.
DATA = {
    "duplicates": (np.repeat(POINTS[:6], ROWS // 6, axis=0), 0.5),
    "constant columns": (POINTS * [1.0, 0.0, 0.0] + [0.0, 7.0, 0.0], 0.5),
    "all points equal": (np.ones((ROWS, 3)), 0.5),
    "all values underflow": (1e3 * POINTS, 1e6),
    "all values are one": (POINTS, 1e-14),
    "numerically singular": (POINTS, 1e-4),
    "near duplicates": (POINTS[:3].repeat(ROWS // 3, axis=0) + 1e-9 * POINTS, 0.5),
    "far from the origin": (POINTS + 1e5, 0.5),
}
SYSTEMS = {
    **{
        f"BSGD {maintenance}": ("BSGD", {"maintenance": maintenance, "alpha": 0.01})
        for maintenance in ("merge", "projection", "projection_knn")
    },
    "BPA nn": ("BPA", {"variant": "nn"}),
    "BPA p": ("BPA", {"variant": "p"}),
    "Projectron": ("Projectron", {}),
    "Projectron 0": ("Projectron", {"projection_threshold": 0.0}),
    **{
        f"BSCA {maintenance}": ("BSCA", {"maintenance": maintenance, "max_iter": 3})
        for maintenance in ("merge", "projection", "projection_knn")
    },
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("data", DATA)
def test_degenerate_data_give_finite_models_within_the_budget(
    data: str, name: str, dtype: Any
) -> None:
    X, gamma = DATA[data]
    system, parameters = SYSTEMS[name]
    if system == "BSCA" and dtype is np.float32 and "merge" not in name:
        pytest.skip("the strategy is the same as BSGD's")
    target = RNG.normal(size=ROWS)
    for y, kind in (
        (target > 0, "Classifier"),
        (np.arange(ROWS) % 4, "Classifier"),
        (target, "Regressor"),
    ):
        cls = getattr(onkel, system + kind)
        model = cls(**parameters, budget=BUDGET, gamma=gamma, random_state=0)
        model.fit(X.astype(dtype), y)
        assert model.model_size_ <= BUDGET
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.support_vectors_).all()
        assert np.isfinite(getattr(model, "decision_function", model.predict)(X)).all()
