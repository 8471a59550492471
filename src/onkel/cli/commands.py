"""All commands under one name.

Exit codes: 0 for success, 1 for a program that failed, 2 for a bad call or a bad file,
130 for an interruption.
"""

import importlib
import os
import sys
from typing import Any

import click

from onkel._version import __version__

# Where each command is, and what it does. The modules are imported when they are asked
# for: the compiler behind the systems takes seconds to come up.
COMMANDS = {
    "data": ("data:data", "List, describe and fetch data sets."),
    "fit": ("fit:fit", "Learn a model from a file and save it."),
    "predict": ("predict:predict", "Predict the rows of a file."),
    "evaluate": ("evaluate:evaluate", "Say how well a model predicts a file."),
    "export": ("export:export", "Write a model as ONNX or as C."),
    "race": ("race:race", "Race all systems on a file: tables, pictures, a page."),
    "tune": ("tune:tune", "Find the parameters of a system."),
    "reproduce": ("reproduce:reproduce", "Repeat a table or figure of a paper."),
    "cache": ("cache:cache", "List compiled code, compile ahead, or remove it."),
    "svm-train": ("svm:svm_train", "Train as LIBSVM's svm-train, on a budget."),
    "svm-predict": ("svm:svm_predict", "Predict as LIBSVM's svm-predict."),
}


class Refusal(click.ClickException):
    """A bad call or a bad file: the message alone, and exit code 2."""

    exit_code = 2


class Commands(click.Group):
    """Commands that are loaded when needed, and refuse with messages."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Load a command."""
        if name not in COMMANDS:
            return None
        module, _, function = COMMANDS[name][0].partition(":")
        return getattr(importlib.import_module(f"onkel.cli.{module}"), function)

    def format_commands(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write what the commands do, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])

    def invoke(self, context: click.Context) -> Any:
        """Run the command; what is wrong with its input ends it with code 2."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            # Whoever read our output has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            context.exit(1)
        except (ValueError, OSError, ImportError) as error:
            if context.params["debug"]:
                raise
            # Bad files, bad parameters and missing data are ValueErrors or OSErrors.
            kind = click.ClickException if isinstance(error, ImportError) else Refusal
            raise kind(_message(error)) from error


def _message(error: Exception) -> str:
    """Say what is wrong; the system's own errors have the name of the file apart."""
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename or 'onkel'}: {error.strerror}"
    return str(error)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="onkel")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
def onkel(debug: bool) -> None:
    """Kernel learning on a budget, online.

    DATA is a file (CSV, Parquet, Arrow, ARFF, or LIBSVM text, which may be compressed
    by gzip, bzip2 or xz), - for the standard input, or the name of a data set: see
    `onkel data list`.
    """
