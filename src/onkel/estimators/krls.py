"""KRLS: kernel recursive least squares on a budget, with tracking (KRLS-T).

    f ~ GP(0, k),    y_t = f(x_t) + N(0, sigma^2 / weight)

What is known of f is what is known of its values at the centres: their mean mu and
covariance Sigma, with K the Gram matrix of the centres, Q = K^-1. Row t is predicted,
forgotten towards the prior, and learnt:

    q = Q k_t,  f = q' mu,  r2 = k(x_t, x_t) - k_t' q
    Sigma <- lam Sigma + (1 - lam) K,  mu <- sqrt(lam) mu,  f <- sqrt(lam) f
    h = Sigma q,  var_f = r2 + q' h,  var_y = sigma^2 / weight + var_f
    x_t becomes a centre if r2 > nu k(x_t, x_t): mu gets f, h gets var_f, Sigma gets h
    mu <- mu + h (y_t - f) / var_y,  Sigma <- Sigma - h h' / var_y

Beyond the budget that centre leaves, perhaps the newcomer, for which the sum over
outputs of ((Q mu)_p / Q_pp)^2 is least: how far its value is from what the others say.
The others keep their distribution.

| symbol | here |
|---|---|
| sigma^2 | noise; k(x, x) is the variance of f before the first row |
| lam | forgetting |
| nu | threshold |
| M | budget |
| Q mu | dual_coef_ |

Van Vaerenbergh, Lazaro-Gredilla, Santamaria (2012), with the test of Engel, Mannor,
Meir (2004) for who becomes a centre.

Cost: O(budget^2) per row.

Deviations: all is kept in coordinates in which the prior is the standard normal
distribution (`onkel.engine.recursive`), and Q has a small jitter, as with all systems
that project (`onkel.model.inverse`); the result is the same. Forgetting begins with the
first row, is not counted by rows of weight 0, and goes back to the prior, as the paper
recommends. nu is a share of k(x, x). Classes are numbers: +1 and -1, with several
classes for each against the rest. sigma^2 and lam are given, or chosen by trying a few
values on the first rows; the paper climbs the likelihood. Nothing but the scale of the
errors is estimated further on, which the predicted standard deviations follow: f and
the noise have as many times the variance above as squared errors had of late, each over
its var_y. A label that comes late takes over outputs as with all systems here, so that
rows before it have not been of the rest for it. With max_iter > 1 a row counts as often
as it is learnt, and deviations are too small. pruning="norm", which the paper has not,
drops the centre with the least (Q mu)_p^2 / Q_pp, the squared norm of what the function
loses: better where centres are few (covtype, seven classes, 10,000 rows, 50 centres: 34
instead of 39 % progressive mistakes), dearer where newcomers then enter more often.
"""

import math
from typing import Any

import numpy as np

from onkel.engine import posterior
from onkel.engine.learner import Learner, ScoreOverflowError, Shape
from onkel.engine.posterior import Posterior
from onkel.engine.recipe import Recipe
from onkel.engine.recursive_plan import RecursivePlan
from onkel.estimators._beginning import FEW, LONGEST
from onkel.estimators._classifier import LossClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, Passes
from onkel.estimators._labels import encode, outputs_for
from onkel.estimators._parameters import (
    AUTO,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    group,
    one_of,
    parameter,
    system,
)
from onkel.estimators._recipe import RecipeEstimator
from onkel.estimators._regressor import WeightedRegressor
from onkel.problem import losses, rates
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate

# What "auto" tries, the first being what it takes without rows to try it on.
NOISES, FORGETTINGS = (0.1, 1e-3, 1e-2, 1.0), (1.0, 0.9995, 0.999, 0.99)
# Rows, and centres, of a trial.
TRIED, SMALL = LONGEST, 50
# Part of the squared error by which to forget must be better than not to: few rows say
# little about it.
CLEAR = 0.03


@group
class KRLS(Budgeted, AnyKernel, Passes, RecipeEstimator):
    """What classifier and regressor share."""

    budget: int = 100
    noise: float | str = parameter(
        POSITIVE,
        AUTO,
        default="auto",
        text="Variance of targets around the function, whose own variance is k(x, x) "
        'before the first row. "auto": one of 0.001, 0.01, 0.1 and 1, by the errors '
        "that each makes on the first rows (`noise_`).",
    )
    forgetting: float | str = parameter(
        SHARE,
        AUTO,
        default="auto",
        text="What a row leaves of what was known before it: 1 for a world that stays "
        'as it is. "auto": 1 or a little less, if that makes clearly fewer errors on '
        "the first rows (`forgetting_`); where rows are shuffled, 1.",
    )
    threshold: float = parameter(
        NOT_NEGATIVE,
        default=1e-3,
        text="A row becomes a centre if the centres do not represent more than this "
        "share of it.",
    )
    pruning: str = parameter(
        one_of({"norm", "value"}),
        default="value",
        text='Which centre leaves. "value": whose value the others know best. "norm": '
        "with which least of the function is lost.",
    )

    # Whether targets are classes.
    _has_labels = False

    def _loss(self) -> Loss:
        return losses.make("squared_error")

    def _rate(self) -> Rate:
        return rates.constant()

    def _budget(self, n_rows: int | None) -> Posterior:
        return posterior.make(self.budget)

    def _plan(self, kernel: Kernel) -> RecursivePlan:
        # By which to choose what is "auto", once.
        first_rows = self.__dict__.pop("_first_rows", None)
        if first_rows is not None:
            self.noise_, self.forgetting_ = self._choice(kernel, *first_rows)
        return self._plan_with(kernel, self.noise_, self.forgetting_)

    def _plan_with(
        self, kernel: Kernel, noise: float, forgetting: float
    ) -> RecursivePlan:
        return RecursivePlan(
            *(kernel, self._loss(), self._rate(), False),
            *(noise, forgetting, float(self.threshold), self._has_labels),
            self.pruning == "norm",
        )

    # ---- what the first rows decide

    def _tries(self) -> bool:
        return isinstance(self.noise, str) or isinstance(self.forgetting, str)

    def _depends_on_rows(self) -> bool:
        return super()._depends_on_rows() or self._tries()

    def _choice(
        self,
        kernel: Kernel,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        outputs: int,
        in_order: bool,
    ) -> tuple[float, float]:
        """Choose noise and forgetting by the errors that they make on these rows."""
        noise = NOISES[0] if isinstance(self.noise, str) else float(self.noise)
        is_open = isinstance(self.forgetting, str)
        forgetting = FORGETTINGS[0] if is_open else float(self.forgetting)
        if len(y) < FEW:
            return noise, forgetting

        def error(noise: float, forgetting: float) -> float:
            plan = self._plan_with(kernel, noise, forgetting)
            recipe = Recipe(plan, posterior.make(min(self.budget, SMALL)))
            shape = Shape(outputs, X.shape[1], X.dtype)
            learner = Learner(recipe, shape, np.random.default_rng(0))
            try:
                scores = np.concatenate(list(learner.learn(X, y, weight)))
            except ScoreOverflowError:  # whoever learns will say so
                return math.inf
            with np.errstate(over="ignore"):
                errors = (scores - _targets(y, outputs)) ** 2
                return float(weight @ errors.sum(axis=1))

        def best_noise() -> float:
            return min(NOISES, key=lambda noise: error(noise, forgetting))

        if isinstance(self.noise, str):
            noise = best_noise()
        if is_open and in_order:
            errors = [error(noise, forgetting) for forgetting in FORGETTINGS]
            errors[0] *= 1.0 - CLEAR
            forgetting = FORGETTINGS[int(np.argmin(errors))]
            if isinstance(self.noise, str) and forgetting < 1.0:
                noise = best_noise()
        return noise, forgetting

    def _start_with(self, X: Any, y: np.ndarray) -> None:
        # Of the very first call, y is that of rows to come, too.
        rows = min(TRIED, X.shape[0])
        targets, outputs = self._numbered(y[:rows])
        self._first_rows = X[:rows], targets, np.ones(rows), outputs, True
        super()._start_with(X, y)

    def _numbered(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Targets of the first rows as compiled code reads them, and outputs."""
        return y, 1

    def _fit(self, X: Any, y: Any, weight: Any, outputs: int) -> None:
        rows = np.arange(len(y))
        if self.shuffle:
            rows = np.random.default_rng(0).permutation(rows)
        rows = rows[:TRIED]
        some = np.ones(len(rows)) if weight is None else weight[rows]
        self._first_rows = X[rows], y[rows], some, outputs, not self.shuffle
        super()._fit(X, y, weight, outputs)

    def _take_statistics(self, like: Any) -> None:
        super()._take_statistics(like)
        for name in ("noise", "forgetting"):
            if isinstance(getattr(self, name), str):
                setattr(self, name, getattr(like.plan, name))
            setattr(self, f"{name}_", getattr(self, name))


def _targets(y: np.ndarray, outputs: int) -> np.ndarray:
    """What the scores of some rows were to be, shape (rows, outputs)."""
    if outputs == 1:
        return y[:, np.newaxis]
    return 2.0 * (y[:, np.newaxis] == np.arange(outputs)) - 1.0


@system(example="", score=0.98)
class KRLSClassifier(KRLS, LossClassifier):
    """Recursive least squares towards +1 and -1."""

    _has_labels = True

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, calibrated on the rows as they came.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities of shape (n_samples, n_classes)
            The logistic function, or softmax, of the scores times a slope that suited
            the rows before they were learnt. The likeliest class is the one that
            `predict` names.
        """
        return super().predict_proba(X)

    def _has_probabilities(self) -> bool:
        return True

    def _odds(self, scores: np.ndarray) -> np.ndarray:
        return scores * float(self._fitted().budget.tally[0].slope)

    def _numbered(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        classes = np.unique(y)
        if len(classes) < 2:
            return np.ones(0), 1
        return encode(y, classes), outputs_for(classes)


@system(example="", score=1.0)
class KRLSRegressor(KRLS, WeightedRegressor):
    """Recursive least squares; says how sure it is."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        return_std : bool
            Whether to return standard deviations, too.

        Returns
        -------
        targets of shape (n_samples,)
            The scores.
        deviations of shape (n_samples,)
            If asked for: how far targets will be from these, noise included.
        """
        still = self._still()
        scores = still._scores(X)[:, 0]
        if not return_std:
            return scores
        plan, belief = still._learner.plan, still._learner.budget
        model, known = still._learner.model, still._checked_rows(X)
        variances = posterior.variances(plan.kernel, belief, model, known)
        tally = belief.tally[0]
        scale = tally.misfit / tally.rows if tally.rows else 1.0
        return scores, np.sqrt(scale * (variances + plan.noise))
