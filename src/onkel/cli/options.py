"""Options that several commands share, and what they mean."""

import json
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from onkel.cli.screen import bar, note
from onkel.cli.stdin import spooled
from onkel.data import BadFileError, Dataset, Preparation, ReadingOptions, dataset
from onkel.data.opening import READERS
from onkel.data.reading_options import CHOICES
from onkel.data.shuffling import MOST_BYTES
from onkel.data.tables import BATCH_ROWS

MIB = 2**20


def _column(context: Any, parameter: Any, text: str | None) -> int | str | None:
    """Return a number for a number: columns have names or places."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


COUNT = click.IntRange(min=1)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
MODEL_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

# Help for those of `onkel.data.ReadingOptions` that are options of commands: what rows
# mean, which a model knows by itself, and where they are.
_MEANING: dict[str, str | None] = {
    "target": "Column to predict, name or number [last].",
    "positive": "One class against the rest: that class.",
    "above": "Two classes: target above this, or not.",
    "task": None,
    "scaling": "auto: as in the catalogue; for files standard, or maxabs if sparse.",
    "missing": "Empty cells, NA, NaN, null, ?: the median and an indicator (texts: a "
    "category of their own), or refuse the file.",
    "keep": "Column to use though it looks like an identifier; may be repeated.",
}
_PLACE: dict[str, str | None] = {
    "drop": "Column not to use; may be repeated.",
    "format": "Of the file [that of its suffix].",
    "mirror": "Folder of data sets [$ONKEL_DATA_MIRROR].",
    "part": "Of a data set in the catalogue.",
}
_TYPES: dict[str, dict[str, Any]] = {
    **{name: {"type": click.Choice(words)} for name, words in CHOICES.items()},
    "target": {"callback": _column},
    "above": {"type": float},
    "format": {"type": click.Choice(list(READERS))},
    "mirror": {"type": FOLDER},
    "part": {"type": click.Choice(["train", "test", "all"])},
    "drop": {"multiple": True},
    "keep": {"multiple": True},
}
PLACE_OPTIONS, MEANING_OPTIONS = tuple(_PLACE), tuple(_MEANING)
DATA_OPTIONS = MEANING_OPTIONS + PLACE_OPTIONS
SYSTEM_OPTIONS = ("system", "budget", "gamma", "parameters")


def _reading_option(name: str, help: str | None) -> Any:
    default, how = getattr(ReadingOptions, name) or None, _TYPES.get(name, {})
    return click.option(f"--{name}", default=default, help=help, **how)


mirror = _reading_option("mirror", _PLACE["mirror"])
batch_rows = click.option(
    "--batch-rows",
    type=COUNT,
    default=BATCH_ROWS,
    help="Rows in memory at a time.",
)
memory = click.option(
    "--memory",
    type=click.IntRange(min=0),
    default=MOST_BYTES // MIB,
    help="MiB that rows may take to be loaded and shuffled; more is streamed.",
)
seed = click.option("--seed", type=int, default=0)
# The one that finds its parameters itself: KernelClassifier or KernelRegressor.
NO_KNOBS = "kernel"
system = click.option(
    "--system",
    default=NO_KNOBS,
    help="kernel finds its parameters itself; others are avm, bogd, bsgd, fogd ...",
)
budget = click.option("--budget", type=COUNT, help="Most centres.")
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


def refuse_beside(context: click.Context, option: str, names: Iterable[str]) -> None:
    """Refuse options that another one would make meaningless."""
    words = typed(context, names)
    if words:
        raise click.UsageError(f"{words[0]} cannot be given with {option}")


def output_file(path: Path) -> None:
    """Refuse, before anything is learnt, a file that could not be written."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")


def of_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how to read DATA."""
    return _with_options(command, _PLACE | _MEANING)


def of_place(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say where rows are."""
    return _with_options(command, _PLACE)


def of_system(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which system, and its parameters."""
    return system(budget(gamma(parameters(command))))


def _with_options(
    command: Callable[..., Any], helps: dict[str, str | None]
) -> Callable[..., Any]:
    for name, help in reversed(helps.items()):
        command = _reading_option(name, help)(command)
    return command


def output(help: str, type: click.Path = FILE, default: Path | None = None) -> Any:
    """Make the option --output of a command."""
    return click.option("-o", "--output", type=type, default=default, help=help)


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


def opened(data: str, given: dict[str, Any]) -> Dataset:
    """Open a data set by the options of `of_data`, with a bar over its first pass."""
    how = {name: given[name] for name in DATA_OPTIONS}
    with bar(f"Reading {data}") as advance:
        rows = _dataset(data, announce=advance, **how)
    _tell(rows)
    return rows


def prepared(
    data: str, given: dict[str, Any], preparation: Preparation, labelled: bool = True
) -> Dataset:
    """Open a data set by the options of `of_place`, for a model that was fitted."""
    place = {name: given[name] for name in PLACE_OPTIONS}
    rows = _dataset(data, preparation=preparation, labelled=labelled, **place)
    _tell(rows)
    return rows


def _tell(rows: Dataset) -> None:
    for said in rows.notes:
        note(said)


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
