"""LLSVM: low-rank linearised support vector machine.

    min_w  1/2 |w|^2 + C sum_i l(<w, z(x_i)>, y_i)

over the Nystrom features of B landmarks,

    z(x) = diag(lambda)^(-1/2) V' k_B(x),    K_BB = V diag(lambda) V',

solved by dual coordinate ascent (`refit/linear_dual.py`). The model is an expansion
over the landmarks with the coefficients V diag(lambda)^(-1/2) w. With all rows as
landmarks it is the support vector machine without bias.

| symbol | here |
|---|---|
| B | budget |
| C | C, on the sum: 1/(n alpha) |

with l the hinge, half its square, or the epsilon-insensitive loss.

Deviations: eigenvalues below 1e-5 of the largest, or below what noise in kernel values
makes of them (`features/nystrom.py`), are cut, instead of set to 0. k-means sees at
most 20 rows a landmark. All rows are solved at once, in up to 1000 passes to a
tolerance of 1e-3 (public code: 30 passes, 0.01, and chunks between which it forgets the
dual variables). The rank is the budget by default. Three classes or more: one against
the rest. It needs the features of all rows in memory, and has no partial_fit.
"""

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from onkel.engine.fitted_expansion import FittedExpansion, expansion_of
from onkel.estimators._classifier import BatchClassifier
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._groups import AnyKernel, Talkative, Tube
from onkel.estimators._nystrom import Landmarks
from onkel.estimators._parameters import (
    FROM_ONE,
    POSITIVE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._regressor import BatchRegressor
from onkel.problem import losses
from onkel.problem.losses import Loss
from onkel.refit import linear_dual

# Share of the largest eigenvalue below which one is cut.
SMALLEST_SHARE = 1e-5


@group
class LLSVM(Landmarks, AnyKernel, Talkative, ExpansionEstimator):
    """What classifier and regressor share: features, then a linear problem."""

    C: float = parameter(
        POSITIVE,
        default=1.0,
        text="Weight of the losses, whose sum it multiplies.",
    )
    max_iter: int = parameter(
        FROM_ONE,
        default=1000,
        text="Most passes of the solver over the data.",
    )
    tol: float = parameter(
        POSITIVE,
        default=1e-3,
        text="The solver stops when the dual is solved to this precision.",
    )
    random_state: Any = parameter(
        default=None, text="Seed of the landmarks and of the solver."
    )

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of the linear problem."""

    def _answer(self) -> FittedExpansion:
        if not hasattr(self, "_expansion"):
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet: call fit"
            )
        return self._expansion

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_expansion")

    @property
    def _dtype(self) -> Any:
        return self._expansion.coef.dtype

    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        kernel = self._kernel(X)
        # Last, because it may draw from the user's generator.
        order, _, features = self._seeds()
        mapper = self._mapper_of(X, kernel, features, SMALLEST_SHARE)
        Z = mapper.transform(X, self._n_jobs())
        C = np.full(len(y), self.C) if weight is None else self.C * weight
        found = [self._solved(Z, y, C, o, outputs, order) for o in range(outputs)]
        coef = np.array([one.w for one in found]) @ mapper.mapping.matrix.T
        self._expansion = expansion_of(kernel, mapper.points.astype(X.dtype), coef)
        self._refuse_overflow(not self._expansion.is_bounded)
        self._started_with = self._learning_parameters()
        self.t_, self.n_iter_ = len(y), max(one.passes for one in found)
        worst = max(one.violation for one in found)
        if worst > self.tol:
            warnings.warn(
                f"{type(self).__name__} has made {self.max_iter} passes, and violates "
                f"a margin or target by {worst:.2g}: give it more passes (max_iter), "
                "a larger tol or a smaller C",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _solved(
        self,
        Z: np.ndarray,
        y: np.ndarray,
        C: np.ndarray,
        output: int,
        outputs: int,
        rng: np.random.Generator,
    ) -> linear_dual.Solution:
        """Solve the problem of one output: its own, or a class against the rest."""
        targets = y if outputs == 1 else np.where(y == output, 1.0, -1.0)
        solution = linear_dual.solve(
            self._loss(),
            Z,
            targets,
            C,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
        )
        if self.verbose:
            print(
                f"{type(self).__name__}: output {output + 1} of {outputs}, "
                f"{solution.passes} passes, violation {solution.violation:.2g}"
            )
        return solution


@system(example="budget=50, gamma=2.0", score=0.98)
class LLSVMClassifier(LLSVM, BatchClassifier):
    """Linear support vector machine on the Nystrom features of landmarks."""

    loss: str = parameter(
        one_of({"hinge", "squared_hinge"}),
        default="hinge",
        text="Name of the loss.",
    )

    def _loss(self) -> Loss:
        return losses.make(self.loss)


@system(example="budget=20", score=0.99)
class LLSVMRegressor(LLSVM, Tube, BatchRegressor):
    """Linear support vector regression on the Nystrom features of landmarks."""

    def _loss(self) -> Loss:
        return losses.make("epsilon_insensitive", epsilon=self.epsilon)
