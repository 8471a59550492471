"""The stub: what editors and type checkers read, who run no code to find the classes.

`python -m onkel.river._stub src/onkel/river/__init__.pyi` writes it; a test says when
that is due.
"""

import inspect
import sys
from pathlib import Path
from typing import Any

from onkel.river._face import faces

HEAD = '''"""The systems of onkel for River; written by `onkel.river._stub`."""

from dataclasses import dataclass
from typing import Any

from onkel.river._classifier import OnlineClassifier, WeightedClassifier
from onkel.river._regressor import OnlineRegressor, WeightedRegressor
'''


def stub() -> str:
    """Return the text of the stub.

    Examples
    --------
    >>> "class RBPClassifier(OnlineClassifier):" in stub()
    True
    """
    return "\n\n".join([HEAD, *map(_declared, faces().values())]) + "\n"


def _declared(face: Any) -> str:
    """Declare one class, which is a dataclass of its parameters."""
    lines = [
        "@dataclass(kw_only=True, eq=False, repr=False)",
        f"class {face.__name__}({face.__base__.__name__}):",
        f'    """{face.__doc__.partition(chr(10))[0]}"""',
        "",
    ]
    for given in inspect.signature(face).parameters.values():
        kind, default = inspect.formatannotation(given.annotation), given.default
        shown = f'"{default}"' if isinstance(default, str) else default
        lines += [f"    {given.name}: {kind} = {shown}"]
    return "\n".join(lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(stub())
