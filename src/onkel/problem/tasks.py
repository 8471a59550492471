"""Task: what the scores mean.

One output is a binary model (y in {-1, +1}) or a regression; several outputs are the
scores of as many classes (y a class index), and the loss acts on the Crammer-Singer
margin f_y - max_{j != y} f_j.
"""

from typing import Any, NamedTuple

from onkel.compiled.functions import inner
from onkel.problem.losses import Loss, slope


class Verdict(NamedTuple):
    """What the loss says of one row.

    A step moves output `up` by a weight against the slope, and output `down`, the
    runner-up, by its negative; `down` is -1 for a single output. The loss reads the
    score, or the margin, against the target; few need its value, and it may cost a
    logarithm.
    """

    up: int
    down: int
    slope: float
    score: float
    target: float
    mistake: bool


@inner
def judge(loss: Loss, f: Any, y: float) -> Verdict:
    """Compare the scores of a row with its target."""
    if len(f) == 1:
        mistake = (f[0] > 0.0) != (y > 0.0)
        return Verdict(0, -1, slope(loss, f[0], y), f[0], y, mistake)
    up = int(y)
    down = 1 if up == 0 else 0
    for j in range(down + 1, len(f)):
        if j != up and f[j] > f[down]:
            down = j
    margin = f[up] - f[down]
    # Equal scores: the lower class index is predicted.
    mistake = margin < 0.0 or (margin == 0.0 and down < up)
    return Verdict(up, down, slope(loss, margin, 1.0), margin, 1.0, mistake)
