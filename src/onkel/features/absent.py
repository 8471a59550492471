"""No features: the model is a kernel expansion."""

from typing import NamedTuple

from onkel.features.dispatch import room, width


class Absent(NamedTuple):
    """No feature map."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type


@width.register(Absent)
def _none(features: Absent) -> int:
    return 0


@room.register(Absent)
def _room(mapping: Absent, slots: int) -> int:
    return 0
