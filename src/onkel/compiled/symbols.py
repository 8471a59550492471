"""What is compiled on its own, and the names by which other compiled code calls it."""

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# All functions, as far as their modules are imported, by module and name.
FUNCTIONS: dict[str, Any] = {}
# Of the names in this process: the function, and the types of its arguments.
SYMBOLS: dict[str, tuple[Any, Any]] = {}

# How the compiled names of functions begin that stay functions of their own.
NEVER_INLINED: list[str] = []

# Files of other packages whose code is compiled with ours, and digests of them as they
# were when they were imported.
OUTSIDE: dict[str, str] = {}


def note_source(function: Callable) -> None:
    """Take note of a file of another package, on which compiled code will depend."""
    if function.__module__.split(".")[0] == "onkel":
        return
    try:
        path = inspect.getfile(function)
        content = Path(path).read_bytes()
    except (OSError, TypeError):
        # Nobody knows whether code without a file will be the same the next time.
        path, content = f"{function.__module__}.{function.__qualname__}", os.urandom(16)
    OUTSIDE[path] = hashlib.sha256(content).hexdigest()
