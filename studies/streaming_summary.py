"""What came out of `studies.streaming`: the newcomer beside the best of the others."""

from collections.abc import Mapping, Sequence

import numpy as np

from onkel.measuring.markdown import markdown, spread_of
from onkel.measuring.records import Record, Records
from studies.streaming_references import REFERENCES
from studies.streaming_results import Result, Standing, error_of, results, standing
from studies.streaming_streams import STREAMS
from studies.streaming_systems import CHOSEN

CLOSE = 0.002  # a gap that is called close
FAR = 9.99  # errors beyond it are told in powers of ten


def percent(error: float) -> str:
    """Write an error as it stands in a table.

    Examples
    --------
    >>> percent(0.07283), percent(123456.0), percent(float("inf"))
    ('7.28', '1.2e+07', '')
    """
    if not np.isfinite(error):
        return ""
    return f"{100 * error:.2f}" if error < FAR else f"{100 * error:.1e}"


def with_spread(errors: Sequence[float] | np.ndarray) -> str:
    """Write a mean over orders, with its deviation where there are several."""
    if len(errors) < 2 or not np.isfinite(errors).all():
        return percent(float(np.mean(errors))) if len(errors) else ""
    return spread_of([100 * error for error in errors], digits=2)


def signed(gaps: np.ndarray) -> str:
    """Write a gap in points.

    Examples
    --------
    >>> signed(np.array([-0.001, -0.003])), signed(np.array([0.0005]))
    ('-0.20 ± 0.14', '+0.05')
    """
    if not len(gaps):
        return ""
    said = f"{100 * gaps.mean():+.2f}"
    return f"{said} ± {100 * gaps.std(ddof=1):.2f}" if len(gaps) > 1 else said


def _named(result: Result | None, errors: Sequence[float] | np.ndarray) -> str:
    return "" if result is None else f"{result.system} {with_spread(errors)}"


def measure_of(about: Mapping[str, Record] | Record) -> str:
    """What is counted on a stream, in words."""
    return "mistakes" if about["classes"] else "error"


def _task(about: Record) -> str:
    return f"{about['classes']} classes" if about["classes"] else "regression"


def standings(records: Records) -> dict[str, Standing]:
    """How it stands, by stream."""
    return {
        name: standing(results(records, name)) for name in STREAMS if name in records
    }


def _row(name: str, records: Records) -> list[str]:
    found = results(records, name)
    newcomer, best, searched = stood = standing(found)
    river = {result.system: result.best for result in found if result.is_reference}
    return [
        name,
        _task(records[name]),
        "" if newcomer is None else f"**{with_spread(newcomer.errors)}**",
        _named(best, [] if best is None else best.errors),
        signed(stood.gaps),
        _named(
            searched, [] if searched is None else [error_of(searched.first[CHOSEN])]
        ),
        *(percent(error_of(river.get(system, {}))) for system in REFERENCES),
    ]


def table(records: Records) -> list[str]:
    """A line a stream."""
    heads = ["stream", "", "KernelClassifier, -Regressor", "best of the others", "gap"]
    heads += ["best with parameters searched for, first order", *REFERENCES]
    there = [name for name in STREAMS if name in records]
    return markdown(heads, [_row(name, records) for name in there])


def verdict(records: Records) -> str:
    """Say on how many streams the newcomer is close to the best, and better."""
    stood = [each for each in standings(records).values() if len(each.gaps)]
    picked = [float(each.gaps.mean()) for each in stood]
    searched = [
        each.newcomer.errors[0] - error_of(each.searched.first[CHOSEN])
        for each in stood
        if each.newcomer is not None and each.searched is not None
    ]

    def counted(gaps: Sequence[float]) -> str:
        close, better = (sum(gap <= most for gap in gaps) for most in (CLOSE, 0.0))
        return f"{close} of {len(gaps)} streams, and better on {better}"

    return (
        "The systems without knobs are within "
        f"{100 * CLOSE:.1f} points of the best of the others, or better, on "
        f"{counted(picked)}. The others' parameters are picked in hindsight there; "
        "of those that are searched for on the first rows, in the first order, it is "
        f"{counted(searched)}."
    )


def sentence(found: Sequence[Result], about: Record) -> str:
    """Say in words how the newcomer compares with the best of the others."""
    newcomer, best, searched = stood = standing(found)
    if best is None:
        return ""
    said = f"Best of the others: {best.system}, {with_spread(best.errors)} %"
    if searched is not None:
        error = percent(error_of(searched.first[CHOSEN]))
        said += f"; with the parameters searched for, {searched.system}, {error} %"
    if newcomer is None:
        return said + "."
    ours = [r for r in found if not r.is_reference]
    return (
        f"{newcomer.system}: {with_spread(newcomer.errors)} %, place "
        f"{ours.index(newcomer) + 1} of {len(ours)}. {said}. The gap in "
        f"{measure_of(about)}: {signed(stood.gaps)} points."
    )
