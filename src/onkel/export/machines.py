"""Machines: steps of a formula for KernelClassifier and KernelRegressor.

All that is read of them is read here. A machine has a fixed model; in the midst of a
stream it has quick learners beside it, and the scores of all are mixed.
"""

from typing import Any

import numpy as np

from onkel.estimators._machine_stream import StreamingMachine
from onkel.estimators.kernel import KernelClassifier, KernelRegressor
from onkel.export.expansions import expansion
from onkel.export.formula import Bent, Beside, Mixed, Scaled, Steps
from onkel.export.scalings import scaling
from onkel.refit.calibration import bends_of


def machine_scores(machine: StreamingMachine) -> Steps:
    """Return the steps from a row to the scores of a machine."""
    rows = _weighed(machine.scaler_, machine.relevance_)
    fixed = *rows, expansion(machine._answer())
    if machine._quick is None:
        return fixed
    # The scores of all quick learners, one learner after the other.
    choice = machine._choice
    rows = _weighed(choice.scaler, choice.relevance)
    quick = *rows, expansion(machine._quick.answer())
    mixed = Mixed(machine.mixture_, float(machine._mixture.largest[0]))
    return (Beside((fixed, quick)), mixed)


def _weighed(scaler: Any, relevance: np.ndarray | None) -> Steps:
    """Return the steps from a row to its features, scaled and weighed."""
    if relevance is None or (relevance == 1.0).all():
        return scaling(scaler)
    return *scaling(scaler), Scaled(np.zeros(len(relevance)), relevance)


def machine_targets(machine: KernelRegressor) -> Steps:
    """Return the steps from a row to the targets of a machine."""
    scale, mean = machine.target_scale_, machine.target_mean_
    return (
        *machine_scores(machine),
        Scaled(np.array([-mean / scale]), np.array([scale])),
    )


def machine_odds(machine: KernelClassifier) -> Steps:
    """Return the steps from the scores of a machine to log-odds."""
    if machine._quick is not None:
        return ()  # what a stream mixes are log-odds
    slopes = machine.calibration_
    return (Bent(np.array(bends_of(slopes)), slopes),)
