"""What a parameter is: its default, its range and its documentation, in one place.

A group of parameters is a class that systems inherit (`_groups`). Who inherits one may
declare a parameter anew, with only what differs: another default, range or text.

What a user gives as a number may be numpy's, whose arithmetic is another: 255 + 1 is 0
in uint8. So a numeric parameter is kept as it was given, for `get_params` and `clone`,
and read, as in `self.budget`, as Python's int or float (`Plain`).
"""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils._param_validation import Interval, StrOptions

from onkel.estimators._examples import example as example_of
from onkel.estimators._registry import register

C = TypeVar("C", bound=type)

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
# What compiled code can count.
FROM_ONE = Interval(Integral, 1, 2**62, closed="both")
FROM_TWO = Interval(Integral, 2, 2**62, closed="both")
# Most of what is allocated at once.
UP_TO_A_MILLION = Interval(Integral, 1, 10**6, closed="both")
SHARE = Interval(Real, 0, 1, closed="right")
BOOLEAN = "boolean"
AUTO = StrOptions({"auto"})


def one_of(names: Iterable[str]) -> StrOptions:
    """Range of a parameter that takes one of some names."""
    return StrOptions(set(names))


def parameter(*allowed: Any, default: Any, text: str | None = None) -> Any:
    """Declare a parameter of a group or a system.

    Parameters
    ----------
    *allowed
        What it may be, as scikit-learn writes it; none for what was inherited.
    default
        Its default.
    text
        Its documentation; None for what was inherited.
    """
    said = {"allowed": list(allowed), "text": text}
    metadata = {key: value for key, value in said.items() if value}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(parameter,)
)
def group(cls: C) -> C:
    """Decorate a class whose annotations are parameters."""
    dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
    return cls


class Plain:
    """A parameter that is read as Python's number, whatever kind of number it is.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import RBPClassifier
    >>> model = RBPClassifier(budget=np.uint8(255))
    >>> model.budget + 1, model.get_params()["budget"]
    (256, np.uint8(255))
    """

    def __init__(self, name: str, kind: type) -> None:
        self.name, self.kind = name, kind

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        try:
            value = vars(estimator)[self.name]
        except KeyError:
            raise AttributeError(
                f"{owner.__name__!r} object has no attribute {self.name!r}"
            ) from None
        return self.read(value)

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)[self.name] = value

    def read(self, value: Any) -> Any:
        """Return the number; what is none, or of a wrong kind, is left as it is."""
        if isinstance(value, Integral if self.kind is int else Real):
            with contextlib.suppress(OverflowError):  # the check of ranges will say so
                return self.kind(value)
        return value


def kind_of(allowed: list[Any]) -> type | None:
    """Python's type for the numbers of a range, None if there are none in it."""
    kinds = {entry.type for entry in allowed if isinstance(entry, Interval)}
    return None if not kinds else int if kinds == {Integral} else float


def said(cls: type, name: str, what: str) -> Any:
    """Return what the nearest class says of a parameter."""
    for base in cls.__mro__:
        declared = vars(base).get("__dataclass_fields__", {}).get(name)
        if declared is not None and what in declared.metadata:
            return declared.metadata[what]
    raise TypeError(f"nobody gives {cls.__name__}.{name} its {what}")


def _declared(cls: type) -> list[str]:
    """Parameters that a class brings along; a group brings those that it extends."""
    if dataclasses.is_dataclass(cls) and len(cls.__bases__) == 1:
        return [field.name for field in dataclasses.fields(cls)]
    return list(inspect.get_annotations(cls))


def _names(cls: type) -> list[str]:
    """Parameters of a system: its own first, then those of its groups."""
    known = {field.name for field in dataclasses.fields(cls)}
    in_order = (name for base in cls.__mro__ for name in _declared(base))
    return [name for name in dict.fromkeys(in_order) if name in known]


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(parameter,)
)
def system(*, example: str | None = None, score: float = 0.0) -> Callable[[C], C]:
    """Decorate a system: a constructor, ranges and texts of all parameters, a place.

    The place is in the registry, where races, model files and checks look. `example`
    has parameters for the example in the docstring, which then gets that score.
    """

    def decorate(cls: C) -> C:
        group(cls)
        names = _names(cls)
        allowed = {name: said(cls, name, "allowed") for name in names}
        cls._parameter_constraints = allowed  # type: ignore[attr-defined]
        for name in names:
            if (kind := kind_of(allowed[name])) is not None:
                setattr(cls, name, Plain(name, kind))
        summary, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n")
        if example is not None:
            given = ", ".join(filter(None, [example, "random_state=0"]))
            rest += example_of(cls.__name__, given, score)
        cls.__doc__ = "\n".join([summary, *_documented(cls, names), rest])
        register(cls)
        return cls

    return decorate


def _documented(cls: Any, names: list[str]) -> list[str]:
    """Put the constructor's parameters in this order; return lines about each."""
    given = inspect.signature(cls.__init__)
    in_order = [given.parameters["self"], *(given.parameters[name] for name in names)]
    cls.__init__.__signature__ = given.replace(parameters=in_order)
    lines = ["", "Parameters", "----------"]
    for name in names:
        default = given.parameters[name].default
        lines += [f"{name} : default={default!r}", f"    {said(cls, name, 'text')}"]
    return lines
