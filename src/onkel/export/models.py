"""Models: the formula of any fitted estimator of this library."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onkel.estimators._classifier import LossClassifier
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._labels import plain
from onkel.estimators._machine_stream import StreamingMachine
from onkel.estimators._registry import systems
from onkel.estimators._transformer import MapTransformer
from onkel.estimators.kernel import KernelClassifier, KernelRegressor
from onkel.estimators.krls import KRLSClassifier
from onkel.export.expansions import expansion, mapped
from onkel.export.formula import Formula, Scaled, Steps, width
from onkel.export.machines import machine_odds, machine_scores, machine_targets


def formula_of(model: Any) -> Formula:
    """Return what a fitted estimator computes.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import RBPClassifier
    >>> X, y = make_moons(100, random_state=0)
    >>> formula = formula_of(RBPClassifier(budget=20, random_state=0).fit(X, y))
    >>> formula.answer, formula.outputs, formula.classes.tolist()
    ('scores', 1, [0, 1])
    """
    name = type(model).__name__
    if systems().get(name) is not type(model):
        raise TypeError(
            f"{name} is no estimator of onkel, which exports its own only. Of a "
            "pipeline, export the last step, and do what the others do before it."
        )
    model = model._still()  # another thread may learn meanwhile
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    return Formula(
        name,
        model.n_features_in_,
        answered(model),
        *meaning(model),
        names=None if names is None else tuple(names),
    )


# ---- from a row to the answer


@singledispatch
def answered(model: Any) -> Steps:
    """Return the steps from a row to scores, a prediction or features."""
    raise ValueError(f"{type(model).__name__} cannot be exported")


answered.register(StreamingMachine, machine_scores)
answered.register(KernelRegressor, machine_targets)


@answered.register(ExpansionEstimator)
def _expanded(model: ExpansionEstimator) -> Steps:
    return (expansion(model._answer()),)


@answered.register(MapTransformer)
def _mapped(model: MapTransformer) -> Steps:
    return mapped(model._mapper)


# ---- what the answer means


@singledispatch
def meaning(model: Any) -> tuple[str, np.ndarray | None, Steps | None]:
    """Return the name of the answer, the classes, and the steps from it to log-odds."""
    return "features", None, None


@meaning.register(RegressorMixin)
def _number(model: Any) -> tuple[str, None, None]:
    return "prediction", None, None


@meaning.register(ClassifierMixin)
def _label(model: Any) -> tuple[str, np.ndarray, Steps | None]:
    classes = model.classes_
    if classes.dtype == object:  # texts or numbers, which have a type of their own
        classes = np.array(classes.tolist())
    if len(classes) < 2:
        raise ValueError(
            f"this {type(model).__name__} has seen a single label, "
            f"{plain(classes[0])!r}, and has learnt nothing that could be exported"
        )
    return "scores", classes, odds(model)


@singledispatch
def odds(model: Any) -> Steps | None:
    """Return the steps from scores to log-odds; None without probabilities."""
    return None


odds.register(KernelClassifier, machine_odds)


@odds.register(LossClassifier)
def _log_loss(model: LossClassifier) -> Steps | None:
    return () if model._has_probabilities() else None


@odds.register(KRLSClassifier)
def _sloped(model: KRLSClassifier) -> Steps:
    scores = width(answered(model), model.n_features_in_)
    slope = float(model._fitted().budget.tally[0].slope)
    return (Scaled(np.zeros(scores), np.full(scores, slope)),)
