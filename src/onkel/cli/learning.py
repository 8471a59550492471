"""Learning of a data set by a system, in bounded memory where it can."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from onkel.cli import options
from onkel.cli.screen import bar
from onkel.data import Dataset
from onkel.data.shuffling import bytes_of, shuffled
from onkel.race.baselines import Baselines
from onkel.tune.tune import accepted, class_of

# Gammas that rows decide, in a stream the first so many.
GAMMAS, FIRST_ROWS = ("scale", "median"), 1000

# Rows and their targets, as they are learnt.
Parts = Iterable[tuple[Any, np.ndarray]]


class Passage(NamedTuple):
    """How rows pass, as the options of a command say."""

    shuffle: bool | None  # None if nobody asked
    batch_rows: int
    memory: int  # MiB
    seed: int

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Passage":
        """Take from the options of a command what belongs here."""
        return cls(*(given[name] for name in cls._fields))

    def in_order(self, data: Dataset) -> Parts:
        """Read rows as they come."""
        return ((X, y) for X, y, _ in data.batches(self.batch_rows))

    def shuffled(self, data: Dataset) -> Parts:
        """Read all rows in random order, in bounded memory."""
        most = self.memory * options.MIB
        return shuffled(data, self.batch_rows, self.seed, most)

    def shuffled_within(self, data: Dataset) -> Parts:
        """Read rows in their order, but each batch in a random one."""
        rng = np.random.default_rng(self.seed)
        orders = ((X, y, rng.permutation(len(y))) for X, y in self.in_order(data))
        return ((X[order], y[order]) for X, y, order in orders)


def made(data: Dataset, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Make the system that options ask for, unfitted, and say its parameters."""
    name = given["system"]
    chosen = options.parsed(
        given["parameters"], budget=given["budget"], gamma=given["gamma"]
    )
    if data.classes is not None and len(data.classes) < 2:
        raise ValueError(
            f"{data.name}: all rows have the label {data.classes[0]}, so that there is "
            "nothing to tell apart; is --target the right column?"
        )
    cls = class_of(name, data.is_regression)
    unknown = sorted(chosen.keys() - cls().get_params().keys())
    if unknown:
        known = ", ".join(cls().get_params())
        raise ValueError(f"{name} has no parameter {unknown[0]!r}, only {known}")
    drawn = accepted(name, data.is_regression, random_state=given["seed"])
    return cls(**drawn | chosen), chosen


class Learnt(NamedTuple):
    """How a model has learnt."""

    how: str
    baselines: Baselines
    is_stream: bool


def learn(model: Any, data: Dataset, passage: Passage) -> Learnt:
    """Let a model learn a data set, in bounded memory where it can.

    What fits into memory is learnt as a whole, a larger file as a stream that is
    shuffled within its batches, or as a whole if somebody asks for that. A system that
    needs all rows at once gets them; one that has no order to learn them in becomes a
    stream where the order is to be kept.
    """
    shuffle = not data.in_order if passage.shuffle is None else passage.shuffle
    some = next(data.batches(passage.batch_rows)).X
    size = bytes_of(some) / some.shape[0] * data.n_rows
    has_order = "shuffle" in model.get_params()
    if has_order and not shuffle:
        model.set_params(shuffle=False)
    is_small = size <= passage.memory * options.MIB
    if not is_small and getattr(model, "max_iter", 1) != 1:
        raise ValueError(
            f"{data.name} is streamed, once: max_iter={model.max_iter} needs it in "
            "memory, so give more by --memory"
        )
    baselines = Baselines(data.is_regression)
    whole = is_small and (shuffle or has_order)
    if whole or not hasattr(model, "partial_fit"):
        X, y = data.load()
        baselines.add(y)
        with bar("Learning"):
            model.fit(X, y)
        return Learnt("all rows at once", baselines, False)
    settle_gamma(model, data)
    rows, mebibytes = passage.batch_rows, size / options.MIB
    too_large = f"the rows take {mebibytes:,.0f} MiB, --memory is {passage.memory:,}"
    if not shuffle:
        how = "in the order of the file"
        parts = passage.in_order(data)
    elif passage.shuffle:
        how = f"shuffled as a whole: {too_large}"
        parts = passage.shuffled(data)
    else:
        how = f"shuffled within batches of {rows:,} rows: {too_large}"
        parts = passage.shuffled_within(data)
    _stream(model, data, parts, baselines)
    return Learnt(f"as a stream, {how}", baselines, True)


def _stream(model: Any, data: Dataset, parts: Parts, baselines: Baselines) -> None:
    known = {} if data.is_regression else {"classes": data.classes}
    with bar("Learning", total=data.n_rows) as advance:
        for X, y in parts:
            model.partial_fit(X, y, **known)
            baselines.add(y)
            advance(baselines.rows)


def settle_gamma(model: Any, data: Dataset) -> None:
    """Take a gamma that depends on the rows from the first ones, not the first batch.

    So a stream is learnt alike in batches of any size.
    """
    if not hasattr(model, "t_") and getattr(model, "gamma", None) in GAMMAS:
        first = next(data.batches(FIRST_ROWS)).X
        model.set_params(gamma=float(model._gamma(first)))
