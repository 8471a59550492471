"""Streams by KernelClassifier: what a row costs beside KRLS, and whether a chunk waits.

A chunk of 500 rows takes so long on the clock; the first is apart, as it begins the
models. Time of the processor counts every thread, re-fits in the background included.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import onkel
from benchmarks.tables import table
from onkel.data.catalogue import load

BUDGETS, CHUNK, ROWS, WARM_UP = (500, 100), 500, 50_000, 4_000
HEADS = ("data", "budget", "KRLS, us a row", "ours", "ratio", "median chunk, ms")
HEADS += ("slowest", "in medians", "first chunk, in medians")


class Passed(NamedTuple):
    """A stream, chunk by chunk."""

    seconds: np.ndarray  # on the clock
    worked: float  # of the processor, a row


def passed(model: Any, X: np.ndarray, y: np.ndarray) -> Passed:
    """Learn a stream."""
    known = np.unique(y)
    seconds, started = [], time.process_time()
    for first in range(0, len(y), CHUNK):
        some, begun = slice(first, first + CHUNK), time.perf_counter()
        model.partial_fit(X[some], y[some], classes=known)
        seconds.append(time.perf_counter() - begun)
    return Passed(np.array(seconds), (time.process_time() - started) / len(y))


def main(console: Console) -> None:
    """Print the table."""
    shown = table("Streams of KernelClassifier, one thread and one behind", HEADS)
    with threadpool_limits(1):
        for name in ("ijcnn1", "cod-rna", "elec2"):
            X, y = load(name)
            X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)[:ROWS]
            y, scaled = y[:ROWS], StandardScaler().fit_transform(X).astype(np.float32)
            if name == "cod-rna":  # its file is sorted by label
                order = np.random.default_rng(0).permutation(len(y))
                X, y, scaled = X[order], y[order], scaled[order]
            for budget in BUDGETS:
                made = {"budget": budget, "random_state": 0}
                for kind in (onkel.KernelClassifier, onkel.KRLSClassifier):
                    passed(kind(**made), X[:WARM_UP], y[:WARM_UP])
                ours = passed(onkel.KernelClassifier(**made), X, y)
                krls = passed(onkel.KRLSClassifier(**made), scaled, y)
                first, *later = ours.seconds / np.median(ours.seconds)
                shown.add_row(
                    *(name, f"{budget}", f"{1e6 * krls.worked:.1f}"),
                    *(f"{1e6 * ours.worked:.1f}", f"{ours.worked / krls.worked:.1f}"),
                    f"{1e3 * np.median(ours.seconds):.1f}",
                    f"{1e3 * max(ours.seconds[1:]):.0f}",
                    *(f"{max(later):.1f}", f"{first:.1f}"),
                )
    console.print(shown)
