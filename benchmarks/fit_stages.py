"""KernelClassifier and KernelRegressor: where the time of a fit goes, 500 centres.

Search: gamma and C by trials with few rows; merging: centres to begin with; solving:
coefficients of all rows; moves: of centres, and of weights of features.
"""

import contextlib
import io
import re
import time

import numpy as np
from rich.console import Console

import onkel
from benchmarks.tables import table
from onkel.data.catalogue import load
from onkel.refit.stopwatch import Work

SETS = ("magic04", "a9a", "ijcnn1", "cod-rna", "covtype", "cadata", "casp")
VALUES = ("cadata", "casp")


def main(console: Console) -> None:
    shown = table("fit, 500 centres, one thread", ["data", "rows", "seconds", *Work])
    for name in SETS:
        X, y = load(name)
        system = onkel.KernelRegressor if name in VALUES else onkel.KernelClassifier
        model = system(random_state=0, device="cpu", verbose=1)
        few = np.random.default_rng(0).choice(len(y), 500, replace=False)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            model.fit(X[few], y[few])  # compiled, if it is not
            begun = time.perf_counter()
            model.fit(X, y)
            took = time.perf_counter() - begun
        told = said.getvalue().splitlines()[-1]
        parts = dict(re.findall(r"(\w+) ([\d.]+) s", told))
        seconds = [float(parts.get(work, 0.0)) for work in Work]
        shares = (f"{100 * each / sum(seconds):.0f} %" for each in seconds)
        shown.add_row(name, f"{len(y):,}", f"{took:.1f}", *shares)
    console.print(shown)
