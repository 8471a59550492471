"""The same source runs as plain Python."""

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


def learn(target: Path, **environment: str) -> np.ndarray:
    """Run LEARN in a new process and return its scores."""
    command = [sys.executable, "-c", LEARN, str(target)]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    return np.load(target)


def test_plain_python_learns_the_same(tmp_path: Path) -> None:
    compiled = learn(tmp_path / "compiled.npy")
    plain = learn(tmp_path / "plain.npy", NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-9)
