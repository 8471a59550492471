"""A stopwatch counts every second once, as of the innermost kind of work."""

import pytest

from onkel.refit.stopwatch import Stopwatch, Work, left


class Clock:
    """Time that passes when somebody says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_nothing_was_done_yet(clock: Clock) -> None:
    stopwatch = Stopwatch(clock)
    clock.now += 5.0
    assert stopwatch.seconds == {}
    assert str(stopwatch) == ""


def test_work_counts_and_what_is_between_does_not(clock: Clock) -> None:
    stopwatch = Stopwatch(clock)
    for seconds in (1.0, 2.0):
        clock.now += 10.0
        with stopwatch.of(Work.SEARCH):
            clock.now += seconds
    clock.now += 10.0
    with stopwatch.of(Work.MOVES):
        clock.now += 0.25
    clock.now += 10.0
    assert stopwatch.seconds == {Work.SEARCH: 3.0, Work.MOVES: 0.25}
    assert str(stopwatch) == "search 3.0 s, moves 0.2 s"


def test_work_within_work_is_not_counted_twice(clock: Clock) -> None:
    stopwatch, begun = Stopwatch(clock), clock.now
    with stopwatch.of(Work.SOLVING):
        clock.now += 1.0
        with stopwatch.of(Work.MERGING):
            clock.now += 2.0
            with stopwatch.of(Work.SOLVING):
                clock.now += 4.0
            clock.now += 8.0
        clock.now += 16.0
        with stopwatch.of(Work.MERGING):
            clock.now += 32.0
    assert stopwatch.seconds == {Work.SOLVING: 21.0, Work.MERGING: 42.0}
    assert sum(stopwatch.seconds.values()) == clock.now - begun


def test_work_that_fails_took_its_time_too(clock: Clock) -> None:
    stopwatch = Stopwatch(clock)
    with (
        pytest.raises(KeyError),
        stopwatch.of(Work.SEARCH),
        stopwatch.of(Work.MERGING),
    ):
        clock.now += 3.0
        raise KeyError
    clock.now += 10.0
    with stopwatch.of(Work.SOLVING):
        clock.now += 1.0
    assert stopwatch.seconds == {
        Work.SEARCH: 0.0,
        Work.MERGING: 3.0,
        Work.SOLVING: 1.0,
    }


def test_kinds_are_told_in_the_order_in_which_they_began(clock: Clock) -> None:
    stopwatch = Stopwatch(clock)
    for kind in reversed(Work):
        with stopwatch.of(kind):
            clock.now += 1.0
    assert str(stopwatch) == "moves 1.0 s, solving 1.0 s, merging 1.0 s, search 1.0 s"


def test_its_own_clock_goes_on() -> None:
    stopwatch = Stopwatch()
    with stopwatch.of(Work.SEARCH):
        sum(range(1000))
    assert 0.0 < stopwatch.seconds[Work.SEARCH] < 60.0


@pytest.mark.parametrize(
    ("done", "of", "took", "said"),
    [
        (0, 40, 0.0, ""),
        (0, 40, 9.0, ""),
        (10, 40, 5.0, ", at most 15 s left"),
        (39, 40, 39.0, ", at most 1 s left"),
        (40, 40, 7.0, ", at most 0 s left"),
    ],
)
def test_what_is_left_takes_as_long_as_what_was_done(
    done: int, of: int, took: float, said: str
) -> None:
    assert left(done, of, took) == said
