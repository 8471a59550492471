"""Features of flights, made from what is known when they leave.

No feature looks at a delay. What is said of an airport, its share of the traffic and
the mean distance and time of day of its flights, is counted over the batches before,
never over the batch itself or a later one. So the features depend on how the stream is
cut into batches, and on the rows so far, and on nothing else.
"""

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# Miles: 99 % of the flights are shorter than 2,556, so these features exceed 1 rarely.
FAR = 2500.0
# Shares of the traffic are told apart down to this one.
RARE = 1e-5
# An airport counts as having had this many average flights before its first, or the
# means of small airports would jump.
PRIOR_FLIGHTS = 20
# Distance (over FAR) and time of day (in days) taken for average before any flight.
GUESS = np.array([0.3, 0.55])
# Mean times of day lie close together: these become 0 and 1.
EARLY, LATE = 0.45, 0.65

NAMES = (
    "time",
    "time_sin",
    "time_cos",
    "weekday_sin",
    "weekday_cos",
    "month_sin",
    "month_cos",
    "distance",
    *(
        f"{side}_{what}"
        for side in ("origin", "destination")
        for what in ("share", "mean_distance", "mean_time", "sin", "cos")
    ),
)


def circle(turns: np.ndarray) -> np.ndarray:
    """Sine and cosine of angles in turns, moved to [0, 1].

    Examples
    --------
    >>> circle(np.array([0.0, 0.25])).round(2).tolist()
    [[0.5, 1.0], [1.0, 0.5]]
    """
    angles = 2 * np.pi * turns
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1) / 2 + 0.5


class Airports:
    """Three numbers for each airport seen at one end of the flights so far.

    The numbers are its flights, and their sums of distance and of time of day. Memory
    grows with the airports, not with the flights.
    """

    def __init__(self) -> None:
        self._sums: dict[str, np.ndarray] = {}
        self._total = np.zeros(3)

    def __len__(self) -> int:
        return len(self._sums)

    def describe(self, codes: list[str]) -> np.ndarray:
        """Features of airports, from the flights counted so far.

        Parameters
        ----------
        codes
            Of the airports; new ones are described as average and rare.

        Returns
        -------
        features of shape (codes, 5)
            Logarithm of the share of the traffic, mean distance, mean time of day, and
            a place on the circle by a hash of the code, which tells airports apart that
            the others confuse.
        """
        flights = self._total[0]
        average = self._total[1:] / flights if flights > 0 else GUESS
        sums = np.array([self._sums.get(code, np.zeros(3)) for code in codes])
        share = np.maximum(sums[:, 0] / max(flights, 1), RARE)
        means = sums[:, 1:] + PRIOR_FLIGHTS * average
        means /= sums[:, :1] + PRIOR_FLIGHTS
        return np.column_stack(
            [
                1 - np.log(share) / np.log(RARE),
                # As a mean no airport comes close to FAR.
                2 * means[:, 0],
                (means[:, 1] - EARLY) / (LATE - EARLY),
                circle(np.array([crc32(code.encode()) / 2**32 for code in codes])),
            ]
        )

    def count(
        self,
        codes: list[str],
        at: np.ndarray,  # shape (rows,): index into codes
        distance: np.ndarray,
        time: np.ndarray,
    ) -> None:
        """Take flights into the sums."""
        sums = np.column_stack(
            [np.bincount(at, weights, len(codes)) for weights in (None, distance, time)]
        )
        for code, more in zip(codes, sums, strict=True):
            self._sums[code] = self._sums.get(code, 0) + more
        self._total += sums.sum(axis=0)


class FlightEncoder:
    """Turns batches of flights into rows of features, about within [0, 1].

    - time of day as a fraction and on the circle; weekday and month on the circle;
    - distance, linear, over 2,500 miles;
    - for origin and destination what `Airports.describe` says.
    """

    def __init__(self) -> None:
        self.airports = {"origin": Airports(), "destination": Airports()}

    def transform(self, batch: "RecordBatch") -> np.ndarray:
        """Return the features of a batch, then count its flights for later ones.

        Parameters
        ----------
        batch
            With columns date, distance, origin and destination; others are not read.

        Returns
        -------
        X of shape (rows, len(NAMES))
            In single precision.
        """
        date = batch["date"].to_numpy(zero_copy_only=False)
        day = date.astype("datetime64[D]")
        time = (date - day) / np.timedelta64(1, "D")
        # Day 0 of the calendar, 1 January 1970, was a Thursday.
        weekday = (day.astype(int) + 3) % 7 / 7
        month = date.astype("datetime64[M]").astype(int) % 12 / 12
        distance = batch["distance"].to_numpy(zero_copy_only=False) / FAR
        features = [time, circle(time), circle(weekday), circle(month), distance]
        for side, airports in self.airports.items():
            encoded = batch[side].dictionary_encode()
            codes, at = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
            features.append(airports.describe(codes)[at])
            airports.count(codes, at, distance, time)
        return np.column_stack(features).astype(np.float32)
