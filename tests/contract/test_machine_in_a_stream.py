"""A kernel machine in a stream: what is under way changes nothing but in its turn.

Constants are such that within some 1,400 rows there are re-fits, trials and successors,
as in streams of many thousands.
"""

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import onkel
from onkel.estimators import _machine_quick, _machine_stream, kernel
from onkel.estimators._machine_quick import LEARNERS

ROWS, BUDGET, MEMORY, CHUNK = 1400, 24, 300, 50
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
PRODUCT = X[:, 0] * X[:, 1]
TARGETS: dict[str, Any] = {
    "two": np.where(PRODUCT > 0.0, "yes", "no"),
    "several": np.digitize(PRODUCT, [-0.3, 0.3]),
    "values": np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=ROWS),
}
STATES = {"nothing", "refit", "trial", "successor"}
kinds = pytest.mark.parametrize("kind", TARGETS)
# Each state, each kind, and not all of their pairs.
PAIRS = [("refit", "two"), ("trial", "several"), ("successor", "values")]
some_pairs = pytest.mark.parametrize(("wanted", "kind"), PAIRS)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything happen within a few rows."""
    for name, value in {
        **{"PATIENCE": 6, "OF_A_TRIAL": 0.1},
        **{"FIRST_ORDER": 300, "FIRST_TRIAL": 300, "TRIALS": 1.7},
    }.items():
        monkeypatch.setattr(_machine_stream, name, value)
    monkeypatch.setattr(kernel, "FIRST_ORDER", 300)
    for module in (_machine_stream, _machine_quick):
        monkeypatch.setattr(module, "TRIED", 200)
    # Whatever is least bad is clearly better, so that each trial finds a successor.
    monkeypatch.setattr(_machine_quick, "CLEAR", -99.0)


def make(kind: str, **parameters: Any) -> Any:
    cls = onkel.KernelRegressor if kind == "values" else onkel.KernelClassifier
    given = {"budget": BUDGET, "memory_size": MEMORY, "C": 1.0, "random_state": 0}
    return cls(**{**given, **parameters})


def state(model: Any) -> str:
    """What is under way."""
    if model._successor is not None:
        return "successor"
    if model._order is None:
        return "nothing"
    return "trial" if model._order.is_trial else "refit"


def chunks(start: int = 0, stop: int = ROWS, step: int = CHUNK) -> Iterator[slice]:
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def learn(
    model: Any,
    kind: str,
    parts: Any = None,
    rows: Any = X,
    then: Callable[[Any], Any] = lambda model: model,
) -> Any:
    """Learn part after part, and go on with what `then` makes of the model."""
    for part in chunks() if parts is None else parts:
        model = then(model.partial_fit(rows[part], TARGETS[kind][part]))
    return model


def watched(model: Any, kind: str, rows: Any = X) -> tuple[Any, set[str]]:
    """Learn everything; return also what was under way on the way."""
    seen: set[str] = set()

    def then(model: Any) -> Any:
        seen.add(state(model))
        return model

    return learn(model, kind, rows=rows, then=then), seen


def until(wanted: str, kind: str, **parameters: Any) -> tuple[Any, int]:
    """Return a model in such a state, and how many rows it has seen."""
    model = make(kind, **parameters)
    for part in chunks(step=25):
        learn(model, kind, [part])
        if state(model) == wanted and part.stop > 256:
            return model, part.stop
    raise AssertionError(f"there was no {wanted}")


def answers(model: Any, rows: Any = X[:100]) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(rows)


def same(model: Any, other: Any) -> None:
    """Two models are the same, bit for bit."""
    assert vars(model._tally) == vars(other._tally)
    assert state(model) == state(other)
    for name in ("mixture_", "support_vectors_", "dual_coef_", "gamma_", "relevance_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for part, twin in zip(model._mixture, other._mixture, strict=True):
        np.testing.assert_array_equal(part, twin)
    for part, twin in zip(model._recent.rows(), other._recent.rows(), strict=True):
        np.testing.assert_array_equal(part, twin)
    assert model._choice.given == other._choice.given
    np.testing.assert_array_equal(answers(model), answers(other))


@pytest.fixture(scope="module")
def unbroken() -> dict[str, Any]:
    """Models that learnt everything in parts, and nothing happened to."""
    return {}


def whole(unbroken: dict[str, Any], kind: str) -> Any:
    if kind not in unbroken:
        unbroken[kind] = learn(make(kind), kind)
    return unbroken[kind]


# ---- timing --------------------------------------------------------------------------


class AtOnce:
    """Work that is done before the stream goes on, and by its thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.found: Any = None
        try:
            self.found = work()
        except ValueError as error:
            self.found = error

    def result(self) -> Any:
        if isinstance(self.found, ValueError):
            raise self.found
        return self.found


class AtLast:
    """Work that nobody does before it is asked for."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result = work


@kinds
@pytest.mark.parametrize("how", [AtOnce, AtLast])
def test_it_is_no_matter_when_work_is_done(
    kind: str, how: Any, unbroken: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = whole(unbroken, kind)
    monkeypatch.setattr(_machine_stream, "Background", how)
    model, seen = watched(make(kind), kind)
    assert seen == STATES
    same(model, expected)


def pickled(model: Any, folder: Path) -> Any:
    return pickle.loads(pickle.dumps(model))


def saved(model: Any, folder: Path) -> Any:
    onkel.save(model, folder / "model")
    return onkel.load(folder / "model")


@kinds
@pytest.mark.parametrize("copied", [pickled, saved], ids=lambda how: how.__name__)
def test_a_copy_after_each_call_goes_on_alike(
    kind: str, copied: Any, unbroken: dict[str, Any], tmp_path: Path
) -> None:
    expected, seen = whole(unbroken, kind), set()

    def then(model: Any) -> Any:
        seen.add(state(model))
        again = copied(model, tmp_path)
        assert again._background is None
        np.testing.assert_array_equal(answers(again), answers(model))
        return again

    model = learn(make(kind), kind, then=then)
    assert seen == STATES
    same(model, expected)


@kinds
@pytest.mark.parametrize("step", [1, 7, 500, ROWS])
def test_it_is_no_matter_how_rows_come_in_calls(
    kind: str, step: int, unbroken: dict[str, Any]
) -> None:
    expected = whole(unbroken, kind)
    model = learn(make(kind), kind, chunks(step=step))
    # Products of matrices round by the number of rows.
    assert state(model) == state(expected)
    assert model.model_size_ == expected.model_size_
    assert model.t_ == expected.t_
    assert getattr(model, "n_mistakes_", 0) == getattr(expected, "n_mistakes_", 0)
    np.testing.assert_allclose(model.mixture_, expected.mixture_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(answers(model), answers(expected), rtol=1e-5, atol=1e-7)


# ---- calls that fail -----------------------------------------------------------------


def with_nan(rows: np.ndarray, y: Any) -> Any:
    rows = rows.copy()
    rows[-1, 1] = np.nan
    return rows, y


def too_narrow(rows: np.ndarray, y: Any) -> Any:
    return rows[:, :2], y


def strange_label(rows: np.ndarray, y: Any) -> Any:
    return rows, np.where(np.arange(len(y)) == len(y) - 1, "what", y)


@pytest.mark.parametrize("wanted", sorted(STATES - {"nothing"}))
@pytest.mark.parametrize("change", [with_nan, too_narrow, strange_label])
def test_a_refused_call_leaves_what_is_under_way(wanted: str, change: Any) -> None:
    model, stop = until(wanted, "two")
    model._classes_given = True
    twin, before = copy.deepcopy(model), dict(vars(model))
    y = TARGETS["two"]
    with pytest.raises(ValueError, match=r"NaN|2 features|not among the classes"):
        model.partial_fit(*change(X[stop:], y[stop:]))
    for name in ("_order", "_background", "_successor", "_quick", "_fixed", "_recent"):
        assert vars(model)[name] is before[name]
    same(model, twin)
    for each in (model, twin):
        learn(each, "two", chunks(stop))
    same(model, twin)


class Interruption(BaseException):
    """As of a key."""


@some_pairs
def test_a_call_that_ends_in_the_midst_leaves_everything(
    kind: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, stop = until(wanted, kind)
    twin = copy.deepcopy(model)
    seen: set[str] = set()
    take = type(model)._take

    def interrupted(draft: Any, *rows: Any) -> None:
        take(draft, *rows)
        seen.add(state(draft))
        if draft._tally.t >= ROWS:
            raise Interruption

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_take", interrupted)
        with pytest.raises(Interruption):
            model.partial_fit(X[stop:], TARGETS[kind][stop:])
    # Results were taken meanwhile, by one that nobody will hear of.
    assert len(seen) > 1
    same(model, twin)
    for each in (model, twin):
        learn(each, kind, chunks(stop))
    same(model, twin)


@kinds
@pytest.mark.parametrize("work", ["_refitted", "_tried"])
def test_work_that_fails_is_told_of_and_the_stream_goes_on(
    kind: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(machine: Any, order: Any) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr(_machine_stream, "PATIENCE", 1)
    monkeypatch.setattr(_machine_stream, "TRIALS", 1.1 if work == "_tried" else 9.0)
    monkeypatch.setattr(_machine_stream.StreamingMachine, work, fail)
    with pytest.warns(UserWarning, match=r"could not learn more.*no luck") as told:
        model = learn(make(kind), kind)
    assert {each.filename for each in told} == {__file__}
    assert len(told) > 1  # it was tried again
    assert model.t_ == ROWS
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.6
    # What did not fail was done.
    assert np.isnan(model.held_out_score_) == (work == "_refitted")


# ---- labels --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two", "several"])
@pytest.mark.parametrize("wanted", sorted(STATES - {"nothing"}))
def test_a_new_label_drops_what_does_not_know_it(kind: str, wanted: str) -> None:
    model, stop = until(wanted, kind)
    known = model.classes_.tolist()
    late = "late" if kind == "two" else -7
    rest = slice(stop, ROWS)
    is_late = X[rest, 2] > 0.8
    y = TARGETS[kind][rest].copy().astype("U4" if kind == "two" else int)
    y[is_late] = late
    y[0] = late
    model.partial_fit(X[stop : stop + 1], y[:1])
    assert state(model) == "nothing"
    assert model._background is None
    # What comes next is a re-fit that knows it, when there are some rows of it.
    assert model._next_order < model._next_trial
    assert 1.1 * stop < model._next_order < 1.3 * stop
    assert model.classes_.tolist() == sorted([*known, late])
    assert answers(model).shape == (100, len(known) + 1)
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        for part in chunks(1, len(y)):
            each.partial_fit(X[rest][part], y[part])
    same(model, twin)
    assert np.isfinite(model.held_out_score_)  # it was fitted anew
    assert (model.predict(X[rest][is_late]) == late).mean() > 0.7
    assert model.score(X[rest], y) > 0.7


# ---- sizes ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two", "values"])
def test_memory_does_not_grow(kind: str) -> None:
    model, sizes = make(kind), []
    rows, y = np.tile(X, (4, 1)), np.tile(TARGETS[kind], 4)
    for part in chunks(stop=4 * ROWS, step=70):
        model.partial_fit(rows[part], y[part])
        sizes.append(len(pickle.dumps(model)))
    # Whatever happens to be under way, in both parts.
    half = len(sizes) // 2
    assert max(sizes[half:]) <= 1.02 * max(sizes[:half])


@kinds
@pytest.mark.parametrize("memory", [1, 5, 50])
def test_a_short_memory_is_enough(kind: str, memory: int) -> None:
    model = learn(make(kind, memory_size=memory), kind, chunks(step=250))
    assert len(model._recent) == memory
    assert np.isfinite(answers(model)).all()
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.5


@kinds
@pytest.mark.parametrize("budget", [1, 2, 60])
def test_a_budget_is_kept_whatever_is_under_way(kind: str, budget: int) -> None:
    seen: set[str] = set()

    def then(model: Any) -> Any:
        seen.add(state(model))
        assert 0 < model.model_size_ <= budget
        assert model.support_vectors_.shape == (model.model_size_, 3)
        outputs = 3 if kind == "several" else 1
        assert model.dual_coef_.shape == (outputs, model.model_size_)
        assert model.mixture_.shape == (1 + LEARNERS,)
        return model

    learn(make(kind, budget=budget), kind, then=then)
    assert seen == (STATES if budget > 1 else {"nothing"})


@kinds
def test_a_successor_answers_nothing_before_its_turn(kind: str) -> None:
    model, stop = until("successor", kind)
    learn(model, kind, [slice(stop, stop + 10)])
    assert model._successor.learner.size > 0
    before, size = answers(model), model.model_size_
    model._successor = None
    np.testing.assert_array_equal(answers(model), before)
    assert model.model_size_ == size


@kinds
def test_a_successor_takes_over_as_one_that_learnt_the_same_rows(kind: str) -> None:
    model, stop = until("successor", kind)
    successor = model._successor
    assert stop < successor.due
    learn(model, kind, [slice(stop, successor.due)])
    assert model._successor is None
    assert model._choice is successor.choice
    twin = make(kind)
    twin.__dict__.update(vars(model))
    learner = twin._quick_learner(successor.choice.given, X, twin._outputs)
    X_, y, weight = model._recent.part(successor.start - successor.due, 0)
    np.testing.assert_array_equal(X_, X[successor.start : successor.due])
    twin._learn_again(learner, successor.choice, X_, twin._signed(y), weight)
    np.testing.assert_array_equal(learner.points, model._quick.points)
    np.testing.assert_allclose(learner.coef, model._quick.coef, rtol=1e-6, atol=1e-9)


# ---- rows ----------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, True), (np.float64, False)])
def test_sparse_rows_are_learnt_alike(kind: str, dtype: Any, scale: bool) -> None:
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) < 0.4, 0.0, X).astype(dtype))
    model, seen = watched(make(kind, scale=scale), kind, sparse)
    assert seen == STATES
    assert model.support_vectors_.dtype == dtype
    assert model.score(sparse[-300:], TARGETS[kind][-300:]) > 0.6
    dense = answers(model, sparse[:100].toarray())
    np.testing.assert_allclose(
        answers(model, sparse[:100]), dense, atol=1e-3 if dtype == np.float32 else 1e-7
    )


@kinds
def test_dense_and_sparse_rows_may_alternate_under_way(kind: str) -> None:
    model = make(kind)
    for number, part in enumerate(chunks()):
        form = scipy.sparse.csr_array if number % 2 else np.asarray
        model.partial_fit(form(X[part]), TARGETS[kind][part])
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.6


@kinds
def test_single_precision_does_not_mind(kind: str) -> None:
    model = learn(make(kind), kind, rows=X.astype(np.float32))
    assert model.support_vectors_.dtype == np.float32
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.6


@kinds
def test_rows_without_weight_teach_nothing_but_count(kind: str) -> None:
    model, weight = make(kind), (np.arange(ROWS) % 3 > 0).astype(float)
    strange = RNG.permutation(TARGETS[kind])
    y = np.where(weight > 0.0, TARGETS[kind], strange)
    for part in chunks():
        model.partial_fit(X[part], y[part], sample_weight=weight[part])
    assert model.t_ == ROWS
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.6


@kinds
def test_rows_without_any_weight_leave_answers(kind: str) -> None:
    model, nothing = make(kind), np.zeros(CHUNK)
    for part in chunks():
        model.partial_fit(X[part], TARGETS[kind][part], sample_weight=nothing)
    assert state(model) == "nothing"  # there is nothing to fit to
    learn(model, kind)
    assert model.score(X[-300:], TARGETS[kind][-300:]) > 0.6


@pytest.mark.parametrize("power", [1, 3])
def test_targets_with_heavy_tails_leave_numbers(power: int) -> None:
    y = np.random.default_rng(0).standard_cauchy(ROWS) ** power
    model = make("values")
    for part in chunks():
        model.partial_fit(X[part], y[part])
        assert np.isfinite(model.predict(X[:50])).all()
    assert np.isfinite(model.mixture_).all()


@pytest.mark.parametrize("first", [0.0, 0.1, 1.0 / 3.0, 1e8])
def test_targets_that_hardly_differ_at_first_are_learnt_later(first: float) -> None:
    y = np.where(np.arange(ROWS) < 290, first, first + np.sin(2.0 * X[:, 0]))
    model = make("values")
    for part in chunks():
        model.partial_fit(X[part], y[part])
        assert np.isfinite(model.predict(X[:50])).all()
    assert model.score(X[-300:], y[-300:]) > 0.7


# ---- fit, and then a stream ----------------------------------------------------------


@kinds
def test_a_stream_may_begin_with_fit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y, seen = TARGETS[kind], set()

    def then(model: Any) -> Any:
        seen.add(state(model))
        return saved(model, tmp_path)

    model = make(kind).fit(X[:200], y[:200])
    before = model.score(X[-300:], y[-300:])
    twin = copy.deepcopy(model)
    parts = list(chunks(200))
    learn(model, kind, parts)
    twin = learn(twin, kind, parts, then=then)
    assert seen == STATES
    same(model, twin)
    assert model.t_ == ROWS
    # Where a trial changes the choice only for what is better.
    monkeypatch.setattr(_machine_quick, "CLEAR", 0.05)
    model = learn(make(kind).fit(X[:200], y[:200]), kind, parts)
    # In a stream the fitted model has a quarter of the centres.
    assert model.score(X[-300:], y[-300:]) > before - 0.1


@some_pairs
def test_fit_forgets_what_is_under_way(kind: str, wanted: str) -> None:
    model, _ = until(wanted, kind)
    rows, y = X[:200], TARGETS[kind][:200]
    fresh = make(kind).fit(rows, y)
    model.fit(rows, y)
    assert state(model) == "nothing"
    assert model._quick is None
    for each in (model, fresh):
        learn(each, kind, chunks(200))
    same(model, fresh)


@kinds
def test_a_model_that_only_predicts_needs_no_thread(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(work: Any) -> None:
        raise AssertionError("a thread was begun")

    monkeypatch.setattr(_machine_stream, "Background", never)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(kind).fit(X[:200], TARGETS[kind][:200]).predict(X)
