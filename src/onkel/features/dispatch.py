"""The questions a feature map answers; its type finds the answer.

width(features)     how many features
express(features, kernel, rows, first, last, points, norms, own, room, out)
                    the features of the rows first..last, into the first columns of out

`points` and `norms` are those of the model's slots, `own` the norms of the rows, `room`
is memory to work in (`Learner._places` says how much).
"""

from onkel.compiled.functions import choice

width, widths = choice(position=0)
express, expresses = choice(position=0)
