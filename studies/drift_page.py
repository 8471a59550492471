"""What `studies.drift` found, as a section of the page of `studies.streaming`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onkel.measuring.markdown import markdown
from onkel.measuring.records import Records
from studies.drift_picture import picture
from studies.drift_results import LEVEL, MARGIN, WINDOW, Course, courses
from studies.drift_streams import (
    BUDGET,
    CHANGE,
    DRIFTS,
    FEATURES,
    FLIPPED,
    MOST_FLIPPED,
    ROWS,
    SEEDS,
    TURNING,
)
from studies.streaming_references import REFERENCES
from studies.streaming_systems import NEWCOMERS

INTRODUCTION = """\
## Streams that change

Three streams made for this: {rows:,} rows with {features} features, a change in row
{change:,}, a budget of {budget}; means over {seeds} seeds. The class of a row says
whether two of its features have the same sign; the others tell nothing.

- *drift-rotation*: the boundary turns by a quarter within {turning:,} rows, after which
  all labels are the opposite of what they were;
- *drift-swap*: they are that at once;
- *drift-noise*: the share of flipped labels, none before, grows to {most} % at the end.
  It is {flipped} % all along in the other two.

Nothing is picked in hindsight: the others have the parameters of the race, with the
gamma that it finds on the first rows, before the change. Mistakes are counted against
the labels without noise, which nobody can foresee. *before* and *end*: of the last
{level:,} rows before the change, and of the stream. *after*: of the {window} rows from
the change on; *peak*: of the {window} rows after it on which it was worst. *recovery*:
rows from the change until the error of the last {window} of them, past its peak, was
within {margin:.0f} points of *before*; 0 if it never was farther away. Who *relapsed*
is farther away again at the end.

    python -m studies.drift

![Error of the last {window} rows](drift.png)
"""


def _row(course: Course) -> list[str]:
    is_new, is_reference = course.system in NEWCOMERS, course.system in REFERENCES
    shares = [course.error, course.before, course.after, course.since.max(), course.end]
    rows = f"{course.recovery:,.0f}" + (", relapsed" if course.relapsed else "")
    cells = [
        course.system,
        *(f"{100 * share:.2f}" for share in shares),
        rows if np.isfinite(course.recovery) else "not recovered",
    ]
    mark = "**" if is_new else "*" if is_reference else ""
    return [f"{mark}{cell}{mark}" for cell in cells]


def _table(name: str, found: Sequence[Course]) -> list[str]:
    heads = [
        "system",
        "mistakes, %",
        "before",
        "after",
        "peak",
        "end",
        "recovery, rows",
    ]
    return [f"### {name}", "", *markdown(heads, map(_row, found))]


def section(records: Records) -> list[str]:
    """Lines of the section; none if nothing drifted."""
    there = {name: found for name in DRIFTS if (found := courses(records, name))}
    if not there:
        return []
    said = INTRODUCTION.format(
        rows=ROWS,
        features=FEATURES,
        budget=BUDGET,
        change=CHANGE,
        seeds=SEEDS,
        turning=TURNING,
        most=round(100 * MOST_FLIPPED),
        flipped=round(100 * FLIPPED),
        level=LEVEL,
        window=WINDOW,
        margin=100 * MARGIN,
    )
    return [said, *(text for k, found in there.items() for text in _table(k, found))]


def save_picture(records: Records, folder: Path) -> list[Path]:
    """Draw what drifted, if anything did; return the path."""
    if not any(courses(records, name) for name in DRIFTS):
        return []
    path = folder / "drift.png"
    picture(records).savefig(path, dpi=110)
    return [path]
