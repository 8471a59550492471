"""What a user is told before wondering."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onkel


def test_a_regressor_worse_than_a_constant_says_so() -> None:
    X = np.random.default_rng(0).uniform(-3, 3, size=(300, 1))
    with pytest.warns(ConvergenceWarning, match="worse than a constant") as caught:
        onkel.BSGDRegressor(alpha=1e-4, random_state=0).fit(X, np.sin(X[:, 0]))
    assert caught[0].filename == __file__
