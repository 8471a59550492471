"""The beginning of a stream: rows that say how wide a kernel must be.

A default such as gamma="scale" is a statistic of rows, and a stream has none to begin
with. It is taken from the first s rows, where s is the largest power of two that has
been reached, up to `LONGEST`; whenever s doubles, the rows so far are learnt anew with
the new statistic. So the model after n rows is a function of these rows alone, however
they were cut into calls, it is never worse informed than by half of them, and the rows
learnt twice are fewer than 2 `LONGEST` in all.
"""

# Rows after which the statistics of a stream are final.
LONGEST = 1024
# Rows too few for a word about what their statistics lack.
FEW = 16


def informing(rows: int, longest: int = LONGEST) -> int:
    """Return how many of the first rows statistics are taken from.

    Examples
    --------
    >>> [informing(rows) for rows in (0, 1, 5, 1023, 5000)]
    [0, 1, 4, 512, 1024]
    """
    return 1 << min(rows, longest).bit_length() >> 1
