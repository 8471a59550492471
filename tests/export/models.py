"""Fitted models that tests of all languages share, and how far answers may be apart."""

import functools
import warnings
from typing import Any

import numpy as np

import onkel
from onkel.checks import small
from onkel.estimators._registry import systems
from onkel.export.models import formula_of
from studies.export import rows, targets, tasks_of
from studies.export_runs import apart, by_the_model, chances_apart

# As a share of the largest score.
APART = 1e-5
ASKED = rows(1000, 1)[0].astype(np.float32)
# Not those that other tests have registered.
PUBLIC = [name for name in systems() if hasattr(onkel, name)]
EVERY = [(name, task) for name in PUBLIC for task in tasks_of(name)]
KERNELS = ("rbf", "laplacian", "poly", "linear")


@functools.cache
def fitted(name: str, task: str, **parameters: Any) -> Any:
    """Return a small model of that system."""
    model = small(getattr(onkel, name)()).set_params(**parameters)
    X, f = rows(400, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows make bad models
        return model.fit(X, targets(f, task))


@functools.cache
def streamed(name: str, task: str, count: int) -> Any:
    """Return a machine in the midst of a stream."""
    X, f = rows(count, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(onkel, name)(budget=40, random_state=0).partial_fit(
            X, targets(f, task)
        )


def agrees(model: Any, run: Any, X: np.ndarray = ASKED) -> None:
    """Require that an export answers as the model does."""
    found, wanted = run(formula_of(model), X), by_the_model(model, X)
    assert found.keys() == wanted.keys()
    for name, answers in wanted.items():
        assert found[name].shape == answers.shape
    assert apart(found, wanted) < APART
    if "label" in wanted:
        scores = wanted["scores"]
        # They change with scores, a quarter as fast at most.
        chances = APART * max(1.0, float(np.abs(scores).max()))
        assert chances_apart(found, wanted) < chances
        clear = np.abs(scores)
        if scores.ndim > 1:
            second, first = np.sort(scores, axis=1).T[-2:]
            clear = first - second
        differ = found["label"] != wanted["label"]
        assert (clear[differ] < APART * np.abs(scores).max()).all()
