"""Checks: what every system promises, for those of this library and for yours.

    from onkel.checks import check_system
    check_system(MyClassifier(budget=20))

or, in a test, one case for each promise:

    @pytest.mark.parametrize("check", checks_for(MyClassifier()), ids=name_of)
    def test_my_system_keeps_its_promises(check):
        check(MyClassifier(budget=20))

Together with scikit-learn's `check_estimator` they are the contract of a system. That
it learns what its paper says only an oracle of its own can tell (see `tests/exact`).
"""

import pickle
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone, is_classifier

from onkel.estimators._expansion import ExpansionEstimator
from onkel.storage.model_file import load, save
from onkel.stream.progressive import progressive

Check = Callable[[Any], None]

ROWS, FEATURES = 240, 3
CUTS: tuple[list[int], ...] = ([], [1, 2, 17, 120], list(range(10, ROWS, 31)))
# So small that every strategy is at work for most of the rows.
SMALL = {
    **{"budget": 12, "max_core": 12, "n_components": 20, "merge_size": 4, "rank": 5},
    **{"memory_size": 60, "snapshot_period": 13, "gamma": 0.5, "random_state": 0},
}


def small(estimator: Any) -> Any:
    """Return a copy that has to keep its budget on the few rows of the checks.

    Parameters that differ from their defaults stay as they are.
    """
    given, defaults = estimator.get_params(), type(estimator)().get_params()
    return clone(estimator).set_params(
        **{
            name: value
            for name, value in SMALL.items()
            if name in given and given[name] == defaults[name]
        }
    )


def data(estimator: Any, rows: int = ROWS, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows, a third of their entries zero, and labels or values for them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FEATURES)) * (rng.random((rows, FEATURES)) < 0.7)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    return X, (f > 0).astype(int) if is_classifier(estimator) else f


def answers(estimator: Any, X: Any) -> np.ndarray:
    """Scores, or predicted values."""
    return getattr(estimator, "decision_function", estimator.predict)(X)


def learnt(estimator: Any, X: Any, y: np.ndarray, cuts: list[int] | None = None) -> Any:
    """Let a copy learn rows: by `fit`, or as a stream that is cut into calls."""
    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows make bad models
        if cuts is None:
            return model.fit(X, y)
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            model.partial_fit(X[start:stop], y[start:stop])
    return model


def _go_on(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Learn further rows, if it can; return the answers to all."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
    return answers(model, X)


def _agree(first: np.ndarray, second: np.ndarray) -> None:
    """Scores are the same but for the order of sums."""
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-8)


# ---- the promises


def check_it_learns(estimator: Any) -> None:
    """What is predicted is better than always the same."""
    X, y = data(estimator)
    model = learnt(estimator, X, y)
    if is_classifier(estimator):
        always = max(np.mean(y), 1.0 - np.mean(y))
        assert model.score(X, y) > always, "no better than the commonest label"
    else:
        assert np.isfinite(model.predict(X)).all()


def check_the_budget_is_kept(estimator: Any) -> None:
    """The model is never larger than its strategy says."""
    X, y = data(estimator)
    for cuts in [None] if not hasattr(estimator, "partial_fit") else [[], CUTS[1]]:
        model = learnt(estimator, X, y, cuts)
        for learner in model._learners():
            assert learner.counters.count <= learner.largest_size, "over its budget"


def check_the_same_seed_gives_the_same_bits(estimator: Any) -> None:
    """Two copies that see the same rows are equal."""
    X, y = data(estimator)
    first, second = (answers(learnt(estimator, X, y), X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def check_blocks_do_not_matter(estimator: Any) -> None:
    """The result is that of the algorithm one row at a time, up to rounding."""
    if "block_size" not in estimator.get_params():
        return
    X, y = data(estimator)
    one, *others = (
        answers(learnt(clone(estimator).set_params(block_size=size), X, y), X)
        for size in (1, 7, 64)
    )
    for other in others:
        _agree(other, one)


def check_sparse_rows_are_the_same_rows(estimator: Any) -> None:
    """CSR and dense rows give the same model, up to rounding."""
    X, y = data(estimator)
    if "scale" in estimator.get_params():
        # Sparse features are scaled by their maximum, so that zeros stay zeros.
        estimator = clone(estimator).set_params(scale=False)
    dense = answers(learnt(estimator, X, y), X)
    sparse = scipy.sparse.csr_array(X)
    same = answers(learnt(estimator, sparse, y), sparse)
    _agree(same, dense)


def check_the_cuts_of_a_stream_do_not_matter(estimator: Any) -> None:
    """A model depends on its rows and their order, not on the calls."""
    X, y = data(estimator)
    whole, *others = (learnt(estimator, X, y, cuts) for cuts in CUTS)
    for other in others:
        assert other.t_ == whole.t_ == len(y)
        _agree(answers(other, X), answers(whole, X))


def check_progressive_scores_are_those_before_each_row(estimator: Any) -> None:
    """`progressive` says what the model would have answered before each row."""
    X, y = data(estimator, 60)
    known = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    scores = progressive(clone(estimator), X, y, **known)
    model = clone(estimator)
    for t in range(len(y)):
        if t:
            before = answers(model, X[t : t + 1])
            _agree(scores[t], before[0])
        model.partial_fit(X[t : t + 1], y[t : t + 1], **known)


def check_it_goes_on_bit_for_bit(estimator: Any) -> None:
    """Pickled, or saved and loaded, a model goes on as if nothing had happened."""
    X, y = data(estimator)
    half = len(y) // 2
    streams = hasattr(estimator, "partial_fit")
    model = learnt(estimator, X[:half], y[:half], [] if streams else None)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.onkel")
        copies = load(Path(folder) / "model.onkel"), pickle.loads(pickle.dumps(model))
    expected = _go_on(model, X[half:], y[half:])
    for copy in copies:
        np.testing.assert_array_equal(_go_on(copy, X[half:], y[half:]), expected)


def check_predicting_changes_nothing(estimator: Any) -> None:
    """A model is the same after it has answered."""
    X, y = data(estimator)
    model = learnt(estimator, X, y)
    before = pickle.dumps(model)
    answers(model, X)
    assert pickle.dumps(model) == before, "predicting has changed the model"


def check_a_refused_call_changes_nothing(estimator: Any) -> None:
    """Bad rows are refused with a ValueError, and leave the model as it was."""
    X, y = data(estimator)
    model = learnt(estimator, X, y, [])
    before = answers(model, X)
    hole, wide = X.copy(), np.hstack([X, X])
    hole[7, 1] = np.nan
    for rows, targets in ((hole, y), (wide, y), (X, y[:-1]), (X[:0], y[:0])):
        try:
            model.partial_fit(rows, targets)
        except ValueError:
            np.testing.assert_array_equal(answers(model, X), before)
        else:
            raise AssertionError("a bad call was not refused")


def check_labels_may_come_later(estimator: Any) -> None:
    """A label counts from the row where it first occurs."""
    X, y = data(estimator)
    y = y.copy()
    y[len(y) // 2 :][X[len(y) // 2 :, 0] > 1.0] = 2
    model = learnt(estimator, X, y, CUTS[1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert answers(model, X).shape == (len(y), 3)


OF_ALL: tuple[Check, ...] = (
    check_it_learns,
    check_the_budget_is_kept,
    check_the_same_seed_gives_the_same_bits,
    check_blocks_do_not_matter,
    check_sparse_rows_are_the_same_rows,
    check_it_goes_on_bit_for_bit,
    check_predicting_changes_nothing,
)
OF_STREAMS: tuple[Check, ...] = (
    check_the_cuts_of_a_stream_do_not_matter,
    check_progressive_scores_are_those_before_each_row,
    check_a_refused_call_changes_nothing,
)
OF_CLASSES: tuple[Check, ...] = (check_labels_may_come_later,)


def checks_for(estimator: Any) -> tuple[Check, ...]:
    """Return the checks that concern an estimator."""
    if not hasattr(estimator, "partial_fit"):
        return OF_ALL
    return OF_ALL + OF_STREAMS + (OF_CLASSES if is_classifier(estimator) else ())


def name_of(check: Check) -> str:
    """Return what a check is about, as the name of a test."""
    return check.__name__.removeprefix("check_").replace("_", "-")


def check_system(estimator: Any) -> None:
    """Run all checks that concern a system; raises at the first promise broken.

    Parameters
    ----------
    estimator
        Unfitted. Parameters at their defaults are made small, so that the budget is
        at work.

    Examples
    --------
    >>> from onkel import RBPClassifier
    >>> check_system(RBPClassifier())
    """
    if not isinstance(estimator, ExpansionEstimator):
        raise ValueError(
            f"{estimator!r:.80} is no system: check_system takes a classifier or "
            "regressor, unfitted, that is built on onkel's, such as RBPClassifier()"
        )
    estimator = small(estimator)
    for check in checks_for(estimator):
        check(estimator)
