"""Models that `onkel fit` saved, with the preparation of their rows."""

from pathlib import Path
from typing import Any

from onkel.data import Preparation
from onkel.storage import model_file


def opened(path: Path) -> tuple[Any, Preparation]:
    """Read a model, and how its rows are to be prepared."""
    contents = model_file.read(path)
    extra = contents.extra
    if not isinstance(extra, dict) or "preparation" not in extra:
        raise ValueError(
            f"{path} does not say how the columns of a file become rows: it was saved "
            "by onkel.save, not by `onkel fit`. Use it from Python: onkel.load"
        )
    preparation = Preparation.from_state(extra["preparation"], contents.arrays)
    return contents.estimator, preparation


def saved(model: Any, path: Path, preparation: Preparation) -> None:
    """Write a model where `opened` finds it."""
    described, arrays = preparation.state()
    model_file.write(model, path, {"preparation": described}, arrays)
