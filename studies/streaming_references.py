"""References of `studies.streaming`: what River would learn the streams with."""

from collections.abc import Callable
from typing import Any

from onkel.race.problem import Problem
from onkel.race.trees import RiverTrees, forest, tree
from studies.streaming_setup import Setup

ARF, HAT, FEATURES = "ARF", "HAT", "LR+RBF"
RATE = 0.1  # of the linear regression, of 0.02, 0.1 and 0.5 the best on casp


def adaptive_forest(setup: Setup) -> RiverTrees:
    """Ten trees, each on rows and features of its own, replaced when they go wrong."""
    return forest(setup.problem, setup.seed)


def adaptive_tree(setup: Setup) -> RiverTrees:
    """One tree, whose branches are replaced when they go wrong."""
    return tree(setup.problem, setup.seed)


def _linear(problem: Problem, features: int) -> Any:
    from river import linear_model, optim

    if problem.is_regression:
        # The features have a squared length of about half their number, which River
        # does not divide by: with its own rate of 0.01 the weights leave all bounds.
        return linear_model.LinearRegression(optimizer=optim.SGD(RATE / features))
    return (
        linear_model.LogisticRegression()
        if problem.classes == 2
        else linear_model.SoftmaxRegression()
    )


def linear_on_features(setup: Setup) -> RiverTrees:
    """A linear model on random features, as many as the others have centres.

    River draws them for each column of the rows, `n_components` for each.
    """
    from river import feature_extraction, preprocessing

    columns = setup.problem.features
    each = max(1, setup.budget // columns)
    sampler = feature_extraction.RBFSampler(
        gamma=setup.gamma, n_components=each, seed=setup.seed
    )
    linear = _linear(setup.problem, each * columns)
    return RiverTrees(preprocessing.StandardScaler() | sampler | linear)


REFERENCES: dict[str, Callable[[Setup], RiverTrees]] = {
    HAT: adaptive_tree,
    ARF: adaptive_forest,
    FEATURES: linear_on_features,
}
