"""Examples: the one that most systems have in common, in the docstring of each."""

TWO_MOONS = """
Examples
--------
>>> from sklearn.datasets import make_moons
>>> from onkel import {name}
>>> X, y = make_moons(400, noise=0.1, random_state=0)
>>> model = {name}({parameters})
>>> model = model.fit(X[:300], y[:300])
>>> float(model.score(X[300:], y[300:]))
{score}
"""
SINE = """
Examples
--------
>>> import numpy as np
>>> from onkel import {name}
>>> X = np.random.default_rng(0).uniform(-3, 3, size=(400, 1))
>>> y = np.sin(X[:, 0])
>>> model = {name}({parameters})
>>> model = model.fit(X[:300], y[:300])
>>> round(float(model.score(X[300:], y[300:])), 2)
{score}
"""


def example(name: str, parameters: str, score: float) -> str:
    """Return an example of a system with these parameters, and the score it gets."""
    template = SINE if name.endswith("Regressor") else TWO_MOONS
    return template.format(name=name, parameters=parameters, score=score)
