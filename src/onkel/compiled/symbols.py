"""What is compiled on its own, and the names by which other compiled code calls it."""

from typing import Any

# All functions, as far as their modules are imported, by module and name.
FUNCTIONS: dict[str, Any] = {}
# Of the names in this process: the function, and the types of its arguments.
SYMBOLS: dict[str, tuple[Any, Any]] = {}

# How the compiled names of functions begin that stay functions of their own.
NEVER_INLINED: list[str] = []
