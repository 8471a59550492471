"""Bad input is refused by name, and leaves no trace (contract 23).

Each refused call is followed by learning on: the model must give, bit for bit, what a
copy gives that never saw the call. Systems that draw random numbers are used, because
their draws are the easiest thing to lose.
"""

import copy
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

import onkel
from tests.contract.systems import (
    CLASSIFIERS,
    RANDOM,
    REGRESSORS,
    SYSTEMS,
    System,
    data,
    each,
    goes_on_alike,
)

ROWS = 100
# Where the bad number is.
ROW, COLUMN = 17, 2
LEARNING = ("fit", "partial_fit", "progressive")
PREDICTING = ("predict", "decision_function")

learning = pytest.mark.parametrize("entry", LEARNING)
in_both_formats = pytest.mark.parametrize(
    "form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"]
)
WEIGHTED = [name for name in RANDOM if SYSTEMS[name].weighted]


def call(model: Any, entry: str, X: Any, y: Any, **options: Any) -> Any:
    """Give rows to a model in one of the ways there are."""
    if entry == "progressive":
        return onkel.progressive(model, X, y, **options)
    if entry in LEARNING:
        return getattr(model, entry)(X, y, **options)
    return getattr(model, entry)(X)


def entries(system: System) -> tuple[str, ...]:
    return (*LEARNING, "predict") if system.regressor else (*LEARNING, *PREDICTING)


def learnt(system: System, **parameters: Any) -> tuple[Any, Any]:
    """Make a model in the middle of a stream, its budget full, and its twin."""
    model = system.make(**parameters).partial_fit(*data(system, 150, seed=1))
    assert model.n_maintenance_ > 0 or system.covers
    return model, copy.deepcopy(model)


def refuse(
    system: System, entry: str, X: Any, y: Any, message: str, **options: Any
) -> None:
    """See a model in mid-stream refuse the call and go on as if it had not been."""
    model, twin = learnt(system)
    with pytest.raises(ValueError, match=message):
        call(model, entry, X, y, **options)
    goes_on_alike(model, twin, *data(system, ROWS, seed=2))


def refuse_at_first(
    system: System,
    entry: str,
    X: Any,
    y: Any,
    parameters: dict[str, Any] = {},  # noqa: B006
    **options: Any,
) -> None:
    """See a new model refuse the call, stay new, and draw nothing from the user."""
    model = system.make(**parameters, random_state=np.random.RandomState(3))
    before = dict(vars(model))
    with pytest.raises(ValueError):
        call(model, entry, X, y, **options)
    assert vars(model) == before
    assert untouched(model.random_state)


def untouched(random_state: np.random.RandomState) -> bool:
    return random_state.randint(2**31) == np.random.RandomState(3).randint(2**31)


# ---- rows ----------------------------------------------------------------------------


class Fault(NamedTuple):
    """What is wrong with the rows, and what the message must say."""

    spoil: Callable[[np.ndarray], Any]
    message: str
    of_new_models: bool = True
    sparse: bool = True


def with_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def spoil(X: np.ndarray) -> np.ndarray:
        X = X.copy()
        X[ROW, COLUMN] = value
        return X

    return spoil


FAULTS = {
    "nan": Fault(with_value(np.nan), "X contains NaN in row 17, column 2"),
    "inf": Fault(with_value(np.inf), "X contains infinity in row 17, column 2"),
    "-inf": Fault(with_value(-np.inf), "X contains infinity in row 17, column 2"),
    "large": Fault(with_value(1e200), r"X contains 1e\+200.* in row 17, column 2"),
    "-large": Fault(with_value(-1e200), r"X contains -1e\+200.* in row 17, column 2"),
    "empty": Fault(lambda X: X[:0], "0 sample"),
    "narrow": Fault(
        lambda X: X[:, :2], "X has 2 features, but .* expecting 3", of_new_models=False
    ),
    "vector": Fault(lambda X: X[:, 0], "Expected 2D array, got 1D", sparse=False),
    "text": Fault(
        lambda X: np.where(X == X[ROW, COLUMN], "a", X.astype(str)), "'a'", sparse=False
    ),
}


def faulty_calls() -> Any:
    for name, fault in FAULTS.items():
        for form in ("dense", "csr") if fault.sparse else ("dense",):
            yield pytest.param(fault, form, id=f"{name}-{form}")


def spoilt(fault: Fault, form: str, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    bad = fault.spoil(X)
    return (scipy.sparse.csr_array(bad) if form == "csr" else bad), y[: len(bad)]


@each(RANDOM)
@pytest.mark.parametrize("fault, form", list(faulty_calls()))
def test_bad_rows_are_refused_by_every_method_and_leave_no_trace(
    system: System, fault: Fault, form: str
) -> None:
    X, y = spoilt(fault, form, *data(system, ROWS))
    for entry in entries(system):
        if entry != "fit" or fault.of_new_models:
            refuse(system, entry, X, y, fault.message)


@each(["rbp", "bogd-r"])
@learning
@pytest.mark.parametrize("fault, form", list(faulty_calls()))
def test_bad_first_rows_leave_a_new_model_new(
    system: System, fault: Fault, form: str, entry: str
) -> None:
    if fault.of_new_models:
        X, y = spoilt(fault, form, *data(system, ROWS))
        refuse_at_first(system, entry, X, y)


@each(["rbp", "rbp-r"])
def test_text_among_the_features_is_located(system: System) -> None:
    X, y = data(system, ROWS)
    X = FAULTS["text"].spoil(X)
    for entry in entries(system):
        model, _ = learnt(system)
        with pytest.raises(ValueError, match=r"X.*row 17, column 2"):
            call(model, entry, X, y)


@each(["rbp", "bogd-r"])
@in_both_formats
def test_the_limit_on_features_follows_the_precision(system: System, form: Any) -> None:
    X, y = data(system, ROWS)
    X = with_value(1e20)(X)
    message = r"1e\+20, whose square overflows float32 in row 17, column 2"
    single = form(X.astype(np.float32))
    for entry in LEARNING:
        with pytest.raises(ValueError, match=message):
            call(system.make(), entry, single, y)
    assert system.make().fit(form(X), y).t_ == ROWS, "float64 has room for 1e20"


@each(["rbp", "bogd-r"])
@pytest.mark.parametrize("value", [1e20, 1e200])
@in_both_formats
def test_a_single_precision_model_refuses_large_double_precision_rows(
    system: System, value: float, form: Any
) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X.astype(np.float32), y)
    twin = copy.deepcopy(model)
    # Warnings are errors here: the conversion must not be the one to complain.
    for entry in entries(system)[1:]:
        with pytest.raises(ValueError, match=r"X contains .* in row 17, column 2"):
            call(model, entry, form(with_value(value)(X)), y)
    goes_on_alike(model, twin, X, y)


# ---- targets -------------------------------------------------------------------------


def with_target(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def spoil(y: np.ndarray) -> np.ndarray:
        y = y.astype(np.float64)
        y[ROW] = value
        return y

    return spoil


BAD_TARGETS = {
    "nan": (with_target(np.nan), "y contains NaN"),
    "inf": (with_target(np.inf), "y contains infinity"),
    "-inf": (with_target(-np.inf), "y contains infinity"),
    "short": (lambda y: y[:-1], r"inconsistent.*\[100, 99\]"),
    "table": (lambda y: np.column_stack([y, y]), "y should be a 1d array"),
}
bad_targets = pytest.mark.parametrize(
    "spoil, message", BAD_TARGETS.values(), ids=BAD_TARGETS
)


@each(RANDOM)
@learning
@bad_targets
def test_bad_targets_are_refused_and_leave_no_trace(
    system: System, entry: str, spoil: Any, message: str
) -> None:
    X, y = data(system, ROWS)
    refuse(system, entry, X, spoil(y), message)


@each(["rbp", "bogd-r"])
@learning
@bad_targets
def test_bad_first_targets_leave_a_new_model_new(
    system: System, entry: str, spoil: Any, message: str
) -> None:
    X, y = data(system, ROWS)
    refuse_at_first(system, entry, X, spoil(y))


@each(["rbp", "rbp-r"])
@learning
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_target_that_is_not_finite_is_located(
    system: System, entry: str, value: float
) -> None:
    X, y = data(system, ROWS)
    with pytest.raises(ValueError, match=r"y.*row 17"):
        call(system.make(), entry, X, with_target(value)(y))


@each(["rbp-r", "bogd-r", "nbsgd-r"])
@learning
def test_text_as_a_regression_target_is_refused(system: System, entry: str) -> None:
    X, y = data(system, ROWS)
    text = y.astype(str)
    text[ROW] = "high"
    refuse(system, entry, X, text, "high")
    refuse_at_first(system, entry, X, text)


@each(["rbp", "bogd", "nbsgd"])
@learning
def test_numbers_that_are_no_labels_are_refused(system: System, entry: str) -> None:
    X, y = data(system, ROWS)
    refuse(system, entry, X, y + 0.25, "continuous")
    refuse_at_first(system, entry, X, y + 0.25)


@each(CLASSIFIERS)
def test_fit_refuses_one_class_and_names_it(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"one class.*'only'"):
        model.fit(X, ["only"] * ROWS)
    goes_on_alike(model, twin, X, y)
    refuse_at_first(system, "fit", X, ["only"] * ROWS)


@each(["rbp", "bogd", "nbsgd"])
@pytest.mark.parametrize("entry", ["partial_fit", "progressive"])
def test_an_unknown_label_in_the_first_call_draws_nothing(
    system: System, entry: str
) -> None:
    X, y = data(system, ROWS)
    refuse_at_first(system, entry, X, y, classes=[0, 2])
    refuse_at_first(system, entry, X, y, classes=[0])


@each(["rbp-r", "nbsgd-r"])
def test_regressors_refuse_classes(system: System) -> None:
    X, y = data(system, ROWS)
    refuse(system, "progressive", X, y, r"no classes.*\[0, 1\]", classes=[0, 1])


# ---- weights -------------------------------------------------------------------------


def weights_with(value: float) -> np.ndarray:
    weight = np.ones(ROWS)
    weight[ROW] = value
    return weight


@each(WEIGHTED)
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "weight, message",
    [
        (weights_with(-1.0), "Negative.*sample_weight"),
        (weights_with(np.nan), "sample_weight contains NaN"),
        (weights_with(np.inf), "sample_weight contains infinity"),
        (np.ones(ROWS - 1), r"sample_weight.*\(99,\).*\(100,\)"),
        (np.ones((ROWS, 2)), "weights must be 1D"),
    ],
    ids=["negative", "nan", "inf", "short", "table"],
)
def test_bad_sample_weights_are_refused_and_leave_no_trace(
    system: System, entry: str, weight: np.ndarray, message: str
) -> None:
    X, y = data(system, ROWS)
    refuse(system, entry, X, y, message, sample_weight=weight)
    refuse_at_first(system, entry, X, y, sample_weight=weight)


@each([name for name, system in SYSTEMS.items() if system.weighted])
def test_a_chunk_of_weight_zero_is_not_bad_input(system: System) -> None:
    # A row of weight 0 advances t_, wherever the stream is cut around it.
    X, y = data(system, ROWS)
    weight = np.where(np.arange(ROWS) < 60, 1.0, 0.0)
    whole = system.make().partial_fit(X, y, sample_weight=weight)
    model = system.make()
    for part in (slice(0, 60), slice(60, ROWS)):
        model.partial_fit(X[part], y[part], sample_weight=weight[part])
    assert model.t_ == ROWS
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=1e-9)


@each(["bogd", "nbsgd"])
@learning
@pytest.mark.parametrize("bad", [-1, np.nan, np.inf, "heavy"])
def test_bad_class_weights_are_refused_by_name(
    system: System, entry: str, bad: Any
) -> None:
    X, y = data(system, ROWS)
    model = system.make(class_weight={0: bad})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"class_weight.*{bad}"):
        call(model, entry, X, y)
    assert vars(model) == before


# ---- parameters ----------------------------------------------------------------------

BAD_VALUES: list[tuple[str, str, Any]] = [
    *[("rbp", "budget", value) for value in (0, -3, 2.5, "many", None)],
    ("bogd", "budget", 1),
    ("bogd-r", "budget", 1),
    *[("rbp", "gamma", v) for v in (0, 0.0, -1.0, "foo", np.nan, np.inf, None)],
    ("rbp", "kernel", "foo"),
    ("rbp", "degree", 0),
    ("rbp", "degree", 1.5),
    ("rbp", "coef0", -1.0),
    ("rbp", "max_iter", 0),
    ("rbp", "shuffle", "no"),
    ("rbp", "block_size", 0),
    ("rbp", "block_size", "large"),
    ("rbp", "n_jobs", 0),
    ("rbp", "n_jobs", 1.5),
    ("rbp", "verbose", -1),
    ("rbp-r", "epsilon", -0.1),
    ("rbp-r", "eta0", 0.0),
    ("bogd", "loss", "squared_hinge"),  # its slope has no bound
    ("bogd-r", "loss", "squared_error"),
    ("bogd", "loss", "perceptron"),
    ("bogd", "sampling", "foo"),
    ("bogd", "max_coef", 0.0),
    ("bogd", "eta0", -0.5),
    ("bogd", "alpha", -0.1),
    ("bogd", "alpha", np.nan),
    ("bogd", "smoothing", 0.0),
    ("bogd", "smoothing", 1.5),
    ("bogd", "class_weight", "foo"),
    ("nbsgd", "loss", "squared_error"),
    ("nbsgd-r", "loss", "hinge"),
    ("nbsgd", "maintenance", "foo"),
    ("nbsgd", "maintenance_rate", -1.0),
    ("nbsgd", "maintenance_rate", np.nan),
    ("nbsgd", "maintenance_fraction", -0.5),
    ("nbsgd", "hard_budget", 0),
    ("nbsgd", "hard_budget", 20.5),
    ("nbsgd", "alpha", 0.0),
    ("nbsgd", "t0", -1.0),
    ("nbsgd", "ball", "round"),
    ("bpa", "variant", "foo"),
    ("bpa", "C", 0.0),
    ("bpa", "budget", 0),
    ("budget-perceptron", "margin", -1.0),
    *[("avm", "coverage", value) for value in ("round", None, 1)],
    *[("avm", "coverage_radius", v) for v in (0, -0.5, np.nan, np.inf, "half", None)],
    *[("avm", "approx_beta", value) for value in (-1.0, np.nan, np.inf, "auto")],
    *[("avm", "approx_rho", value) for value in (0.0, -1.0, np.nan, np.inf)],
    *[("avm-r", "max_core", value) for value in (0, 1.5, -1, 2**70, "all")],
    ("avm", "lazy_core", "no"),
    ("avm", "paper_box", "yes"),
    ("avm", "loss", "squared_error"),
    ("avm-r", "loss", "hinge"),
    *[("avm-r", "average", value) for value in ("half", True, 1)],
    *[("avm-r", "suffix_fraction", v) for v in (0, 0.0, 1.5, -0.5, np.nan, None)],
    ("bsgd-mean", "average", "mean"),
    ("bsgd-mean", "suffix_fraction", 0),
    *[("bsgd-mean", "average_exact", value) for value in (None, "yes", 2)],
    ("bogd", "average", "exact"),
    ("nbsgd-r", "suffix_fraction", 1.5),
    ("nbsgd-r", "average_exact", "no"),
]


def named_bad_values() -> Any:
    for name, parameter, value in BAD_VALUES:
        system = SYSTEMS[name]
        yield pytest.param(system, parameter, value, id=f"{name}-{parameter}-{value}")


@pytest.mark.parametrize("system, parameter, value", list(named_bad_values()))
def test_a_bad_parameter_is_refused_by_name_and_leaves_no_trace(
    system: System, parameter: str, value: Any
) -> None:
    X, y = data(system, ROWS)
    message = f"{parameter}.*{re.escape(repr(value))}"
    model, twin = learnt(system)
    good = model.get_params()[parameter]
    for entry in LEARNING:
        new = system.make(**{parameter: value})
        before = dict(vars(new))
        with pytest.raises(ValueError, match=message):
            call(new, entry, X, y)
        assert vars(new) == before
        model.set_params(**{parameter: value})
        with pytest.raises(ValueError, match=message):
            call(model, entry, X, y)
        model.set_params(**{parameter: good})
    goes_on_alike(model, twin, X, y)


@pytest.mark.parametrize("system, parameter, value", list(named_bad_values()))
def test_a_bad_parameter_draws_nothing(
    system: System, parameter: str, value: Any
) -> None:
    X, y = data(system, ROWS)
    for entry in LEARNING:
        refuse_at_first(system, entry, X, y, {parameter: value})


BAD_PAIRS: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    ("ogd", {"alpha": 2.0, "eta0": 0.5}, "alpha.*eta0.*2.0.*0.5", LEARNING),
    ("ogd-r", {"alpha": 3.0, "eta0": 0.5}, "alpha.*eta0.*3.0.*0.5", LEARNING),
    (
        "ogd",
        {"alpha": 2.0, "eta0": 0.5, "learning_rate": "invscaling"},
        "alpha.*eta0.*2.0.*0.5",
        LEARNING,
    ),
    ("bogd", {"alpha": 1.5, "eta0": 0.4}, "alpha.*eta0.*1.5.*0.4", LEARNING),
    ("bogd++", {"alpha": 1.5, "eta0": 0.4}, "alpha.*eta0.*1.5.*0.4", LEARNING),
    ("bogd-r", {"alpha": 1.5, "eta0": 0.4}, "alpha.*eta0.*1.5.*0.4", LEARNING),
    (
        "nbsgd",
        {"maintenance_rate": 10.0, "maintenance_fraction": 0.5},
        "maintenance_rate=10.0, maintenance_fraction=0.5",
        LEARNING,
    ),
    (
        "nbsgd-r",
        {"maintenance_rate": None, "maintenance_fraction": 0.5},
        "maintenance_fraction.*partial_fit",
        ("partial_fit", "progressive"),
    ),
    ("nbsgd", {"hard_budget": 5}, "hard_budget.*budget=12.*5", LEARNING),
    (
        "projectron",
        {"projection_threshold": 1.0},
        "threshold must be below 1",
        LEARNING,
    ),
    (
        "bsgd",
        {"kernel": "poly", "maintenance": "merge"},
        'merge" needs kernel="rbf".*poly',
        LEARNING,
    ),
    ("nbsgd-r", {"hard_budget": 11}, "hard_budget.*budget=12.*11", LEARNING),
    ("avm", {"paper_box": True}, 'paper_box=True needs coverage="box"', LEARNING),
    (
        "avm-r",
        {"paper_box": True, "coverage": "grid"},
        "paper_box=True.*'grid'",
        LEARNING,
    ),
    *[
        (
            name,
            {"average": "suffix"},
            'average="suffix".*stream.*partial_fit',
            ("partial_fit", "progressive"),
        )
        for name in ("avm", "avm-r", "sgd", "ogd", "bogd-r", "bsgd-mean", "nbsgd")
    ],
    *[
        (name, {"average": None, "average_exact": True}, "average_exact.*ave", LEARNING)
        for name in ("bsgd-mean", "bogd", "nbsgd-r")
    ],
]


@pytest.mark.parametrize("name, parameters, message, where", BAD_PAIRS)
def test_parameters_that_contradict_each_other_are_refused(
    name: str, parameters: dict[str, Any], message: str, where: tuple[str, ...]
) -> None:
    system = SYSTEMS[name]
    X, y = data(system, ROWS)
    for entry in where:
        with pytest.raises(ValueError, match=message):
            call(system.make(**parameters), entry, X, y)
        refuse_at_first(system, entry, X, y, parameters)

    model = system.make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    good = {key: model.get_params()[key] for key in parameters}
    model.set_params(**parameters)
    for entry in where:
        with pytest.raises(ValueError, match="|".join(parameters)):
            call(model, entry, X, y)
    model.set_params(**good)
    goes_on_alike(model, twin, X, y)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("ogd", {"alpha": 1.9, "eta0": 0.5}),
        ("bogd", {"alpha": 1.0, "eta0": 0.5}),
        ("bogd", {"budget": 2}),
        ("nbsgd", {"hard_budget": 12}),
        ("nbsgd", {"maintenance_rate": 0.0}),
        ("nbsgd", {"maintenance_rate": np.inf}),
        ("nbsgd", {"maintenance_rate": 0}),
        ("rbp", {"budget": 1}),
        ("rbp", {"gamma": 1}),
        ("rbp", {"random_state": None}),
        ("rbp", {"random_state": np.random.RandomState(0)}),
        ("avm", {"approx_beta": 0}),
        ("avm", {"coverage_radius": 1e-300}),
        ("avm", {"coverage_radius": 10**9}),
        ("avm", {"coverage": "box", "paper_box": True}),
        ("avm", {"max_core": 1}),
        ("avm-r", {"max_core": 2**62}),
        ("avm-r", {"suffix_fraction": 1}),
        ("avm-r", {"suffix_fraction": 1e-9}),
    ],
)
def test_the_last_good_value_is_accepted(name: str, parameters: dict[str, Any]) -> None:
    system = SYSTEMS[name]
    X, y = data(system, ROWS)
    for entry in LEARNING:
        model = system.make(**parameters)
        call(model, entry, X, y)
        assert model.t_ == ROWS


def test_a_bad_number_of_threads_is_refused_when_predicting() -> None:
    system = CLASSIFIERS["rbp"]
    X, y = data(system, ROWS)
    model, twin = learnt(system)
    model.set_params(n_jobs=0)
    for entry in PREDICTING:
        with pytest.raises(ValueError, match=r"n_jobs.*0"):
            call(model, entry, X, y)
    goes_on_alike(model.set_params(n_jobs=None), twin, X, y)


# ---- parameters that change in mid-stream --------------------------------------------

OTHER_VALUES: dict[str, list[Any]] = {
    "C": [2.0],
    "alpha": [0.02],
    "approx_beta": [7.0],
    "approx_rho": [0.5],
    "average": [None, "full", "suffix"],
    "average_exact": [True],
    "ball": [True, False],
    "budget": [20],
    "class_weight": [{0: 2.0}],
    "coef0": [0.5],
    "coverage": ["box", "grid"],
    "coverage_radius": [0.9, "auto"],
    "degree": [2],
    "epsilon": [0.2],
    "eta0": [0.3, 0.35],
    "gamma": [0.7, "scale"],
    "hard_budget": [50],
    "kernel": ["laplacian"],
    "lazy_core": [False],
    "learning_rate": ["invscaling"],
    "loss": ["log_loss", "absolute_error", "epsilon_insensitive"],
    "maintenance_rate": [30.0],
    "margin": [0.5],
    "max_coef": [2.0],
    "max_core": [5],
    "paper_box": [True],
    "power_t": [0.3],
    "random_state": [99],
    "sampling": ["weighted", "uniform"],
    "smoothing": [0.25],
    "suffix_fraction": [0.25],
    "t0": [3.0],
}


@each(SYSTEMS)
def test_a_learning_parameter_may_not_change_in_mid_stream(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    for parameter, values in OTHER_VALUES.items():
        if not system.accepts(parameter):
            continue
        begun = model.get_params()[parameter]
        allowed = inspect.getattr_static(model, "_parameter_constraints")[parameter]
        for value in values:
            if value == begun or (parameter == "loss" and value not in str(allowed)):
                continue
            model.set_params(**{parameter: value})
            message = f"{parameter} was {begun!r}.*is {value!r} now"
            for entry in ("partial_fit", "progressive"):
                with pytest.raises(
                    ValueError, match=re.escape(message).replace(re.escape(".*"), ".*")
                ):
                    call(model, entry, X, y)
        model.set_params(**{parameter: begun})
    goes_on_alike(model, twin, X, y)


@each(["rbp", "bogd-r"])
def test_how_to_run_may_change_in_mid_stream(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    model.set_params(verbose=1, n_jobs=2, block_size=5)
    np.testing.assert_allclose(
        onkel.progressive(model, X, y), onkel.progressive(twin, X, y), rtol=1e-9
    )


@each(["rbp", "bogd-r"])
def test_fit_may_begin_anew_with_other_parameters(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(X, y).set_params(gamma=0.7, budget=20)
    model.fit(X, y)
    fresh = system.make(gamma=0.7, budget=20).fit(X, y)
    goes_on_alike(model, fresh, X, y)


def test_a_class_weight_changed_in_place_is_noticed() -> None:
    system = CLASSIFIERS["bogd"]
    X, y = data(system, ROWS)
    model = system.make(class_weight={0: 1.0}).partial_fit(X, y)
    model.class_weight[0] = 5.0
    with pytest.raises(ValueError, match="class_weight"):
        model.partial_fit(X, y)


# ---- scores that overflow ------------------------------------------------------------


def exploding(**parameters: Any) -> Any:
    given = {"loss": "squared_error", "alpha": 1e-4, "gamma": 0.05}
    return onkel.KernelSGDRegressor(**given, **parameters)


@pytest.mark.parametrize("entry", LEARNING)
@in_both_formats
def test_scores_that_overflow_are_reported_with_advice(entry: str, form: Any) -> None:
    X, y = data(REGRESSORS["sgd-r"], 400)
    message = "KernelSGDRegressor overflowed at row [0-9]+.*alpha.*t0.*ball"
    with pytest.raises(ValueError, match=message):
        call(exploding(), entry, form(X), y)


def test_the_row_at_which_a_stream_overflows_is_named() -> None:
    X, y = data(REGRESSORS["sgd-r"], 400)
    with pytest.raises(ValueError) as error:
        exploding().partial_fit(X, y)
    row = int(re.search(r"at row (\d+)", str(error.value)).group(1))
    assert exploding().partial_fit(X[:row], y[:row]).t_ == row
    with pytest.raises(ValueError, match=f"at row {row} "):
        exploding().partial_fit(X[: row + 1], y[: row + 1])


def test_the_row_at_which_a_shuffled_fit_overflows_is_named() -> None:
    # In float32 this target alone is too large, whatever came before it.
    X, y = data(REGRESSORS["bsgd-r"], ROWS)
    y[ROW] = 1e300
    model = REGRESSORS["bsgd-r"].make(shuffle=True)
    with pytest.raises(ValueError, match=f"row {ROW} "):
        model.fit(X.astype(np.float32), y)


def test_the_row_that_overflows_is_counted_from_the_start_of_the_call() -> None:
    # Also behind the row of a new label, where the stream is cut.
    X, _ = data(CLASSIFIERS["bsgd"], ROWS)
    y = np.arange(ROWS) % 2
    y[60:] = np.arange(40) % 3
    weight = np.ones(ROWS)
    weight[80] = 1e300
    model = CLASSIFIERS["bsgd"].make(loss="log_loss")
    with pytest.raises(ValueError, match="row 80 "):
        model.partial_fit(X.astype(np.float32), y, sample_weight=weight)


@pytest.mark.parametrize("entry", LEARNING)
def test_an_overflow_leaves_no_trace_in_a_fitted_model(entry: str) -> None:
    X, y = data(REGRESSORS["sgd-r"], 400)
    model = exploding(random_state=0).partial_fit(X[:50], y[:50])
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match="overflowed"):
        call(model, entry, X, y)
    goes_on_alike(model, twin, X[50:60], y[50:60])


@pytest.mark.parametrize("entry", LEARNING)
def test_an_overflow_leaves_a_new_model_new(entry: str) -> None:
    X, y = data(REGRESSORS["sgd-r"], 400)
    model = exploding(random_state=np.random.RandomState(3))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="overflowed"):
        call(model, entry, X, y)
    assert vars(model) == before
    assert untouched(model.random_state)


@pytest.mark.parametrize("entry", ["partial_fit", "progressive"])
@each(["bogd-r", "nbsgd-r", "rbp-r"])
def test_an_overflow_consumes_no_draws(system: System, entry: str) -> None:
    # The cube of this number is not finite, and in this kernel it is cubed.
    X, y = data(system, ROWS)
    X[80] = 1e120
    model = system.make(kernel="poly").partial_fit(*data(system, 150, seed=1))
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match="overflowed at row 80"):
        call(model, entry, X, y)
    goes_on_alike(model, twin, *data(system, 50, seed=2))
