"""The command line: `onkel` and its commands, one a file."""

import signal
import sys
from typing import Any


def _stop(number: int, frame: Any) -> None:
    # As an exception, so that what is half written is cleared away.
    sys.exit(128 + number)


def main() -> None:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        from onkel.cli.commands import onkel
    except ImportError as error:
        if error.name is None or error.name.startswith("onkel"):
            raise
        print(
            f"onkel: the command line needs {error.name}, which is not installed with "
            'onkel itself: pip install "onkel[cli]"',
            file=sys.stderr,
        )
        sys.exit(1)
    onkel(prog_name="onkel")
