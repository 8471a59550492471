"""Prepared rows: the formula of a model that `onkel fit` saved with its preparation."""

import numpy as np

from onkel.data.preparation import Preparation
from onkel.export.formula import Filled, Formula, Scaled, Steps
from onkel.export.scalings import scaling

ROWS, GAPS = "features of a file as numbers, not yet scaled", "NaN where one is missing"


def prepared(formula: Formula, preparation: Preparation) -> Formula:
    """Return the formula of rows that are neither filled nor scaled yet.

    They have the numbers of the file, NaN where one is missing, if the preparation
    fills it, then 1 or 0 for each category and for whether a cell is missing: as
    `Preparation.features` names them.
    """
    wide = preparation.width
    steps: Steps = ()
    rows = ROWS
    if preparation.medians is not None:
        rows = f"{ROWS}, {GAPS}"
        rest = np.zeros(wide - len(preparation.medians))
        steps += (Filled(np.concatenate([preparation.medians, rest])),)
    for step in scaling(preparation.scaling.scaler):
        assert isinstance(step, Scaled)  # so are all scalings of files
        rest = np.zeros(wide - len(step.mean))
        mean = np.concatenate([step.mean, rest])
        steps += (Scaled(mean, np.concatenate([step.factor, rest + 1.0])),)
    # Features of LIBSVM's format have no names.
    names = None if preparation.columns is None else tuple(preparation.features)
    return formula.after(steps, rows, names)
