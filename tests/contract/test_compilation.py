"""Compiled once, then loaded; and the same source runs as plain Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

LEARN = """
import numpy as np, scipy.sparse, sys, onkel
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
model = onkel.RBPClassifier(budget=10, gamma=0.5, random_state=0)
scores = [onkel.progressive(model, X, y)]
if sys.argv[2:]:
    sparse = scipy.sparse.csr_array(X)
    for system in (onkel.ForgetronClassifier, onkel.BSGDClassifier):
        model = system(budget=10, gamma=0.5, random_state=0)
        scores.append(onkel.progressive(model, sparse, y))
    for coverage in ("sphere", "box", "grid"):
        model = onkel.AVMClassifier(
            coverage=coverage, coverage_radius=0.8, gamma=0.5, approx_beta=2.0,
            max_core=9, average="poly", random_state=0,
        )
        scores.append(onkel.progressive(model, sparse, y))
        scores.append(model.decision_function(sparse))
np.save(sys.argv[1], np.concatenate(scores))
"""


def learn(target: Path, *arguments: str, **environment: str) -> np.ndarray:
    """Run LEARN in a new process and return its scores."""
    command = [sys.executable, "-c", LEARN, str(target), *arguments]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    return np.load(target)


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = learn(tmp_path / "first.npy", NUMBA_CACHE_DIR=str(cache))
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}
    second = learn(tmp_path / "second.npy", NUMBA_CACHE_DIR=str(cache))
    assert compiled
    after = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}
    assert after == compiled
    np.testing.assert_array_equal(first, second)


def test_plain_python_learns_the_same(tmp_path: Path) -> None:
    compiled = learn(tmp_path / "compiled.npy", "more")
    plain = learn(tmp_path / "plain.npy", "more", NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-9)
