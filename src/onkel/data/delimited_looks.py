"""How the fields of CSV look: separators, headers, numbers and what is missing."""

import csv
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# A column is one of numbers if this share of its first block is.
MOSTLY = 0.9
# What a missing value looks like.
BLANKS = {"?", "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A"}
# A point for each three digits, as where the comma is the decimal sign.
THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")


def split(line: str, separator: str) -> list[str]:
    """Return the fields of a line."""
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"{error} Lines must end in line feeds.") from error


def is_number(field: str) -> bool:
    """Tell a number as pyarrow reads it."""
    try:
        float(field)
    except ValueError:
        return False
    # Python takes 1_000 and digits of all scripts, pyarrow does not.
    return field.isascii() and "_" not in field


def is_number_with_comma(field: str) -> bool:
    """Tell a number whose decimal sign, if it has one, is a comma.

    Examples
    --------
    >>> [is_number_with_comma(field) for field in ("0,25", "7", "0.25", "1,2,3")]
    [True, True, False, False]
    """
    return "." not in field and is_number(field.replace(",", ".", 1))


def is_number_of_any_kind(field: str) -> bool:
    """Tell a number, whatever its decimal sign."""
    return is_number(field) or is_number_with_comma(field)


def separator_of(line: str) -> str:
    """Tell what separates the fields of a line.

    Examples
    --------
    >>> separator_of("a;b"), separator_of("0,5;1,25;3"), separator_of("a,b;c")
    (';', ';', ',')
    """
    # Commas may be decimal signs, which make as many fields as semicolons do.
    for sign in ";\t":
        fields = split(line, sign)
        if len(fields) > 1 and all(
            "," not in field or is_number_with_comma(field) for field in fields
        ):
            return sign
    return max(",;\t", key=lambda sign: len(split(line, sign)))


def is_header(first: list[str], second: list[str], commas: bool = False) -> bool:
    """Tell whether a line has names: texts above numbers, or different texts only.

    Examples
    --------
    >>> is_header(["height", "2001"], ["1.5", "3"])
    True
    >>> is_header(["0", "udp"], ["1", "tcp"])
    False
    """
    is_one = is_number_of_any_kind if commas else is_number
    texts = [bool(field) and not is_one(field) for field in first]
    above = zip(first, texts, second, strict=False)
    if any(
        text and is_one(under) and field not in BLANKS for field, text, under in above
    ):
        return True
    return all(texts) and len(set(first)) == len(first) and first != second


def is_empty(block: "RecordBatch", name: str) -> bool:
    """Tell whether a column has no value."""
    return block.column(name).null_count == block.num_rows


def mostly(check: Callable[[str], Any], column: Any) -> bool:
    """Tell whether nearly all that a column of texts has passes a check."""
    # As many as are enough to tell.
    fields = column.slice(0, 10_000).drop_null().to_pylist()
    return bool(fields) and sum(map(bool, map(check, fields))) >= MOSTLY * len(fields)
