"""Checks of what a model file says about rows, which anybody may have written."""

from typing import Any


def require(holds: bool, what: str) -> None:
    """Refuse a state, saying what it describes, unless something holds."""
    if not holds:
        raise ValueError(what)


def is_texts(value: Any) -> bool:
    """Tell whether something is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
