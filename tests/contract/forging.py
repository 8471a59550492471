"""Forged model files: a right digest, and something in them that nobody has learnt.

    python -m tests.contract.forging NAME [NAME ...] --count 300 --seed 0

saves a model of each estimator, changes a few parts of the file, and uses what loads:
every forgery must be refused by a ModelFileError, or work like a model. A line of JSON
says how many were. It ends at once where something else happens, or takes too long.
"""

import argparse
import contextlib
import copy
import json
import math
import resource
import signal
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import onkel
from onkel.estimators._machine_stream import Order
from onkel.storage import model_file

SECONDS = 5
FEATURES, ROWS = 3, 60
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 255, 10**6, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64),
    *(0.5, -1.0, 1e-300, 1e12, 1e30, 1e300, {"float": "inf"}, {"float": "nan"}),
    *(True, None, "text", [], {}, {"tuple": []}, {"dict": []}, {"list": [1]}),
)
PARAMETERS: dict[str, Any] = {
    "budget": 8,
    "gamma": 0.5,
    "n_components": 8,
    "memory_size": 9,
    "snapshot_period": 13,
    "max_core": 6,
    "merge_size": 3,
    "coverage_radius": 1.0,
    "random_state": 0,
}


def content_of(name: str, rng: np.random.Generator) -> bytes:
    """Return a model file of an estimator, of one of several kinds."""
    cls = getattr(onkel, name)
    known = cls().get_params()
    chosen = {k: v for k, v in PARAMETERS.items() if k in known}
    for key, values in {
        "average": (None, "full", "poly"),
        "maintenance": ("merge", "projection", "projection_knn", "removal"),
        "coverage": ("sphere", "box", "grid"),
        "variant": ("s", "nn", "p"),
        "oracle": ("budget", "coverage"),
        "ball": (False, True),
        "gamma": (0.5, "scale"),
    }.items():
        if key in known:
            chosen[key] = values[rng.integers(len(values))]
    if name in ("KernelClassifier", "KernelRegressor"):
        chosen |= {"memory_size": 100, "gamma": 0.5, "C": 1.0, "adapt": False}
    if name.startswith("BSCA"):
        chosen["average"] = None
    X, y = rows(name, rng)
    model = cls(**chosen)
    if name.endswith("Features"):
        model.fit(X)
    elif hasattr(model, "partial_fit") and rng.random() < 0.7:
        model.partial_fit(X, y)
    else:
        model.fit(X, y)
    if name.startswith("Kernel") and getattr(model, "_quick", None) is not None:
        put_under_way(model, X, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        onkel.save(model, path)
        return path.read_bytes()


def put_under_way(model: Any, X: np.ndarray, rng: np.random.Generator) -> None:
    """Let a kernel machine in a stream have an order or a successor, or neither."""
    draw = rng.random()
    if draw < 0.4:
        soon = model.t_ + int(rng.integers(1, ROWS))
        model._order = Order(draw < 0.2, model._recent.copy(), 7, soon)
    elif draw < 0.8:
        model._found_successor(model._choice, model.t_)


def rows(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets, of two or three classes."""
    X = rng.normal(size=(ROWS, FEATURES))
    if name.endswith("Regressor"):
        return X, np.sin(X[:, 0])
    if name == "BudgetPerceptronClassifier" or rng.random() < 0.5:
        return X, (X[:, 0] > 0).astype(int)
    return X, np.digitize(X[:, 0], [-0.5, 0.5])


def sealed(model: Any, arrays: Any, metadata: dict[str, str]) -> bytes:
    """Write a file with a right digest."""
    metadata = metadata | {"model": json.dumps(model), "sha256": model_file.BLANK}
    content = save_arrays(arrays, metadata)
    digest = model_file.hashlib.sha256(content).hexdigest().encode()
    end = model_file._header_end(content)
    place = model_file.DIGEST.search(content, 0, end)
    assert place is not None
    return content[: place.start(1)] + digest + content[place.end(1) :]


def places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all parts of JSON."""
    found = [path] if path else []
    if isinstance(plain, dict | list):
        keys = plain if isinstance(plain, dict) else range(len(plain))
        for key in keys:
            found += places(plain[key], (*path, key))
    return found


def at(plain: Any, path: tuple[Any, ...]) -> Any:
    """Return the part at a path."""
    for key in path:
        plain = plain[key]
    return plain


def forge(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a few parts of a file."""
    end = model_file._header_end(content)
    metadata = json.loads(content[8:end])["__metadata__"]
    model, arrays = json.loads(metadata["model"]), dict(load_arrays(content))
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.5 and arrays:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = np.ascontiguousarray(other_array(arrays[name], rng))
        else:
            other_part(model, rng)
    return sealed(model, arrays, metadata)


def other_part(model: Any, rng: np.random.Generator) -> None:
    """Change a part of the JSON: a number, a name, or by another part of it."""
    found = places(model)
    path = found[rng.integers(len(found))]
    parent, key = at(model, path[:-1]), path[-1]
    draw = rng.random()
    if draw < 0.5:
        new = NUMBERS[rng.integers(len(NUMBERS))]
    elif draw < 0.9:
        new = at(model, found[rng.integers(len(found))])
    else:
        del parent[key]
        return
    parent[key] = copy.deepcopy(new)


def other_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array of another shape, type, or with other numbers."""
    draw = rng.random()
    if draw < 0.1:
        return np.atleast_1d(array)[:-1]
    if draw < 0.2:
        return np.concatenate([np.atleast_1d(array)] * 2)
    if draw < 0.25:
        return array.T if array.ndim > 1 else array[None]
    if draw < 0.35:
        kinds = (np.float32, np.float64, np.int64, np.int32, np.uint8)
        with np.errstate(all="ignore"):
            return array.astype(kinds[rng.integers(len(kinds))])
    new = array.copy()
    if new.size:
        extremes: tuple[float, ...] = (0, -1, 1, 100, 2**31, 1e30, -1e30)
        if new.dtype.kind == "f":
            extremes += (math.inf, math.nan, 1e300, 1e-300)
        else:
            # Also the numbers within records, which are kept as bytes.
            extremes += (127, 255, np.iinfo(new.dtype).min, np.iinfo(new.dtype).max)
        every = rng.random() < 0.3
        chosen = slice(None) if every else rng.integers(new.size)
        value = np.asarray(extremes[rng.integers(len(extremes))])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            new.reshape(-1)[chosen] = value.astype(new.dtype)
    return new


@contextlib.contextmanager
def limited(seconds: int) -> Any:
    """End the process if something takes longer."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def used(path: Path, name: str, rng: np.random.Generator) -> str:
    """Load a forgery and use it; say what became of it."""
    X, y = rows(name, rng)
    try:
        model = onkel.load(path)
    except onkel.ModelFileError:
        return "refused"
    if not model.__sklearn_is_fitted__():
        return "worked"
    if name.endswith("Features"):
        model.transform(X)
        return "worked"
    model.predict(X)
    if hasattr(model, "partial_fit"):
        for take in (np.asarray(X), X[:1]):
            with contextlib.suppress(ValueError):  # as any model may answer
                model.partial_fit(take, y[: len(take)])
        model.predict(X)
    return "worked"


def main() -> None:
    """Forge files of the estimators named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forged"
        for name in given.names:
            rng = np.random.default_rng([given.seed, *name.encode()])
            outcomes = {"refused": 0, "worked": 0}
            content = b""
            for number in range(given.count):
                if number % 30 == 0:
                    content = content_of(name, rng)
                    whole = model_file._header_end(content) + len(content)
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                path.write_bytes(forge(content, rng))
                with limited(SECONDS):
                    try:
                        outcomes[used(path, name, rng)] += 1
                    except Exception as error:
                        raise AssertionError(f"{name}, forgery {number}") from error
                grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                assert grown - before <= 10 * whole + 2**27, (name, number, grown)
            print(json.dumps({"name": name, **outcomes}), flush=True)


if __name__ == "__main__":
    main()
