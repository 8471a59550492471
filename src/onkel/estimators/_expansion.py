"""What all systems share that predict by an expansion, however it was found."""

import copy
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner
from onkel.estimators._checks import CheckedEstimator, levels_to_the_caller
from onkel.estimators._progress import CallbackSupportMixin

# Parameters that say how to run, not what to learn.
PRESENTATION = {"verbose", "n_jobs", "block_size", "monitor", "device"}


class ExpansionEstimator(CallbackSupportMixin, CheckedEstimator):
    """A system with a fitted expansion."""

    # Names of a system's variants, where it has several, and the parameters of each.
    _variants: ClassVar[dict[str, dict[str, Any]]] = {}

    @classmethod
    def _suited(cls, rows: int, is_regression: bool) -> dict[str, Any]:
        """Parameters for a stream of so many rows, which no default could know."""
        return {}

    @abstractmethod
    def _answer(self) -> FittedExpansion:
        """Return what predicts; AttributeError before fit, so that hasattr is False."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        """Begin anew and learn from all rows, which are checked."""

    def _learners(self) -> list[Learner]:
        """All that learn row by row; none before fit."""
        return []

    def _forget_beginning(self) -> None:
        """Leave nothing of a stream that had just begun."""

    # ---- what was learnt

    @property
    def support_vectors_(self) -> np.ndarray:
        """Centres, shape (model_size_, n_features_in_)."""
        return self._answer().centers

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients, shape (outputs, model_size_)."""
        return self._answer().center_coef

    @property
    def model_size_(self) -> int:
        """Number of centres; explicit features, as FOGD's, are in `feature_coef_`."""
        return self._answer().size

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._checked_rows(X)
        return self._answer().score(X, self._n_jobs())

    # ---- learning

    def _warn_of_device(self, text: str) -> None:
        warnings.warn(text, stacklevel=levels_to_the_caller())

    def _refuse_overflow(self, happened: bool) -> None:
        """Refuse what was learnt if it is not finite."""
        if happened:
            raise ValueError(
                f"The coefficients of {type(self).__name__} overflowed in this call; "
                "nothing was learnt from it. Smaller numbers help: features and "
                "targets scaled to unit variance, a larger alpha or t0, or a smaller "
                "eta0, C, degree or sample_weight."
            )

    def _learning_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        return {
            name: copy.copy(value) if isinstance(value, dict) else value
            for name, value in parameters.items()
            if name not in PRESENTATION
        }

    @abstractmethod
    def _checked_data(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Check rows and targets; with `reset` they say what a row is."""

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        """Weights of the rows, None for all alike."""
        return None

    @abstractmethod
    def _encoded(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Targets of all rows as compiled code reads them, and how many outputs."""

    def _fit_all(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Begin anew and learn from all rows."""
        with self._draft() as draft:
            draft._check_parameters()
            draft._forget_beginning()
            X, y = draft._checked_data(X, y, reset=True)
            weight = draft._weight(X, y, sample_weight, streaming=False)
            targets, outputs = draft._encoded(y)
            draft._fit(X, targets, weight, outputs)
        self._warn_if_useless(X, y)
        return self

    def _warn_if_useless(self, X: Any, y: np.ndarray) -> None:
        """Say so if a constant would have served better."""
