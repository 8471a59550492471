"""Tree: what a model is made of, as plain JSON and arrays, and back.

A model is a tree of plain values, arrays, generators and the library's own NamedTuples.
`Writer.plain` turns it into JSON and numbered arrays, `Reader.value` turns those back.
Reading runs no code but that of this file: the types that may occur are listed here,
and whatever is not among them is refused.
"""

import importlib
import math
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import onkel.budget
import onkel.features
from onkel.budget.declaration import DECLARED
from onkel.engine import (
    dual,
    fitted_expansion,
    mixture,
    plan,
    posterior,
    recursive_plan,
    svrg,
)
from onkel.engine.learner import Learner
from onkel.engine.mapper import Mapper
from onkel.estimators import _machine_quick, _machine_stream
from onkel.model import averages, center_cache, inverse, spread, state
from onkel.problem import kernels, losses, rates, steps
from onkel.refit.reservoir import Reservoir
from onkel.refit.soft_scaler import SoftScaler

_FOLDERS = [
    importlib.import_module(f"{package.__name__}.{found.name}")
    for package in (onkel.budget, onkel.features)
    for found in pkgutil.iter_modules(package.__path__)
]
_MODULES = [
    *(averages, center_cache, inverse, spread, state, kernels, losses, rates, steps),
    *(dual, fitted_expansion, mixture, plan, posterior, recursive_plan, svrg),
    *(_machine_quick, _machine_stream),
    *_FOLDERS,
]


# What files of former versions call a thing, and what it is called now.
FORMER = {
    "expansion.HEAD": "state.COUNTERS",
    "expansion.COUNTERS": "state.COUNTERS",
    "expansion.Model": "state.Model",
    "averages.BOOK": "averages.COUNTERS",
    "reads.BOOK": "inverse.STATUS",
    "reads.Inverse": "inverse.Inverse",
    **{
        f"reads.{name}": f"center_cache.{name}"
        for name in ("Nothing", "Later", "Gram", "Nearest")
    },
    "online.Plan": "plan.Plan",
    "recursive.RecursivePlan": "recursive_plan.RecursivePlan",
    "recursive.Repair": "recursive_plan.Repair",
    "inherit.Inherit": "project_all.ProjectAll",
    "share.Share": "project_pair.ProjectPair",
    "substitute.Substitute": "project_newest.ProjectNewest",
    "represent.Represent": "project_if_close.ProjectIfClose",
    "dual.LEDGER": "dual.TOTALS",
    **{
        f"{module}.LEDGER": f"{module}.COUNTERS"
        for module in ("cover", "forget", "landmarks", "svrg")
    },
}


def _short(name: str) -> str:
    """Return the name of a thing in a file: its module and its own, in no room."""
    short = ".".join(name.split(".")[-2:])
    return FORMER.get(short, short)


def _found(kind: type) -> dict[str, Any]:
    """Everything of a kind that is defined in a module, by its short name."""
    return {
        _short(f"{module.__name__}.{name}"): thing
        for module in _MODULES
        for name, thing in vars(module).items()
        if isinstance(thing, kind)
        and getattr(thing, "__module__", module.__name__) == module.__name__
    }


class Extent(NamedTuple):
    """What streams of former versions kept of their features; it is read, and left."""

    rows: Any
    first: Any
    total: Any
    squares: Any
    largest: Any


_NAMED = {name: cls for name, cls in _found(type).items() if hasattr(cls, "_fields")}
_NAMED["extent.Extent"] = Extent
# Dtypes of records; equal ones are the same to numpy, too.
RECORDS = {
    name: dtype for name, dtype in _found(np.dtype).items() if dtype.names is not None
}
# What every scaler of scikit-learn has seen.
SEEN = ("n_samples_seen_", "n_features_in_")
# And what there is of each feature in one.
OF_FEATURES: dict[type, tuple[str, ...]] = {
    SoftScaler: ("mean_", "scale_"),
    StandardScaler: ("mean_", "var_", "scale_"),  # of files before there was another
    MaxAbsScaler: ("max_abs_", "scale_"),
    MinMaxScaler: ("data_min_", "data_max_", "data_range_", "min_", "scale_"),
}
SCALERS = {cls.__name__: (cls, (*own, *SEEN)) for cls, own in OF_FEATURES.items()}
# Objects that are no tuples, and the parts of them that are kept.
OBJECTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "Learner": (Learner, ("plan", "budget", "rng", "model")),
    "Mapper": (Mapper, ("mapping", "kernel", "points", "norms")),
    "Reservoir": (Reservoir, ("size", "kept")),
    "Tally": (_machine_stream.Tally, ("t", "updates", "maintenance", "mistakes")),
    **SCALERS,
}
NUMBERS = {
    np.dtype(name).str
    for name in (
        *("float16", "float32", "float64", "bool"),
        *("int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    )
}


def named(name: str) -> type | None:
    """Return the NamedTuple of that name; strategies of others count as ours."""
    strategies = {_name_of(cls): cls for cls in DECLARED}
    return (strategies | _NAMED).get(name)


def _name_of(cls: type) -> str:
    return _short(f"{cls.__module__}.{cls.__name__}")


DEEPEST = 40  # levels of a tree; a model has about ten
LAST_LETTER = 0x10FFFF


class Writer:
    """Takes trees apart; `arrays` are those found so far, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[int, tuple[Any, Any]] = {}  # by identity

    def plain(self, value: Any, where: str) -> Any:
        """Turn a value into JSON; `where` names it in errors.

        Examples
        --------
        >>> Writer().plain((1, 2.5, float("inf")), "example")
        {'tuple': [1, 2.5, {'float': 'inf'}]}
        """
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), where)}
        if isinstance(value, int):
            return value + 0  # an IntEnum becomes a number
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._named(value, where)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.plain(part, where) for part in value]}
        if isinstance(value, dict):
            pairs = [
                [self.plain(k, where), self.plain(v, where)] for k, v in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, np.random.Generator):
            return {"generator": self.plain(value.bit_generator.state, where)}
        if isinstance(value, np.random.RandomState):
            return self._once(value, lambda: self._random_state(value, where))
        for name, (cls, parts) in OBJECTS.items():
            if type(value) is cls:
                kept = [
                    self.plain(getattr(value, part, None), f"{where}.{part}")
                    for part in parts
                ]
                return {"object": name, "parts": kept}
        raise TypeError(
            f"{where} is a {type(value).__module__}.{type(value).__name__}, which a "
            "model file cannot hold: only numbers, text, arrays, lists and dictionaries"
        )

    def _named(self, value: Any, where: str) -> dict[str, Any]:
        cls: Any = type(value)
        name = _name_of(cls)
        if named(name) is not cls:
            raise TypeError(f"{where} is a {name}, which is no strategy of anybody")
        fields = zip(value._fields, value, strict=True)
        return {
            "named": name,
            "fields": [self.plain(part, f"{where}.{field}") for field, part in fields],
        }

    def _once(self, value: Any, describe: Callable[[], Any]) -> Any:
        """Describe what a model may refer to twice, and must find as one again."""
        if id(value) not in self._known:
            # With the value itself, whose identity must not be given to another.
            self._known[id(value)] = describe(), value
        return self._known[id(value)][0]

    def _random_state(self, value: Any, where: str) -> dict[str, Any]:
        state = self.plain(value.get_state(legacy=False), where)
        return {"random_state": state, "number": len(self._known)}

    def _array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        return self._once(array, lambda: self._described(array, where))

    def _described(self, array: np.ndarray, where: str) -> dict[str, Any]:
        if array.dtype == object:
            parts = [self.plain(part, where) for part in array.ravel().tolist()]
            return {"objects": parts, "shape": list(array.shape)}
        described: dict[str, Any] = {"array": len(self.arrays)}
        turned = array.ndim > 1 and array.flags.f_contiguous > array.flags.c_contiguous
        if turned:
            # The order of the memory is part of the model: sums depend on it.
            array, described["turned"] = array.T, True
        array = np.ascontiguousarray(array) if array.ndim else array
        if array.dtype.names is not None:
            described["record"] = _record_name(array.dtype)
            array = np.frombuffer(array.tobytes(), np.uint8)
        elif array.dtype.kind == "U":
            described["text"] = array.dtype.itemsize // 4
            codes = np.frombuffer(array.tobytes(), np.uint32)
            array = codes.reshape(*array.shape, described["text"])
        elif array.dtype.str not in NUMBERS:
            raise TypeError(
                f"{where} is an array of {array.dtype}, which a model file cannot hold"
            )
        self.arrays[str(described["array"])] = array
        return described


def _record_name(dtype: np.dtype) -> str:
    return next(name for name, known in RECORDS.items() if known == dtype)


class Reader:
    """Puts trees together again from JSON and arrays, which are copied where used."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays
        self._known: dict[str, Any] = {}

    def value(self, plain: Any, depth: int = 0) -> Any:
        """Turn JSON back into a value, if it is what a `Writer` makes.

        Examples
        --------
        >>> Reader({}).value({"tuple": [1, 2.5, {"float": "inf"}]})
        (1, 2.5, inf)
        """
        if depth > DEEPEST:
            raise ValueError("its values are nested too deeply")
        if plain is None or isinstance(plain, bool | str | int | float):
            return plain
        if not isinstance(plain, dict) or not plain:
            raise ValueError(f"{str(plain)[:40]!r} is no value")
        kind = next(iter(plain))
        content, below = plain[kind], depth + 1
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
        if kind == "list":
            return [self.value(part, below) for part in content]
        if kind == "tuple":
            return tuple(self.value(part, below) for part in content)
        if kind == "dict":
            return {self.value(k, below): self.value(v, below) for k, v in content}
        if kind in ("array", "objects"):
            return self._array(plain)
        if kind == "scalar":
            return self._array(content)[()]
        if kind == "named":
            fields = [self.value(part, below) for part in plain["fields"]]
            cls = named(_short(content))
            if cls is None:
                raise ValueError(f"{content!r} is no type that a model has")
            return cls(*fields)
        if kind == "generator":
            return _generator(self.value(content, below))
        if kind == "random_state":
            key = f"random state {plain['number']}"
            if key not in self._known:
                self._known[key] = _random_state(self.value(content, below))
            return self._known[key]
        if kind == "object":
            cls, names = OBJECTS[content]
            parts = [self.value(part, below) for part in plain["parts"]]
            made: Any = object.__new__(cls)
            made.__dict__.update(zip(names, parts, strict=True))
            return made if content not in SCALERS else _scaler(made)
        raise ValueError(f"{kind!r} is no kind of value")

    def _array(self, described: dict[str, Any]) -> np.ndarray:
        if "objects" in described:
            parts = [self.value(part, DEEPEST) for part in described["objects"]]
            made = np.empty(len(parts), object)
            made[:] = parts
            return made.reshape(described["shape"])
        name = str(described["array"])
        if name not in self._known:
            self._known[name] = self._made(described, self._arrays[name])
        return self._known[name]

    def _made(self, described: dict[str, Any], array: np.ndarray) -> np.ndarray:
        made: np.ndarray
        if "record" in described:
            dtype = RECORDS[_short(described["record"])]
            made = np.frombuffer(array.tobytes(), dtype).copy().view(np.recarray)
        elif "text" in described:
            *shape, length = array.shape
            if length != described["text"] or not (array <= LAST_LETTER).all():
                raise ValueError("its text is no text")
            made = np.frombuffer(array.tobytes(), f"<U{length}").copy().reshape(shape)
        else:
            made = array.copy()
        return made.T if described.get("turned") is True else made


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] != "PCG64":
        raise ValueError("its generator is none of ours")
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    return rng


def _scaler(parts: Any) -> Any:
    """Make a scaler as its constructor does, with what the other one has seen."""
    made = type(parts)().set_output(transform="default")
    made.__dict__.update({k: v for k, v in vars(parts).items() if v is not None})
    return made


def _random_state(state: dict[str, Any]) -> np.random.RandomState:
    inner = state["state"]
    key, place = inner["key"], inner["pos"]
    # numpy believes any place, and looks there.
    if key.dtype != np.uint32 or key.shape != (624,) or not 0 <= place <= 624:
        raise ValueError("its random state is none")
    made = np.random.RandomState()
    made.set_state(state)
    return made
