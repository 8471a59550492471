"""The command line: `onkel` and its commands, one a file."""

import sys


def main() -> None:
    """Run the command line."""
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
