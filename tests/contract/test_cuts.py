"""Streams: a model depends on its rows, not on how they came in calls."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import onkel

ROWS = 1300
RNG = np.random.default_rng(0)
# The spread grows, so that statistics of few rows differ from those of more.
X = RNG.normal(size=(ROWS, 4)) * np.linspace(0.2, 3.0, ROWS)[:, None]
labels = np.array(["no", "yes", "late"])[(X[:, 0] * X[:, 1] > 0).astype(int)]
labels[700:][X[700:, 2] > 2.5] = "late"
values = np.sin(X[:, 0])
MODELS = {
    "rbp": onkel.RBPClassifier(budget=30, random_state=0),
    "median": onkel.RBPClassifier(budget=30, gamma="median", random_state=0),
    "rbp-r": onkel.RBPRegressor(budget=30, random_state=0),
    "avm": onkel.AVMClassifier(coverage_radius="auto", random_state=0),
    "machine": onkel.KernelClassifier(budget=20, gamma=0.5, C=1.0, random_state=0),
    "machine-r": onkel.KernelRegressor(budget=20, gamma=0.5, C=1.0, random_state=0),
}
# One call for every row takes long: such cuts are where statistics change.
CUTS: list[list[int]] = [[10], [1, 2, 3, 130, 131, 900], list(range(7, ROWS, 97))]
pytestmark = pytest.mark.filterwarnings("ignore:coverage_radius")


def learnt(name: str, cuts: list[int], form: Any = np.asarray) -> Any:
    model, y = clone(MODELS[name]), values if name.endswith("-r") else labels
    for start, stop in zip([0, *cuts], [*cuts, ROWS], strict=True):
        model.partial_fit(form(X[start:stop]), y[start:stop])
    return model


def answers(model: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("name", MODELS)
def test_the_cuts_of_a_stream_do_not_matter(name: str) -> None:
    whole = learnt(name, [])
    for cuts in CUTS:
        other = learnt(name, cuts)
        assert other.t_ == whole.t_ == ROWS
        assert getattr(other, "n_mistakes_", 0) == getattr(whole, "n_mistakes_", 0)
        # Blocks are cut where calls are, and sums of other blocks are rounded in
        # another order; nothing else differs.
        np.testing.assert_allclose(answers(other), answers(whole), rtol=1e-6, atol=1e-8)


def test_the_cuts_of_a_sparse_stream_do_not_matter() -> None:
    form = scipy.sparse.csr_array
    whole, other = (learnt("rbp", cuts, form) for cuts in ([], CUTS[1]))
    np.testing.assert_allclose(answers(other), answers(whole), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["rbp", "rbp-r", "machine"])
def test_a_stream_goes_on_where_it_was_saved(name: str, tmp_path: Path) -> None:
    y = values if name.endswith("-r") else labels
    model = clone(MODELS[name]).partial_fit(X[:100], y[:100])
    onkel.save(model, tmp_path / "model")
    copies = [onkel.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), model]
    for copy in copies:
        copy.partial_fit(X[100:], y[100:])
    for copy in copies[:2]:
        np.testing.assert_array_equal(answers(copy), answers(model))


def test_cells_of_a_stream_of_single_rows_are_as_wide_as_those_of_a_long_one() -> None:
    model = onkel.AVMClassifier(coverage_radius="auto", random_state=0)
    for row, label in zip(X[:300], labels[:300], strict=True):
        model.partial_fit(row[None], [label])
    once = onkel.AVMClassifier(coverage_radius="auto", random_state=0)
    assert (
        model.coverage_radius_
        == once.partial_fit(X[:300], labels[:300]).coverage_radius_
    )


def test_a_refused_call_leaves_the_beginning_as_it_was() -> None:
    model = onkel.RBPClassifier(budget=30, random_state=0).partial_fit(
        X[:9], labels[:9]
    )
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((5, 4), np.nan), labels[:5])
    model.partial_fit(X[9:], labels[9:])
    np.testing.assert_array_equal(answers(model), answers(learnt("rbp", [9])))


@pytest.mark.parametrize("seed", [None, "drawn"])
def test_what_is_learnt_anew_draws_the_same(seed: str | None) -> None:
    def made() -> Any:
        state = None if seed is None else np.random.RandomState(0)
        return onkel.RBPClassifier(budget=8, random_state=state)

    model = made().partial_fit(X[:60], labels[:60])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X[60:700], labels[60:700])
    np.testing.assert_array_equal(answers(copy), answers(model))
    if seed is not None:
        whole = made().partial_fit(X[:700], labels[:700])
        np.testing.assert_allclose(answers(whole), answers(model), atol=1e-9)


def test_fit_draws_anew_after_the_beginning_of_a_stream() -> None:
    model = onkel.RBPClassifier(budget=8, random_state=np.random.RandomState(0))
    model.partial_fit(X[:60], labels[:60])
    twin = onkel.RBPClassifier(budget=8, random_state=np.random.RandomState(0))
    twin.partial_fit(X[:60], labels[:60])
    first = answers(model.fit(X, labels))
    np.testing.assert_array_equal(first, answers(twin.fit(X, labels)))
    assert not np.array_equal(first, answers(model.fit(X, labels)))
