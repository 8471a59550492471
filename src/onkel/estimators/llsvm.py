"""LLSVM: low-rank linearised support vector machine.

    min_w  1/2 |w|^2 + C sum_i l(<w, z(x_i)>, y_i)

over the Nystrom features of B landmarks,

    z(x) = diag(lambda)^(-1/2) V' k_B(x),    K_BB = V diag(lambda) V',

solved by dual coordinate descent (scikit-learn's LinearSVC and LinearSVR, which are
LIBLINEAR). The model is an expansion over the landmarks with the coefficients
V diag(lambda)^(-1/2) w. With all rows as landmarks it is the support vector machine
without bias.

| symbol | here |
|---|---|
| B | budget |
| C | C, on the sum: 1/(n alpha) |

with l the hinge, half its square, or the epsilon-insensitive loss.

Deviations: eigenvalues below 1e-5 of the largest, or below what noise in kernel values
makes of them (`features/nystrom.py`), are cut, instead of set to 0. k-means sees at
most 50 rows a landmark. All rows are solved at once, in up to 1000 passes to a
tolerance of 1e-3 (public code: 30 passes, 0.01, and chunks between which it forgets the
dual variables). The rank is the budget by default. Three classes or more: one against
the rest. It needs the features of all rows in memory, and has no partial_fit.
"""

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from onkel.engine.fitted_expansion import FittedExpansion, expansion_of
from onkel.estimators._classifier import BatchClassifier
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._groups import AnyKernel, Talkative, Tube
from onkel.estimators._nystrom import Landmarks
from onkel.estimators._parameters import POSITIVE, group, one_of, parameter, system
from onkel.estimators._regressor import BatchRegressor

# Share of the largest eigenvalue below which one is cut.
SMALLEST_SHARE = 1e-5
# Share of the largest weight that stands for none.
SMALLEST_WEIGHT = 1e-100
# Passes that LIBLINEAR can count.
MOST_PASSES = 2**31 - 1


@group
class LLSVM(Landmarks, AnyKernel, Talkative, ExpansionEstimator):
    """What classifier and regressor share: features, then a linear problem."""

    C: float = parameter(
        POSITIVE,
        default=1.0,
        text="Weight of the losses, whose sum it multiplies.",
    )
    max_iter: int = parameter(
        Interval(Integral, 1, MOST_PASSES, closed="both"),
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
    def _solver(self, **options: Any) -> Any:
        """Solver of the linear problem, unfitted."""

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
        solver = self._solver(
            C=self.C,
            fit_intercept=False,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
            random_state=int(order.integers(2**31)),
        )
        if self._loses_a_class(y, weight):
            # LIBLINEAR drops rows of weight 0, and complains if that drops a class.
            weight = np.maximum(weight, SMALLEST_WEIGHT * weight.max())
        solver.fit(mapper.transform(X, self._n_jobs()), y, sample_weight=weight)
        coef = np.atleast_2d(solver.coef_) @ mapper.mapping.matrix.T
        self._expansion = expansion_of(kernel, mapper.points.astype(X.dtype), coef)
        self._refuse_overflow(not self._expansion.is_bounded)
        self._started_with = self._learning_parameters()
        self.t_, self.n_iter_ = len(y), int(np.max(solver.n_iter_))

    def _loses_a_class(self, y: np.ndarray, weight: np.ndarray | None) -> bool:
        if weight is None or not is_classifier(self):
            return False
        return len(np.unique(y[weight > 0])) < len(np.unique(y))


@system(example="budget=50, gamma=2.0", score=0.98)
class LLSVMClassifier(LLSVM, BatchClassifier):
    """Linear support vector machine on the Nystrom features of landmarks."""

    loss: str = parameter(
        one_of({"hinge", "squared_hinge"}),
        default="hinge",
        text="Name of the loss.",
    )

    def _solver(self, **options: Any) -> Any:
        if self.loss == "squared_hinge":  # LIBLINEAR's has no 1/2
            options["C"] /= 2.0
        from sklearn.svm import LinearSVC  # slow to import

        return LinearSVC(loss=self.loss, dual=True, **options)


@system(example="budget=20", score=0.99)
class LLSVMRegressor(LLSVM, Tube, BatchRegressor):
    """Linear support vector regression on the Nystrom features of landmarks."""

    def _solver(self, **options: Any) -> Any:
        from sklearn.svm import LinearSVR  # slow to import

        return LinearSVR(epsilon=self.epsilon, dual=True, **options)
