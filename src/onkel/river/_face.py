"""Faces: of every system that learns from a stream, the class that River knows.

They are made of the registry: the parameters are the system's, but for those that say
how `fit` goes about it, and `random_state` is called `seed`, as with River. A class is
a dataclass of its parameters, so that its signature is a real one.
"""

import dataclasses
import inspect
from typing import Any

from onkel.estimators._parameters import said
from onkel.estimators._registry import ENDINGS, systems
from onkel.river._classifier import OnlineClassifier, WeightedClassifier
from onkel.river._regressor import OnlineRegressor, WeightedRegressor

# What is of consequence in `fit` only, or where many rows come at once.
OF_FIT = {
    *("max_iter", "shuffle", "verbose", "n_jobs", "block_size", "monitor", "refit"),
    *("device", "time_limit", "maintenance_fraction", "suffix_fraction"),
}
SEED = "Of all that is random; None for another one each time."

DOCUMENTED = """{summary}

This is `onkel.{name}` for River: there are the method and its paper.

Parameters
----------
{parameters}

Examples
--------
>>> from river import datasets, evaluate, metrics, preprocessing
>>> from onkel.river import {name}
>>> model = {name}({given})
{example}
True
"""
EXAMPLES = {
    "Classifier": """>>> model = preprocessing.StandardScaler() | model
>>> rows = datasets.Phishing().take(200)
>>> evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.7""",
    "Regressor": """>>> model = preprocessing.TargetStandardScaler(model)
>>> model = preprocessing.StandardScaler() | model
>>> rows = datasets.TrumpApproval().take(200)
>>> evaluate.progressive_val_score(rows, model, metrics.MAE()).get() < 3.0""",
}
# What examples give to those who have the first of these, and are no good without it:
# a radius that suits gamma, and first steps that are not ten thousand long.
SUITED = {"when_full": "coverage_radius=1.3", "t0": "alpha=0.01"}


def faces() -> dict[str, Any]:
    """Return the class of every system by its name.

    Examples
    --------
    >>> model = faces()["RBPClassifier"](budget=50)
    >>> model.budget, model.gamma
    (50, 'scale')
    """
    streaming = {
        name: kind
        for ending in ENDINGS
        for name, kind in systems(ending).items()
        if hasattr(kind, "partial_fit")
    }
    return {name: _face(name, streaming[name]) for name in sorted(streaming)}


def _face(name: str, kind: Any) -> Any:
    """Make the class of one system."""
    weighs = "sample_weight" in inspect.signature(kind.partial_fit).parameters
    if name.endswith("Classifier"):
        base: type = WeightedClassifier if weighs else OnlineClassifier
    else:
        base = WeightedRegressor if weighs else OnlineRegressor
    given = inspect.signature(kind).parameters
    fields = kind.__dataclass_fields__
    shown = [n for n in given if n not in OF_FIT and n != "random_state"]
    annotations = {n: fields[n].type for n in shown} | {"seed": int | None}
    defaults = {n: given[n].default for n in shown} | {"seed": None}
    texts = {n: said(kind, n, "text") for n in shown} | {"seed": SEED}
    body = {
        "__annotations__": annotations,
        "__module__": "onkel.river",
        "__doc__": _documented(name, kind, texts),
        "_kind": kind,
        **defaults,
    }
    made = type(base)(name, (base,), body)
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(made)


def _documented(name: str, kind: Any, texts: dict[str, str]) -> str:
    """Docstring of a face; `texts` say what its parameters are."""
    ending = next(ending for ending in ENDINGS if name.endswith(ending))
    suited = [text for having, text in SUITED.items() if having in texts]
    return DOCUMENTED.format(
        summary=inspect.cleandoc(kind.__doc__).partition("\n")[0],
        name=name,
        parameters="\n".join(f"{n}\n    {text}" for n, text in texts.items()),
        given=", ".join([*suited, "seed=0"]),
        example=EXAMPLES[ending],
    )
