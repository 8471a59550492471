"""Models that `onkel fit` saved, with the preparation of their rows."""

from pathlib import Path
from typing import Any, NamedTuple

from onkel.cli.odds import Odds
from onkel.data import Preparation
from onkel.storage import model_file


class Opened(NamedTuple):
    """A model, and what was saved with it."""

    model: Any
    preparation: Preparation
    odds: Odds | None = None  # of svm-train -b 1


class Found(NamedTuple):
    """A model, and what may have been saved with it: nothing, by onkel.save."""

    model: Any
    preparation: Preparation | None = None
    odds: Odds | None = None


def found(path: Path) -> Found:
    """Read a model, whoever saved it."""
    contents = model_file.read(path)
    model, extra = contents.estimator, contents.extra
    if not isinstance(extra, dict) or "preparation" not in extra:
        return Found(model)
    try:
        preparation = Preparation.from_state(extra["preparation"], contents.arrays)
        if extra.get("odds") is None:
            return Found(model, preparation)
        classes = len(getattr(model, "classes_", ()))
        return Found(model, preparation, Odds.from_state(extra["odds"], classes))
    except Exception as error:  # a digest is no signature
        raise model_file.ModelFileError(
            f"{path} does not say in a way that makes sense how the columns of a file "
            f"become rows: {error!r}"
        ) from error


def opened(path: Path) -> Opened:
    """Read a model, and how its rows are to be prepared."""
    model, preparation, odds = found(path)
    if preparation is None:
        raise ValueError(
            f"{path} does not say how the columns of a file become rows: it was saved "
            "by onkel.save, not by `onkel fit`. Use it from Python: onkel.load"
        )
    return Opened(model, preparation, odds)


def size_of(model: Any) -> dict[str, int]:
    """How large a model is: centres, and explicit features where it has some."""
    size = {"model_size": model.model_size_}
    if hasattr(model, "feature_coef_"):
        size["explicit_features"] = model.feature_coef_.shape[1]
    return size


def saved(
    model: Any, path: Path, preparation: Preparation, odds: Odds | None = None
) -> None:
    """Write a model where `opened` finds it."""
    described, arrays = preparation.state()
    extra = {"preparation": described}
    if odds is not None:
        extra["odds"] = odds.state()
    model_file.write(model, path, extra, arrays)
