"""The inverse Gram matrix stays one, over ten thousand updates on real data."""

import numpy as np
import pytest

import onkel
from onkel.data.catalogue import DataNotFoundError, load
from onkel.model.inverse import JITTER

BUDGET, UPDATES, CHUNK = 200, 10_000, 2000


@pytest.mark.parametrize("gamma", [2.0, 0.1])
def test_the_inverse_does_not_drift(gamma: float) -> None:
    try:
        X, y = load("ijcnn1", dtype=np.float64)
    except DataNotFoundError as missing:
        pytest.skip(str(missing))
    X = X.toarray()
    model = onkel.BSGDClassifier(
        budget=BUDGET, gamma=gamma, alpha=1e-6, maintenance="projection"
    )
    first = 0
    while getattr(model, "n_updates_", 0) < UPDATES:
        rows = slice(first, first + CHUNK)
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
        first = (first + CHUNK) % len(y)
        cache, size = model._learner.model.cache, model.model_size_
        K, root = cache.values[:size, :size].copy(), cache.root[:size, :size]
        K[np.diag_indices(size)] *= 1 + JITTER
        assert np.abs(K @ (root @ root.T) - np.eye(size)).max() < 1e-5
    # What is kept as K is the Gram matrix of the centres.
    centers = model.support_vectors_
    squared = ((centers[:, None] - centers) ** 2).sum(axis=2)
    K = cache.values[:size, :size]
    np.testing.assert_allclose(K, np.exp(-gamma * squared), atol=1e-12)
