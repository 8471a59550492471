"""Registry: every system, wherever it is written.

A system registers itself where it is defined, by `@system`. Races, `tune`, model files,
what is compiled ahead, `onkel.checks` and the tests ask here which there are.
"""

import importlib
import pkgutil
from typing import Any

import onkel.estimators

ENDINGS = ("Classifier", "Regressor")
_registered: dict[str, type] = {}


def register(cls: type) -> None:
    """Add a system; one of the same name is replaced, as when a file is run again."""
    _registered[cls.__name__] = cls


def systems(ending: str = "") -> dict[str, Any]:
    """Return all systems by their names, or those whose names end so.

    Systems of other packages are among them once they have been imported.

    Examples
    --------
    >>> systems("Features")  # doctest: +ELLIPSIS
    {'FourierFeatures': <class '...'>, 'NystromFeatures': <class '...'>}
    """
    for found in pkgutil.iter_modules(onkel.estimators.__path__):
        importlib.import_module(f"onkel.estimators.{found.name}")
    names = sorted(name for name in _registered if name.endswith(ending))
    return {name: _registered[name] for name in names}


def variants(cls: Any) -> dict[str, dict[str, Any]]:
    """Return the names under which papers know a system, and the parameters of each.

    Examples
    --------
    >>> from onkel import BOGDClassifier
    >>> variants(BOGDClassifier)
    {'BOGD': {'sampling': 'uniform'}, 'BOGD++': {'sampling': 'weighted'}}
    """
    name = cls.__name__
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    known = set(cls().get_params())
    named: dict[str, dict[str, Any]] = getattr(cls, "_variants", {}) or {name: {}}
    return {name: given for name, given in named.items() if given.keys() <= known}
