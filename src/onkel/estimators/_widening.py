"""Widening: a stream whose rows have more features from now on.

In all rows so far they were 0, so that no kernel value between these changes. Random
features get a frequency for each new column, drawn by a generator of its own: it
depends on the seed and the number of the column alone. For independent frequencies that
is a map that one draw for all columns could have given as well; orthogonal ones keep
their distribution, each by itself, and are at right angles in the first columns only.
"""

from typing import Any

import numpy as np

from onkel.estimators._features import limited
from onkel.estimators._recipe import RecipeEstimator
from onkel.features import fourier
from onkel.features.fourier import Fourier
from onkel.features.identity import Identity

# Place of the generator of features among the children of a seed.
FEATURES = 2


def widened(system: RecipeEstimator, features: int) -> Any:
    """Return a system that goes on with so many features; the one given stays as it is.

    It has been seeded by a number, and has learnt from a stream only.

    Examples
    --------
    >>> from onkel import RBPClassifier
    >>> model = RBPClassifier(gamma=1.0, random_state=0)
    >>> model = model.partial_fit([[-1.0], [1.0]], [0, 1])
    >>> widened(model, 3).support_vectors_.tolist()
    [[1.0, 0.0, 0.0]]
    """
    learner, known = system._learner, int(system.n_features_in_)
    mapping, frequencies = learner.model.mapping, None
    if isinstance(mapping, Identity):
        raise ValueError(
            f"{type(system).__name__} with kernel='linear' has a coefficient for each "
            f"of the {known} features of its first row, and cannot have more later. "
            "Give all features in the first row, or take another kernel."
        )
    if isinstance(mapping, Fourier):
        frequencies = _frequencies(system, mapping.size, range(known, features))
    twin = system._still()
    twin._fork()
    twin._learner.widen(features, frequencies)
    twin.n_features_in_ = features
    if twin._beginning is not None:
        twin._beginning = twin._beginning.widened(features)
    return twin


def _frequencies(system: Any, count: int, columns: range) -> np.ndarray:
    """Draw the frequencies of further columns, shape (count / 2, columns)."""
    learner, drawn = system._learner, []
    for column in columns:
        seed = np.random.SeedSequence(system.random_state, spawn_key=(FEATURES, column))
        rng = np.random.default_rng(seed)
        kernel, gamma = system.kernel, learner.plan.kernel.gamma
        drawn.append(fourier.draw(kernel, gamma, count, 1, rng))
    return limited(np.concatenate(drawn, axis=1), columns.stop, learner.dtype)
