"""What systems did when a stream changed, out of the records of `studies.drift`."""

from typing import NamedTuple

import numpy as np

from onkel.measuring.records import Records
from studies.drift_streams import CHANGE

STEP = 50  # rows whose mistakes are counted together
WINDOW = 500  # rows over which the error of the moment is taken
LEVEL = 2000  # rows that say what a system can do, before the change and at the end
MARGIN = 0.02  # above its level a system counts as recovered


class Course(NamedTuple):
    """The error of a system along a stream, a mean over seeds."""

    system: str
    errors: np.ndarray  # of `STEP` rows each

    def between(self, first: int, last: int) -> float:
        """Error of some rows; `last` is counted from the end if it is not positive."""
        stop = last // STEP if last > 0 else None
        return float(self.errors[first // STEP : stop].mean())

    @property
    def error(self) -> float:
        """Of all rows."""
        return float(self.errors.mean())

    @property
    def before(self) -> float:
        """Of the rows before the change."""
        return self.between(CHANGE - LEVEL, CHANGE)

    @property
    def after(self) -> float:
        """Of the first rows after it."""
        return self.between(CHANGE, CHANGE + WINDOW)

    @property
    def end(self) -> float:
        """Of the last rows."""
        return self.between(-LEVEL, 0)

    @property
    def rolling(self) -> np.ndarray:
        """Of the last `WINDOW` rows, every `STEP` rows from there on."""
        return np.convolve(self.errors, np.full(WINDOW // STEP, STEP / WINDOW), "valid")

    @property
    def since(self) -> np.ndarray:
        """`rolling` of the windows that begin at the change or later."""
        return self.rolling[CHANGE // STEP :]

    @property
    def recovery(self) -> float:
        """Rows until the error of the moment, past its peak, is near what it was.

        From the change to the end of the first such window; infinite without one, and
        0 if it never was far from that.

        Examples
        --------
        >>> errors = np.full(400, 0.1)
        >>> errors[200:230] = 0.5
        >>> Course("RBP", errors).recovery
        2000.0
        >>> Course("RBP", np.full(400, 0.1)).recovery
        0.0
        """
        since, most = self.since, self.before + MARGIN
        peak = int(since.argmax())
        if since[peak] <= most:
            return 0.0
        near = np.flatnonzero(since[peak:] <= most)
        return float(WINDOW + STEP * (peak + near[0])) if len(near) else np.inf

    @property
    def relapsed(self) -> bool:
        """Whether it had recovered, and is far from what it was at the end."""
        return np.isfinite(self.recovery) and self.end > self.before + MARGIN


def courses(records: Records, name: str) -> list[Course]:
    """All systems on a stream, from the smallest error on."""
    found: dict[str, list[np.ndarray]] = {}
    for place, record in records.items():
        if place.startswith(f"{name}/"):
            _, system, _ = place.split("/")
            found.setdefault(system, []).append(np.array(record["mistakes"]) / STEP)
    made = [Course(system, np.mean(runs, axis=0)) for system, runs in found.items()]
    return sorted(made, key=lambda course: course.error)
