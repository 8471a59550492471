"""Setup: what all who run on a stream are given."""

from typing import NamedTuple

from onkel.race.problem import Problem


class Setup(NamedTuple):
    """What is learnt, in how many centres and features, with which kernel and seed."""

    problem: Problem
    budget: int
    gamma: float  # of the race
    seed: int = 0
