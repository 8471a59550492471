"""Data on which Gram matrices are singular, or the unit matrix, or all ones."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

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
COVER = {"coverage_radius": 0.5, "alpha": 0.01}
REMOVAL = {"maintenance": "removal", "alpha": 0.01}
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
    **{
        f"AVM {coverage}": ("AVM", {"coverage": coverage, "approx_beta": 2.0, **COVER})
        for coverage in ("sphere", "box", "grid")
    },
    "AVM mean": ("AVM", {"average": "full", "max_iter": 2, **COVER}),
    "AVM suffix": ("AVM", {"average": "suffix", **COVER}),
    "BSGD mean": ("BSGD", {"average": "poly", **REMOVAL}),
    "BSGD exact mean": (
        "BSGD",
        {"average": "full", "average_exact": True, **REMOVAL},
    ),
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
    if "exact" in name and dtype is np.float32:
        pytest.skip("one precision is enough: means are kept in double")
    target = RNG.normal(size=ROWS)
    for y, kind in (
        (target > 0, "Classifier"),
        (np.arange(ROWS) % 4, "Classifier"),
        (target, "Regressor"),
    ):
        cls = getattr(onkel, system + kind)
        limit = {"max_core" if system == "AVM" else "budget": BUDGET}
        model = cls(**parameters, **limit, gamma=gamma, random_state=0)
        model.fit(X.astype(dtype), y)
        if system == "AVM":
            assert model.n_cores_ <= BUDGET
        elif "exact" not in name:
            assert model.model_size_ <= BUDGET
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.support_vectors_).all()
        assert np.isfinite(getattr(model, "decision_function", model.predict)(X)).all()


@pytest.mark.parametrize("coverage", ["sphere", "box", "grid"])
@pytest.mark.parametrize("data", DATA)
def test_degenerate_data_are_covered_like_any_other(data: str, coverage: str) -> None:
    X, gamma = DATA[data]
    y = np.arange(ROWS) % 2
    radius = 0.5
    model = onkel.AVMClassifier(
        coverage=coverage,
        coverage_radius=radius,
        gamma=gamma,
        lazy_core=False,
        random_state=0,
    ).fit(X, y)
    cores = model.support_vectors_
    far = cdist(X, cores)
    if coverage == "sphere":
        assert (far.min(axis=1) < radius).all()
        assert len(cores) == 1 or pdist(cores).min() >= radius
    elif coverage == "box":
        half_width = radius / np.sqrt(3)
        assert (cdist(X, cores, "chebyshev").min(axis=1) < half_width).all()
        assert len(cores) == 1 or pdist(cores, "chebyshev").min() >= half_width
    else:
        side = 2 * radius / np.sqrt(3)
        cells = np.unique(np.floor(X / side), axis=0)
        assert len(cores) == len(cells)
        assert (far.min(axis=1) <= 2 * radius).all()
