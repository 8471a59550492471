"""NOGD: online gradient descent on Nystrom features.

Objective per row  alpha/2 |f|^2 + l(f(x_t), y_t).

Phase 1 is kernel online gradient descent, g = dl/df at f_t(x_t),

    f_{t+1} = (1 - alpha eta_t) f_t - eta_t g k(x_t, .),

until there are B centres. The next update is the switch: with the Gram matrix of the
centres K = V diag(lambda) V', its k largest eigenvalues and the coefficients a,

    z(x) = diag(lambda)^(-1/2) V' k_B(x),    w = diag(lambda)^(1/2) V' a.

Phase 2, this update the first:  w_{t+1} = (1 - alpha eta_t) w_t - eta_t g z(x_t).

The model is <w, z(x)>, which is an expansion over the B centres: `dual_coef_` are its
coefficients V diag(lambda)^(-1/2) w.

| symbol | here |
|---|---|
| B | budget |
| k | rank |
| eta | eta0 |

Deviations: the model is carried over at the switch (public code restarts at 0, or takes
the eigenvectors of a solver for other matrices in the order it gives them). Eigenvalues
below 1e-10 of the largest are cut, and more where kernel values are noisy
(`features/nystrom.py`): then f changes at the switch even if rank = budget. alpha
shrinks the model on every row. The average is carried over by the same map; there is no
average_exact.
"""

import warnings
from typing import Any

import numpy as np

from onkel.budget import landmarks
from onkel.engine.learner import Learner
from onkel.engine.switch import linear_in
from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import (
    AnyKernel,
    Averaged,
    Budgeted,
    MarginLoss,
    Passes,
    ResidualLoss,
    Steps,
)
from onkel.estimators._monitor import Monitor
from onkel.estimators._nystrom import checked_rank
from onkel.estimators._parameters import FROM_ONE, group, parameter, system
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor
from onkel.features.nystrom import Nystrom


@group
class NOGD(Budgeted, Steps, Averaged, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    rank: int | None = parameter(
        FROM_ONE,
        None,
        default=None,
        text="Number of Nystrom features, at most the budget; None for a fifth of it.",
    )

    @property
    def phase_(self) -> int:
        """1 while landmarks are collected, then 2."""
        return 2 if isinstance(self._fitted().model.mapping, Nystrom) else 1

    @property
    def feature_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (outputs, rank); none in phase 1."""
        return self._fitted().weights

    def _budget(self, n_rows: int | None) -> landmarks.Landmarks:
        rank = checked_rank(self, default=max(1, self.budget // 5))
        return landmarks.make(self.budget, rank)

    def _blank(self, outputs: int, features: int, dtype: Any, like: Any) -> Learner:
        learner = super()._blank(outputs, features, dtype, like)
        if isinstance(like.model.mapping, Nystrom):
            count, rank = like.model.mapping.matrix.shape
            most = min(count, learner.budget.rank)
            if count != learner.budget.limit or not 1 <= rank <= most:
                raise ValueError(
                    f"{rank} features of {count} landmarks are not its own"
                )
            matrix = np.zeros((count, rank), dtype)
            learner.go_on_with(linear_in(learner.model, matrix))
        return learner

    def _keep(self, learner: Learner, n_iter: int, monitor: Monitor | None) -> None:
        super()._keep(learner, n_iter, monitor)
        if self.phase_ == 1:
            warnings.warn(
                f"{type(self).__name__} stayed in its first phase, which is OGD: only "
                f"{self.n_updates_} rows proposed an update, and Nystrom features "
                f"begin after budget={self.budget} of them. Choose a smaller budget if "
                "you want them.",
                stacklevel=levels_to_the_caller(),
            )


@system(example="budget=20, rank=20", score=0.98)
class NOGDClassifier(MarginLoss, NOGD, LossClassifier):
    """Online gradient descent on Nystrom features of the first support vectors."""


@system(example="budget=20, rank=10", score=0.99)
class NOGDRegressor(ResidualLoss, NOGD, WeightedRegressor):
    """Online gradient descent on Nystrom features, for regression."""
