"""What a user is told before wondering."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onkel


def test_a_regressor_worse_than_a_constant_says_so() -> None:
    X = np.random.default_rng(0).uniform(-3, 3, size=(300, 1))
    with pytest.warns(ConvergenceWarning, match="worse than a constant") as caught:
        onkel.BSGDRegressor(alpha=1e-4, random_state=0).fit(X, np.sin(X[:, 0]))
    assert caught[0].filename == __file__


def test_kernel_values_that_single_precision_loses_are_told() -> None:
    X = np.random.default_rng(0).normal(scale=30.0, size=(200, 9))
    y = (X[:, 0] > 0).astype(int)
    model = onkel.RBPClassifier(gamma=0.05, budget=20, random_state=0)
    with pytest.warns(UserWarning, match="float32"):
        model.fit(X.astype(np.float32), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        model.set_params(gamma="scale").fit(X.astype(np.float32), y)
