"""Streams for the tests: River's own data sets, read once and short."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base, datasets

Rows = list[tuple[dict[str, float], Any]]
# What River's checks take of a data set at least, and twice that where they measure how
# memory grows.
SHORT, LONG = 60, 120


@functools.cache
def phishing(rows: int) -> Rows:
    return list(datasets.Phishing().take(rows))


@functools.cache
def images(rows: int) -> Rows:
    """Seven classes, each of which occurs soon."""
    return list(datasets.ImageSegments().take(rows))


@functools.cache
def approval(rows: int) -> Rows:
    return list(datasets.TrumpApproval().take(rows))


def streams_for(model: Any, scale: int = 1) -> Iterator[Rows]:
    """As `river.checks._yield_datasets`, but short, so that all can have them."""
    rows = SHORT if scale == 1 else LONG
    if isinstance(model, base.Regressor):
        yield approval(rows)
        return
    yield phishing(rows)
    yield [(x, np.bool_(y)) for x, y in phishing(rows)]
    yield images(rows)


def made_up(rows: int, features: int = 5, classes: int = 2, seed: int = 0) -> Any:
    """Rows, labels and targets; `named` makes dicts of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    labels = np.digitize(f, np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1]))
    return X, labels, f


def named(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip("abcdefgh"[: len(x)], x.tolist(), strict=True)) for x in X]
