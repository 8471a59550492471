"""Are models the same as before, bit for bit? For changes that must not change them.

    python -m tests.same_models write FOLDER      with the code before
    python -m tests.same_models compare FOLDER    with the code after

Every estimator, in its variants, learns fixed rows: classes, values, sparse, float32, a
stream in chunks. `write` keeps its file and the hash of what it shows; `compare` learns
anew, and also loads the file of before and goes on with it.
"""

import hashlib
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

import onkel
from onkel.estimators._registry import systems

ROWS, FIRST = 600, 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 5))
TWO = (X[:, 0] * X[:, 1] > 0).astype(int)
THREE = (X[:, 0] * 2).astype(int) % 3
VALUES = np.sin(X[:, 0]) + 0.1 * X[:, 1]
CUTS = [0, 1, 8, 120, 121, FIRST]
# How rows come: whether in a stream, in what form.
WAYS = {
    "fit": (False, X),
    "three": (False, X),
    "sparse": (False, scipy.sparse.csr_matrix(X)),
    "float32": (False, X.astype(np.float32)),
    "stream": (True, X),
    "stream-sparse32": (True, scipy.sparse.csr_matrix(X.astype(np.float32))),
}
SMALL: dict[str, Any] = {
    "budget": 20,
    "gamma": 0.5,
    "random_state": 0,
    "n_components": 20,
    "snapshot_period": 13,
    "coverage_radius": 1.0,
}
# Values of a parameter that are other code, not only other numbers.
OTHERS: dict[str, list[dict[str, Any]]] = {
    "average": [{"average": "full"}, {"average": "poly"}],
    "average_exact": [{"average": "poly", "average_exact": True}],
    "maintenance": [
        {"maintenance": name} for name in ("projection", "projection_knn", "removal")
    ],
    "coverage": [
        {"coverage": "grid"},
        {"coverage": "box", "max_core": 10},
        {"coverage_radius": "auto"},
    ],
    "oracle": [{"oracle": "coverage"}, {"oracle": "always_move"}],
    "variant": [{"variant": "nn"}, {"variant": "p"}],
    "sampling": [{"sampling": "weighted"}],
    "aggressive": [{"aggressive": True}],
    "ball": [{"ball": True}],
    "refit": [{"refit": True}],
    "monitor": [{"monitor": True}],
    "learning_rate": [{"learning_rate": "invscaling"}],
    "selection": [{"selection": "acf"}, {"selection": "uniform"}],
    "landmarks": [{"landmarks": "uniform"}],
    "features": [{"features": "orthogonal"}],
    "max_iter": [{"max_iter": 3}],
    "kernel": [{"kernel": name} for name in ("laplacian", "poly", "linear")],
    "loss": [{"loss": name} for name in ("log_loss", "smooth_hinge", "huber")],
    "gamma": [{"gamma": "scale"}, {"gamma": "median"}],
}
SHOWN = (
    *("support_vectors_", "dual_coef_", "feature_coef_", "model_size_", "classes_"),
    *("t_", "n_updates_", "n_maintenance_", "n_absorbed_", "n_iter_", "calibration_"),
)


def models() -> Iterator[tuple[str, Any]]:
    """Yield every estimator, unfitted, with its variants, under a name."""
    for name, cls in systems().items():
        known = cls().get_params()
        small = SMALL | {"memory_size": 300 if name.startswith("KernelC") else 9}
        small = {key: value for key, value in small.items() if key in known}
        others = [other for key in known for other in OTHERS.get(key, [])]
        for number, other in enumerate([{}, *others]):
            yield f"{name}-{number}", cls(**small | other)


def digest(shown: dict[str, Any]) -> str:
    """Hash arrays and numbers, bit for bit."""
    total = hashlib.sha256()
    for key, value in sorted(shown.items()):
        array = np.asarray(value)
        total.update(f"{key} {array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def shown_by(model: Any, rows: Any) -> dict[str, Any]:
    """Return what a fitted model shows to the world."""
    if not hasattr(model, "predict"):
        return {"transform": model.transform(rows)}
    shown = {name: getattr(model, name) for name in SHOWN if hasattr(model, name)}
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            shown[method] = getattr(model, method)(rows)
    return shown


def learnt(name: str, model: Any, way: str) -> str:
    """Let a model learn in one way; return its hash, or that there is none."""
    is_stream, rows = WAYS[way]
    y = targets(name, way)
    if is_stream and not hasattr(model, "partial_fit"):
        return "no stream"
    try:
        if is_stream:
            known = (
                {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
            )
            for start, stop in itertools.pairwise(CUTS):
                model.partial_fit(rows[start:stop], y[start:stop], **known)
        else:
            model.fit(rows[:FIRST], y[:FIRST])
    except (ValueError, TypeError):
        return "refused"
    return digest(shown_by(model, rows))


def targets(name: str, way: str) -> np.ndarray:
    """Labels or values for an estimator."""
    if "Regressor" in name:
        return VALUES
    return THREE if way == "three" else TWO


def gone_on(name: str, path: Path, way: str) -> str:
    """Load a model, let it learn the other rows if it can; return its hash."""
    model, rows = onkel.load(path), WAYS[way][1]
    if hasattr(model, "partial_fit"):
        model.partial_fit(rows[FIRST:], targets(name, way)[FIRST:])
    return digest(shown_by(model, rows))


def main(what: str, folder: Path) -> int:
    """Write or compare; return the number of models that differ."""
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    book = folder / "hashes.json"
    before = json.loads(book.read_text()) if what == "compare" else {}
    now: dict[str, list[str]] = {}
    differ = 0
    for name, model in models():
        for way in WAYS:
            key, path = f"{name}-{way}", folder / f"{name}-{way}.onkel"
            hashes = [learnt(name, model := clone(model), way)]
            if what == "write" and hashes[0] not in ("refused", "no stream"):
                onkel.save(model, path)
            if path.exists():
                hashes.append(gone_on(name, path, way))
            now[key] = hashes
            if what == "compare" and before.get(key) != hashes:
                differ += 1
                print(key, before.get(key), hashes, flush=True)
    if what == "write":
        book.write_text(json.dumps(now, indent=1))
    files = sum(len(hashes) == 2 for hashes in now.values())
    print(f"{len(now)} models, {files} files, {differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], Path(sys.argv[2]))))
