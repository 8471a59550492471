"""Weights of classes, as weights of their rows."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from onkel.estimators._checks import checked_weights
from onkel.estimators._labels import plain


def refuse_strange_weights(class_weight: dict, classes: list, known: bool) -> None:
    """Refuse weights of classes that there are not, while others have none.

    The rule is scikit-learn's: where all classes have weights, as when a fold lacks a
    class, some may be idle. Unless all classes are known another may yet come; but text
    will not turn up among numbers.
    """
    given = [plain(label) for label in class_weight]
    strange = [label for label in given if label not in classes]
    if not known:
        text = isinstance(classes[0], str)
        strange = [label for label in strange if isinstance(label, str) != text]
    if strange and set(classes) - set(given):
        raise ValueError(
            f"class_weight has a weight for {strange[0]!r}, which is not among the "
            f"classes, {classes}"
        )


def is_weight(factor: Any) -> bool:
    """Whether something can be the weight of a class."""
    try:
        return isinstance(factor, Real) and 0 <= float(factor) < np.inf
    except OverflowError:
        return False


def weights_of_rows(
    class_weight: Any,
    X: Any,
    y: np.ndarray,
    sample_weight: Any,
    streaming: bool,
    classes: np.ndarray | None = None,
) -> np.ndarray | None:
    """Weights of the rows times those of their classes, None for all alike.

    `classes` are all there are; None if more may come.
    """
    if class_weight is None and sample_weight is None:
        return None
    weight = checked_weights(sample_weight, X, streaming)
    labels, index = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        if streaming:
            raise ValueError(
                'class_weight="balanced" needs all rows and works in fit only; in '
                "partial_fit give class_weight as a dict"
            )
        weight *= compute_class_weight("balanced", classes=labels, y=y)[index]
    elif class_weight is not None:
        for label, factor in class_weight.items():
            if not is_weight(factor):
                raise ValueError(
                    "class_weight must hold finite numbers >= 0, got "
                    f"{factor!r} for class {label!r}"
                )
        seen = [plain(label) for label in (labels if classes is None else classes)]
        refuse_strange_weights(class_weight, seen, classes is not None or not streaming)
        of_label = [float(class_weight.get(label, 1)) for label in labels]
        weight *= np.array(of_label)[index]
    return weight
