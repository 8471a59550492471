"""KernelClassifier and KernelRegressor: kernel machines without knobs.

    min_b  1/2 b' G b + C sum_i l(f(x_i), y_i),    f(x) = sum_j b_j k(x, c_j)

Merging finds the centres c_j: one pass of BSCA, whose model is thrown away. Their
coefficients are then those of the convex problem, solved to the end (see
`onkel.refit`), which cures what an online pass leaves: noise, and the dependence on the
order of rows. Where there are rows enough, centres move from there to where they
describe the target better, and features get weights, both by descent on the same
objective. gamma and C are found on rows held out, and so are the number of those steps,
the score that the model claims for itself and the line that makes probabilities of
scores.

| symbol | here |
|---|---|
| c_j, b_j | support_vectors_ (of features scaled, times relevance_), dual_coef_ |
| l | squared_hinge or log_loss; squared_error or epsilon_insensitive |
| G | kernel values of the centres with each other |
| B | budget |

In a stream four learners answer together, with weights that are learnt from row to row
(`onkel.engine.mixture`). Three quick ones have most of the budget, and share their
centres: recursive least squares (as KRLS) with a memory that leaves nothing and with
one that forgets, and passive-aggressive steps with projection (as BPA-P); they learn
each row at once. A fixed one is fitted to the last memory_size rows now and then, in
the background: scale, gamma, C, centres and coefficients. There it is also tried what
gamma, scale, noise or weights of features would suit the quick ones better; a successor
with these learns recent rows beside the stream until it has caught up. What comes of it
begins at a row that is settled before, so that results do not depend on how fast the
machine is, and no call waits long.

Deviations from what was first meant: the quick learners project instead of merging and
are not averaged. On streams that change, such as elec2, steps that repair make the
fewest mistakes; where nothing changes, recursive least squares or the fixed learner.
"""

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._class_weights import weights_of_rows
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import Tube
from onkel.estimators._machine_quick import LEARNERS
from onkel.estimators._machine_stream import (
    FIRST_ORDER,
    SOON,
    StreamingMachine,
)
from onkel.estimators._parameters import one_of, parameter, system
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem import losses
from onkel.problem.losses import Loss
from onkel.refit.calibration import log_odds
from onkel.refit.fitter import Solution
from onkel.refit.held_out import Targets
from onkel.refit.scoring import OF_CLASSES, OF_TWO, OF_VALUES, error, error_of

# Rows that a re-fit needs, of two classes each.
ENOUGH = 5
# Share of the weight below which one of two classes is rare.
RARE = 0.05
# Largest log-odds that a stream mixes: margins are far smaller than those of rare rows.
LARGEST_LOG_ODDS = 8.0


def _is_rare(is_second: np.ndarray, weight: np.ndarray | None) -> bool:
    """Whether one of two classes has little weight.

    The squared hinge forgets rows once they are beyond the margin, and with them what
    tells the rare ones from all others.
    """
    share = float(np.average(is_second, weights=weight))
    return 0.0 < min(share, 1.0 - share) < RARE


@system()
class KernelClassifier(StreamingMachine, LossClassifier):
    """Kernel machine on a budget that finds its parameters itself.

    Under class_weight `predict` and `predict_proba` are those of data in which classes
    are as frequent as the weights make them, as in scikit-learn's classifiers: divide
    each column by the weight of its class, and each row by its sum, for probabilities
    of the data as they are. `held_out_score_` is that of the data as they are.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import KernelClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = KernelClassifier(budget=50, random_state=0).fit(X[:300], y[:300])
    >>> float(model.score(X[300:], y[300:])), round(model.held_out_score_, 2)
    (0.99, 1.0)
    """

    loss: str = parameter(
        one_of({"auto", "squared_hinge", "log_loss"}),
        default="auto",
        text='Name of the loss. "auto": in fit, log_loss if there are two classes and '
        "one has less than 5 % of the weight; otherwise squared_hinge. `loss_` says "
        "which.",
    )
    scoring: str | None = parameter(one_of(OF_CLASSES), None, default=None)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, calibrated on rows held out.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities of shape (n_samples, n_classes)
            The likeliest class is the one that `predict` names. Under class_weight,
            of data in which classes are as frequent as the weights make them.
        """
        return super().predict_proba(X)

    def _has_probabilities(self) -> bool:
        return True

    def _log_odds(self, X: Any) -> np.ndarray:
        scores = super()._log_odds(X)
        # What a stream mixes are log-odds already.
        if self._quick is not None or len(self.classes_) == 1:
            return scores
        return log_odds(scores, self.calibration_)

    def _fit(self, X: Any, y: np.ndarray, weight: Any, outputs: int) -> None:
        self._choose_loss(is_rare=outputs == 1 and _is_rare(y > 0.0, weight))
        super()._fit(X, y, weight, outputs)

    def _begin(self, X: Any, outputs: int) -> None:
        self._choose_loss(is_rare=False)
        super()._begin(X, outputs)

    def _choose_loss(self, is_rare: bool) -> None:
        of_auto = "log_loss" if is_rare else "squared_hinge"
        self.loss_ = of_auto if self.loss == "auto" else self.loss

    def _smooth_loss(self) -> Loss:
        # A model of the version before has no choice.
        return losses.make(self.__dict__.get("loss_", self.loss))

    def _judged(self, targets: Targets) -> Targets:
        if self.scoring in OF_TWO and targets.outputs > 1:
            raise ValueError(
                f"scoring={self.scoring!r} is for two classes, and here are "
                f"{targets.outputs}: take scoring={OF_TWO[self.scoring]!r}"
            )
        measure = None if self.scoring is None else partial(error, self.scoring)
        return targets._replace(measure=measure, plain=self._plain(targets))

    def _plain(self, targets: Targets) -> np.ndarray | None:
        """Weights of the rows without those of their classes."""
        if self.class_weight is None:
            return None
        index = targets.labels()
        of_class: Any = weights_of_rows(
            self.class_weight, index[:, np.newaxis], self.classes_[index], None, False
        )
        # What rows of a class without weight weighed, nobody knows.
        return np.divide(
            targets.weight, of_class, out=np.ones(len(index)), where=of_class > 0.0
        )

    def _warn_of_overlooked(self, found: Solution) -> None:
        if len(found.overlooked):
            names = ", ".join(map(repr, self.classes_[found.overlooked].tolist()))
            warnings.warn(
                f"KernelClassifier predicted no row held out to be of class {names}, "
                "though some are: rows of it are rare, or like those of others. If "
                "they matter more, say so by class_weight, for example "
                'class_weight="balanced", or choose parameters by '
                'scoring="balanced_accuracy" or "average_precision"; predict_proba '
                "says how likely they are in any case.",
                stacklevel=levels_to_the_caller(),
            )

    def _online_loss(self) -> Loss:
        return losses.make("hinge")

    def _score_of(self, error: float, scoring: str | None) -> float:
        return error_of(error, scoring or "accuracy")

    def _take_slopes(self, slopes: Any) -> None:
        self.calibration_ = slopes

    def _first_weights(self) -> np.ndarray:
        # The log-odds of a fitted model, so that learning goes on from these.
        known = self.__dict__.get("calibration_")
        if known is None:
            return self._weights_of_none()
        low, high = log_odds(np.array([-1.0, 1.0]), known)
        return np.array([(high - low) / 2.0, *np.ones(LEARNERS)])

    def _weights_of_none(self) -> np.ndarray:
        return np.ones(1 + LEARNERS)

    def _index(self, y: np.ndarray) -> np.ndarray:
        return y.copy() if len(self.classes_) > 2 else (y > 0.0).astype(np.float64)

    def _signed(self, index: np.ndarray) -> np.ndarray:
        return index if self._outputs > 1 else 2.0 * index - 1.0

    def _is_enough(self, y: np.ndarray, weight: np.ndarray) -> bool:
        # Of two classes at least.
        counts = np.bincount(y[weight > 0.0].astype(int))
        return int((counts >= ENOUGH).sum()) >= 2

    def _mixture_loss(self) -> Loss:
        return losses.make("log_loss")

    def _largest_score(self) -> float:
        # A model of the version before, without loss_, goes on as it did.
        if self.__dict__.get("loss_") == "log_loss":
            return LARGEST_LOG_ODDS
        return super()._largest_score()

    def _count_mistakes(self, scores: np.ndarray, y: np.ndarray) -> int:
        if scores.shape[1] == 1:
            return int(((scores[:, 0] > 0.0) != (y > 0.0)).sum())
        return int((scores.argmax(axis=1) != y).sum())

    def _relabel(self, matrix: np.ndarray, position: np.ndarray) -> None:
        super()._relabel(matrix, position)
        self._fixed = self._fixed.relabelled(matrix)

    def _add_class(self, label: Any, scores: np.ndarray | None) -> np.ndarray | None:
        old = self.classes_
        scores = super()._add_class(label, scores)
        self._recent = self._recent.copy()
        self._recent.relabel(np.searchsorted(self.classes_, old))
        # What is under way does not know the label. A re-fit is to, before any trial,
        # and when there are some rows of it.
        self._order = self._background = self._successor = None
        soon = max(math.ceil(SOON * self._tally.t), FIRST_ORDER)
        is_planned = self._tally.t < self._next_order < soon
        self._next_order = self._next_order if is_planned else soon
        self._next_trial = max(self._next_trial, self._next_order + 1)
        return scores


@system()
class KernelRegressor(StreamingMachine, Tube, WeightedRegressor):
    """Kernel machine on a budget for numbers, which finds its parameters itself.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import KernelRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = KernelRegressor(budget=50, random_state=0).fit(X[:300], y[:300])
    >>> round(float(model.score(X[300:], y[300:])), 2)
    1.0
    """

    is_regression = True

    loss: str = parameter(
        one_of({"squared_error", "epsilon_insensitive"}),
        default="squared_error",
        text="Name of the loss.",
    )
    scoring: str | None = parameter(one_of(OF_VALUES), None, default=None)

    def _smooth_loss(self) -> Loss:
        if self.loss == "squared_error":
            return losses.make(self.loss)
        return losses.make("smooth_tube", self.epsilon, smoothing=0.1)

    def _online_loss(self) -> Loss:
        return losses.make("epsilon_insensitive", self.epsilon)

    def _score_of(self, error: float, scoring: str | None) -> float:
        if scoring in (None, "r2"):
            return 1.0 - error**2
        return error_of(error, scoring) * self.target_scale_ ** OF_VALUES[scoring]

    def _judged(self, targets: Targets) -> Targets:
        # The default is R^2.
        if self.scoring in (None, "r2"):
            return targets
        return targets._replace(measure=partial(error, self.scoring))

    def _scale_targets(self, y: np.ndarray) -> None:
        self.target_mean_, self.target_scale_ = float(y.mean()), float(y.std()) or 1.0

    def _targets(self, y: np.ndarray, weight: np.ndarray, outputs: int) -> Targets:
        y = (y - self.target_mean_) / self.target_scale_
        return super()._targets(y, weight, outputs)

    def _meant(self, scores: np.ndarray) -> np.ndarray:
        return scores.astype(np.float64) * self.target_scale_ + self.target_mean_

    def _warn_if_useless(self, X: Any, y: np.ndarray) -> None:
        """Say nothing: a constant is among what was tried."""

    def _index(self, y: np.ndarray) -> np.ndarray:
        return y.copy()

    def _signed(self, index: np.ndarray) -> np.ndarray:
        return index

    def _is_enough(self, y: np.ndarray, weight: np.ndarray) -> bool:
        return int((weight > 0.0).sum()) >= ENOUGH

    def _mixture_loss(self) -> Loss:
        return losses.make("squared_error")

    def _first_weights(self) -> np.ndarray:
        return np.array([1.0, *np.zeros(LEARNERS)])

    def _weights_of_none(self) -> np.ndarray:
        # All of them predict the whole target.
        return np.array([0.0, *np.full(LEARNERS, 1.0 / LEARNERS)])

    def _count_mistakes(self, scores: np.ndarray, y: np.ndarray) -> int:
        return 0
