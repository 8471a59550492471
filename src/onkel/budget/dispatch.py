"""The questions a strategy answers; its type finds the answer.

absorb(budget, model, ahead, t, update, draws) row t proposes an update: take it in
leans(strategy, model, ahead, t)               do the centres represent row t already?
lay(strategy, model, output, weight)           then lay its weight on them
maintain(strategy, model, ahead, t)            the model is too large: make it smaller

A strategy that decides both when and how answers `absorb`. One that only knows how,
and leaves the when to another (see `bernoulli`), answers the others.
"""

from onkel.compiled.functions import choice

absorb, absorbs = choice(position=0)
leans, leaning = choice(position=0, merged=False)
lay, lays = choice(position=0)
maintain, maintains = choice(position=0, merged=False)
