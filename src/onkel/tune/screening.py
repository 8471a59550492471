"""Screening: a good gamma for any method with that kernel, at the price of one pass.

The squared distances of the rows to some landmarks are computed once, serve all gammas,
and for each of them one factorisation serves all penalties of a ridge regression on the
landmarks' kernel values. What counts is the error on rows held out.
"""

import math

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import threadpool_limits

from onkel.tune.sample import Sample

LANDMARKS = 300
# Times 1 over the median of the squared distances.
SCREENED = tuple(2.0**k for k in range(-8, 9))
RIDGES = tuple(10.0**k for k in range(-6, 1))


# On matrices so small threads mostly wait: on a busy machine, for minutes.
@threadpool_limits.wrap(limits=1)
def screen(sample: Sample, seed: int = 0) -> dict[float, float]:
    """Error of kernel ridge regression on landmarks, by gamma, for the best penalty.

    The seed is that of the landmarks and of the split.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> sample = Sample(*make_moons(400, noise=0.1, random_state=0), False)
    >>> errors = screen(sample)
    >>> min(errors.values()) < 0.03 < max(errors.values())
    True
    """
    learnt, tested = next(sample.splits(seed))
    landmarks = sample.X[learnt[:LANDMARKS]]
    # The only pass over the features.
    squared = euclidean_distances(sample.X, landmarks, squared=True).astype(np.float64)
    median = float(np.median(squared[tested]))
    if median <= 0.0:
        return {1.0: math.nan}
    targets = _targets(sample)
    errors = {}
    for gamma in (factor / median for factor in SCREENED):
        kernel = np.exp(-gamma * squared)
        # Features whose inner products are the kernel's, on the landmarks.
        values, vectors = scipy.linalg.eigh(kernel[learnt[:LANDMARKS]])
        kept = values > 1e-10 * values[-1]
        features = kernel @ (vectors[:, kept] / np.sqrt(values[kept]))
        learnt_features = features[learnt]
        spectrum, axes = scipy.linalg.eigh(learnt_features.T @ learnt_features)
        turned = axes.T @ (learnt_features.T @ targets[learnt])
        tested_features = features[tested] @ axes
        errors[gamma] = min(
            sample.error(
                _decided(sample, tested_features @ (turned / shrunk[:, np.newaxis])),
                sample.y[tested],
            )
            for shrunk in (spectrum + ridge * len(learnt) for ridge in RIDGES)
        )
    return errors


def _targets(sample: Sample) -> np.ndarray:
    """What ridge regression is to meet, a column an output."""
    if sample.is_regression:
        return sample.y[:, np.newaxis] - sample.y.mean()
    return np.where(sample.y[:, np.newaxis] == np.unique(sample.y), 1.0, -1.0)


def _decided(sample: Sample, scores: np.ndarray) -> np.ndarray:
    if sample.is_regression:
        return scores[:, 0] + sample.y.mean()
    return np.unique(sample.y)[scores.argmax(axis=1)]
