"""Options that several commands share, and what they mean."""

import json
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import scipy.sparse
from click.core import ParameterSource

from onkel.cli.screen import bar, note
from onkel.cli.stdin import spooled
from onkel.data import MISSING, SCALINGS, BadFileError, Dataset, Preparation, dataset
from onkel.race.baselines import Baselines
from onkel.race.orders import MOST_BYTES, bytes_of, shuffled
from onkel.tune.tune import accepted, class_of

BATCH_ROWS = 65_536
MIB = 2**20
# Gammas that rows decide, in a stream the first so many.
GAMMAS, FIRST_ROWS = ("scale", "median"), 1000


def _column(context: Any, parameter: Any, text: str | None) -> int | str | None:
    """Return a number for a number: columns have names or places."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


_DATA_OPTIONS = [
    click.option(
        "--target", callback=_column, help="Column to predict, name or number [last]."
    ),
    click.option("--positive", help="One class against the rest: that class."),
    click.option("--above", type=float, help="Two classes: target above this, or not."),
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
    ),
    click.option(
        "--scaling",
        type=click.Choice(["auto", *SCALINGS]),
        default="auto",
        show_default=True,
        help="auto: as in the catalogue; for files standard, or maxabs if sparse.",
    ),
    click.option(
        "--missing",
        type=click.Choice(list(MISSING)),
        default="fill",
        show_default=True,
        help="Empty cells, NA, NaN, null, ?: the median and an indicator (texts: a "
        "category of their own), or refuse the file.",
    ),
    click.option(
        "--keep",
        multiple=True,
        help="Column to use though it looks like an identifier; may be repeated.",
    ),
]
_PLACE_OPTIONS = [
    click.option("--drop", multiple=True, help="Column not to use; may be repeated."),
    click.option(
        "--format",
        type=click.Choice(["csv", "tsv", "arff", "parquet", "arrow", "libsvm"]),
        help="Of the file [that of its suffix].",
    ),
    click.option(
        "--mirror",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of data sets [$ONKEL_DATA_MIRROR].",
    ),
    click.option(
        "--part",
        type=click.Choice(["train", "test", "all"]),
        default="train",
        show_default=True,
        help="Of a data set in the catalogue.",
    ),
]

batch_rows = click.option(
    "--batch-rows",
    type=click.IntRange(min=1),
    default=BATCH_ROWS,
    show_default=True,
    help="Rows in memory at a time.",
)
memory = click.option(
    "--memory",
    type=click.IntRange(min=0),
    default=MOST_BYTES // MIB,
    show_default=True,
    help="MiB that rows may take to be loaded and shuffled; more is streamed.",
)
seed = click.option("--seed", type=int, default=0, show_default=True)
# The one that finds its parameters itself: KernelClassifier or KernelRegressor.
NO_KNOBS = "kernel"
system = click.option(
    "--system",
    default=NO_KNOBS,
    show_default=True,
    help="kernel finds its parameters itself; others are avm, bogd, bsgd, fogd ...",
)
budget = click.option("--budget", type=click.IntRange(min=1), help="Most centres.")
gamma = click.option(
    "--gamma", help='Kernel coefficient, "scale" or "median"; "auto" for kernel.'
)
parameters = click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other parameter of the system; as often as you like.",
)


# Where rows are, and what they mean, which a model knows by itself.
PLACE_OPTIONS = ("drop", "format", "mirror", "part")
MEANING_OPTIONS = (
    *("target", "positive", "above", "task", "scaling", "missing", "keep"),
)
DATA_OPTIONS = MEANING_OPTIONS + PLACE_OPTIONS
SYSTEM_OPTIONS = ("system", "budget", "gamma", "parameters")


def refuse_beside(context: click.Context, option: str, names: Iterable[str]) -> None:
    """Refuse options that another one would make meaningless."""
    words = typed(context, names)
    if words:
        raise click.UsageError(f"{words[0]} cannot be given with {option}")


def output_file(path: Path) -> None:
    """Refuse, before anything is learnt, a file that could not be written."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")


def of_data(required: bool = True) -> Callable[..., Any]:
    """Give a command the argument DATA and the options that say how to read it."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(_DATA_OPTIONS):
            command = option(command)
        return click.argument("data", required=required)(of_place(command))

    return decorate


def of_place(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say where rows are."""
    for option in reversed(_PLACE_OPTIONS):
        command = option(command)
    return command


def command_line(context: click.Context) -> str:
    """Return what was typed, as one would type it again."""
    names = [str(parameter.name) for parameter in context.command.params]
    names.remove("as_json")
    return shlex.join(["onkel", str(context.info_name), *typed(context, names)])


def typed(context: click.Context, names: Iterable[str]) -> list[str]:
    """Return those arguments and options that somebody typed, in words."""
    words = []
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if source is not ParameterSource.COMMANDLINE or name not in names:
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(parameter, click.Argument):
                words.append(str(one))
            elif getattr(parameter, "is_flag", False):
                words.append(parameter.opts[0] if one else parameter.secondary_opts[0])
            else:
                words += [max(parameter.opts, key=len), str(one)]
    return words


def opened(data: str, given: dict[str, Any], **more: Any) -> Dataset:
    """Open a data set by the options of `of_data`, with a bar over its first pass."""
    how = {name: given[name] for name in DATA_OPTIONS if given[name] is not None}
    with bar(f"Reading {data}") as advance:
        rows = _dataset(data, announce=advance, **how | more)
    for said in rows.notes:
        note(said)
    return rows


def prepared(
    data: str, given: dict[str, Any], preparation: Preparation, **more: Any
) -> Dataset:
    """Open a data set by the options of `of_place`, for a model that was fitted."""
    place = {name: given[name] for name in PLACE_OPTIONS}
    rows = _dataset(data, preparation=preparation, **place, **more)
    for said in rows.notes:
        note(said)
    return rows


def _dataset(data: str, **how: Any) -> Dataset:
    """Open a data set; - is the standard input, kept until the command ends."""
    if data != "-":
        return dataset(data, **how)
    path = click.get_current_context().with_resource(spooled())
    try:
        return dataset(path, **how)
    except BadFileError as error:
        raise error.of(Path("stdin")) from error


def parsed(pairs: tuple[str, ...], **given: Any) -> dict[str, Any]:
    """Parameters of a system out of NAME=VALUE, and of options with a value.

    Examples
    --------
    >>> parsed(("alpha=1e-3", "loss=hinge"), budget=10, gamma=None)
    {'budget': 10, 'alpha': 0.001, 'loss': 'hinge'}
    """
    found = {name: _value(value) for name, value in given.items() if value is not None}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="-p")
        found[name] = _value(value)
    return found


def _value(text: Any) -> Any:
    """Return a number, true, false or null where it is one, and else the text."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except json.JSONDecodeError:
        return text


def made(name: str, data: Dataset, seed: int, given: dict[str, Any]) -> Any:
    """Make a system for a data set, unfitted."""
    if data.classes is not None and len(data.classes) < 2:
        raise ValueError(
            f"{data.name}: all rows have the label {data.classes[0]}, so that there is "
            "nothing to tell apart; is --target the right column?"
        )
    cls = class_of(name, data.is_regression)
    unknown = sorted(given.keys() - cls().get_params().keys())
    if unknown:
        known = ", ".join(cls().get_params())
        raise ValueError(f"{name} has no parameter {unknown[0]!r}, only {known}")
    drawn = accepted(name, data.is_regression, random_state=seed)
    return cls(**drawn | given)


class Learnt(NamedTuple):
    """How a model has learnt."""

    how: str
    baselines: Baselines
    is_stream: bool


def learn(model: Any, data: Dataset, given: dict[str, Any]) -> Learnt:
    """Let a model learn a data set, in bounded memory where it can.

    What fits into memory is learnt as a whole, a larger file as a stream that is
    shuffled within its batches, or as a whole if somebody asks for that. A system that
    needs all rows at once gets them; one that has no order to learn them in becomes a
    stream where the order is to be kept.
    """
    asked = given["shuffle"]
    shuffle = not data.in_order if asked is None else asked
    rows, most = given["batch_rows"], given["memory"] * MIB
    some = next(data.batches(rows)).X
    size = bytes_of(some) / some.shape[0] * data.n_rows
    has_order = "shuffle" in model.get_params()
    if has_order and not shuffle:
        model.set_params(shuffle=False)
    is_small = size <= most
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
    known = {} if data.is_regression else {"classes": data.classes}
    too_large = f"the rows take {size / MIB:,.0f} MiB, --memory is {given['memory']:,}"
    rng = np.random.default_rng(given["seed"])
    parts: Iterable[tuple[Any, np.ndarray]]
    if not shuffle:
        how = "as a stream, in the order of the file"
        parts = ((X, y) for X, y, _ in data.batches(rows))
    elif asked:
        how = f"as a stream, shuffled as a whole: {too_large}"
        parts = shuffled(data, rows, given["seed"], most)
    else:
        how = f"as a stream, shuffled within batches of {rows:,} rows: {too_large}"
        orders = ((X, y, rng.permutation(len(y))) for X, y, _ in data.batches(rows))
        parts = ((X[order], y[order]) for X, y, order in orders)
    with bar("Learning", total=data.n_rows) as advance:
        for X, y in parts:
            model.partial_fit(X, y, **known)
            baselines.add(y)
            advance(baselines.rows)
    return Learnt(how, baselines, True)


def settle_gamma(model: Any, data: Dataset) -> None:
    """Take a gamma that depends on the rows from the first ones, not the first batch.

    So a stream is learnt alike in batches of any size.
    """
    if not hasattr(model, "t_") and getattr(model, "gamma", None) in GAMMAS:
        first = next(data.batches(FIRST_ROWS)).X
        model.set_params(gamma=float(model._gamma(first)))


def describe(data: Dataset) -> dict[str, Any]:
    """Rows, features, and what is to be predicted."""
    X = next(data.batches(1)).X
    described: dict[str, Any] = {
        "data": data.name,
        "rows": data.n_rows,
        "features": data.n_features,
        "storage": "sparse" if scipy.sparse.issparse(X) else "dense",
    }
    told = {"missing_cells": data.missing, "left_out": data.left_out}
    described |= {name: dict(columns) for name, columns in told.items() if columns}
    if data.classes is None or data.counts is None:
        return described | {"task": "regression"}
    counts = dict(zip(map(str, data.classes), map(int, data.counts), strict=True))
    return described | {"task": "classification", "classes": counts}
