"""A source file of C under construction: arrays and functions, as they are added."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from onkel.export.precision import Precision, rounded

# Numbers of an array in a line.
ACROSS = 6


class Source:
    """Arrays and functions, whose names all begin alike.

    Examples
    --------
    >>> source = Source("moons")
    >>> source.array([0.5, 2.0], "factors")
    'moons_array1'
    >>> print(source.text)
    static const float moons_array1[2] = {
        0.5f, 2.0f,
    };
    <BLANKLINE>
    """

    def __init__(self, name: str, precision: str = "auto") -> None:
        self.name, self.precision = name, Precision(precision)
        self.dtype: type[np.floating] = np.float32  # of what is computed now
        self.size = 0  # bytes of all arrays
        self.has_double = False
        self._lines: list[str] = []
        self._count = 0

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self._lines)

    @property
    def real(self) -> str:
        """Name of the type of what is computed now."""
        return "float" if self.dtype is np.float32 else "double"

    def of_math(self, function: str) -> str:
        """Return the name of a function of math.h for that type."""
        return f"{function}f" if self.dtype is np.float32 else function

    def number(self, value: Any, what: str) -> str:
        """Write a number; `what` is for complaints."""
        return self._literal(rounded(value, what, self.dtype)[()])

    def array(self, values: Any, what: str) -> str:
        """Add an array of one or two dimensions; returns its name."""
        known = rounded(values, what, self.dtype)
        self.size += known.nbytes
        self.has_double |= self.dtype is np.float64
        name = self._named("array")
        shape = "".join(f"[{length}]" for length in known.shape)
        rows = known if known.ndim > 1 else [known]
        lines = [f"static const {self.real} {name}{shape} = {{"]
        for row in rows:
            words = [self._literal(value) for value in row]
            lines += _row(words) if known.ndim > 1 else _wrapped(words)
        self._lines += [*lines, "};", ""]
        return name

    def function(self, body: Iterable[str], what: str = "step") -> str:
        """Add a function of one vector that writes another; returns its name."""
        name = self._named(what)
        head = f"static void {name}(const float *x, float *out)"
        self.add([head, "{", *indented(body), "}"])
        return name

    def add(self, lines: Iterable[str]) -> None:
        """Add lines, and an empty one after them."""
        self._lines += [*lines, ""]

    def _named(self, what: str) -> str:
        self._count += 1
        return f"{self.name}_{what}{self._count}"

    def _literal(self, value: Any) -> str:
        return f"{value!s}f" if self.dtype is np.float32 else f"{value!s}"


def indented(lines: Iterable[str]) -> list[str]:
    """Lines of a block.

    Examples
    --------
    >>> indented(["", "a = b;"])
    ['', '    a = b;']
    """
    return [f"    {line}".rstrip() for line in lines]


def _row(words: list[str]) -> list[str]:
    """Lines of a row of an array; a short one takes a single line."""
    if len(words) <= ACROSS:
        return [f"    {{{', '.join(words)}}},"]
    return ["    {", *(f"    {line}" for line in _wrapped(words)), "    },"]


def _wrapped(words: list[str]) -> list[str]:
    lines = [words[first : first + ACROSS] for first in range(0, len(words), ACROSS)]
    return [f"    {', '.join(line)}," for line in lines]
