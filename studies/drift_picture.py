"""The picture of `studies.drift`: the error of the last rows, along the stream."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from onkel.measuring.records import Records
from onkel.race.report.looks import GREY
from studies.drift_results import STEP, WINDOW, Course, courses
from studies.drift_streams import CHANGE, DRIFTS, ROWS
from studies.streaming_picture import looks_of, tidy
from studies.streaming_references import ARF, REFERENCES
from studies.streaming_systems import NEWCOMERS

SHOWN = 4  # others


def _drawn(found: Sequence[Course]) -> list[Course]:
    """The best, the newcomer and River's forest among them, from the best on."""
    others = [c for c in found if c.system not in {*NEWCOMERS, *REFERENCES}][:SHOWN]
    best = {c.system for c in others} | {*NEWCOMERS, ARF}
    return [course for course in found if course.system in best]


def picture(records: Records) -> Figure:
    """Draw a panel a stream."""
    drawn = {name: _drawn(courses(records, name)) for name in DRIFTS}
    figure = Figure(figsize=(5.6, 3.6 * len(drawn)), layout="constrained")
    looks = looks_of(course.system for shown in drawn.values() for course in shown)
    panels = figure.subplots(len(drawn), 1, squeeze=False).ravel()
    for axes, (name, shown) in zip(panels, drawn.items(), strict=True):
        for course in reversed(shown):
            rolling, look = course.rolling, looks[course.system]
            axes.plot(
                WINDOW + STEP * np.arange(len(rolling)),
                100 * rolling,
                color=look.colour,
                ls=look.style,
                lw=look.width,
                label=f"{course.system}, {100 * course.error:.2f} %",
            )
        axes.axvline(CHANGE, color=GREY, lw=0.8)
        tidy(axes, name, ROWS)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"mistakes in the last {WINDOW} rows, %")
    return figure
