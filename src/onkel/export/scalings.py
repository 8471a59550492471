"""Scalings: steps of a formula that do what a fitted scaler does."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from onkel.export.formula import Arcsinh, Scaled, Steps
from onkel.refit.soft_scaler import SoftScaler


@singledispatch
def scaling(scaler: Any) -> Steps:
    """Return the steps of a scaler; none for None.

    Examples
    --------
    >>> scaler = MaxAbsScaler().fit(np.array([[4.0], [-2.0]]))
    >>> (step,) = scaling(scaler)
    >>> step.factor.tolist()
    [0.25]
    """
    raise ValueError(f"a {type(scaler).__name__} cannot be exported")


@scaling.register(type(None))
def _none(scaler: None) -> Steps:
    return ()


@scaling.register(SoftScaler)
def _soft(scaler: SoftScaler) -> Steps:
    return (Scaled(scaler.mean_, 1.0 / scaler.scale_), Arcsinh())


@scaling.register(StandardScaler)
def _standard(scaler: Any) -> Steps:
    # One that does not centre may know the mean all the same.
    mean = scaler.mean_ if scaler.with_mean else np.zeros(scaler.n_features_in_)
    return (Scaled(mean, 1.0 / scaler.scale_),)


@scaling.register(MaxAbsScaler)
def _largest(scaler: Any) -> Steps:
    return (Scaled(np.zeros(scaler.n_features_in_), 1.0 / scaler.scale_),)


@scaling.register(MinMaxScaler)
def _range(scaler: Any) -> Steps:
    return (Scaled(-scaler.min_ / scaler.scale_, scaler.scale_),)
