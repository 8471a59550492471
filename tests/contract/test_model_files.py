"""Model files: what they keep, and what they refuse."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import onkel
from onkel.estimators._registry import systems
from onkel.model import state
from onkel.storage import model_file
from onkel.storage.tree import Reader, Writer
from tests.contract.systems import (
    CLASSIFIERS,
    RANDOM,
    REGRESSORS,
    SYSTEMS,
    System,
    data,
    each,
    each_in_its_precisions,
    goes_on_alike,
)

ROWS = 150


def through_a_file(model: Any, folder: Path) -> Any:
    onkel.save(model, folder / "model.onkel")
    return onkel.load(folder / "model.onkel")


# ---- going on ------------------------------------------------------------------------


@each(SYSTEMS)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_loaded_model_goes_on_with_the_same_bits(
    system: System, classes: int, tmp_path: Path
) -> None:
    X, y = data(system, 2 * ROWS, classes=classes)
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    goes_on_alike(through_a_file(model, tmp_path), model, X[ROWS:], y[ROWS:])


@each(SYSTEMS)
def test_a_stream_can_be_saved_after_every_row(system: System, tmp_path: Path) -> None:
    X, y = data(system, 12)
    model = system.make()
    for t in range(len(y)):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        again = through_a_file(model, tmp_path)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@each_in_its_precisions(RANDOM)
def test_a_loaded_model_of_sparse_rows_goes_on_with_the_same_bits(
    system: System, dtype: Any, tmp_path: Path
) -> None:
    X, y = data(system, 2 * ROWS)
    X = scipy.sparse.csr_array(X.astype(dtype))
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    goes_on_alike(through_a_file(model, tmp_path), model, X[ROWS:], y[ROWS:])


@pytest.mark.parametrize(
    "name", ["BSCAClassifier", "BSCARegressor", "LLSVMClassifier", "LLSVMRegressor"]
)
def test_a_loaded_batch_model_answers_with_the_same_bits(
    name: str, tmp_path: Path
) -> None:
    X, y = data(REGRESSORS["rbp-r"] if "Reg" in name else CLASSIFIERS["rbp"], ROWS)
    model = getattr(onkel, name)(budget=10, gamma=0.5, random_state=0).fit(X, y)
    same = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(same.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


MACHINES = {"machine": CLASSIFIERS["rbp"], "machine-r": REGRESSORS["rbp-r"]}


def machine(name: str, classes: int = 2, count: int = 500) -> Any:
    """A kernel machine that re-fits a few times, and rows for it."""
    X, y = data(MACHINES[name], count, classes=classes)
    cls = onkel.KernelRegressor if name.endswith("-r") else onkel.KernelClassifier
    return cls(budget=15, gamma=0.5, C=1.0, random_state=0), X, y


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(
    ("name", "classes"), [("machine", 2), ("machine", 4), ("machine-r", 2)]
)
def test_a_loaded_machine_goes_on_with_the_same_bits(
    name: str, classes: int, scale: bool, form: Any, tmp_path: Path
) -> None:
    model, X, y = machine(name, classes)
    X = form(X)
    model.set_params(scale=scale).fit(X[:100], y[:100])
    goes_on_alike(through_a_file(model, tmp_path), model, X[100:], y[100:])
    model, _, _ = machine(name, classes)
    model.set_params(scale=scale)
    # Before the first re-fit, and after it.
    for start, stop in ((0, 150), (150, 300)):
        model.partial_fit(X[start:stop], y[start:stop])
        same = through_a_file(model, tmp_path)
        np.testing.assert_array_equal(same.predict(X[:50]), model.predict(X[:50]))
        goes_on_alike(same, model, X[stop : stop + 150], y[stop : stop + 150])


@pytest.mark.parametrize(
    "model",
    [
        onkel.FourierFeatures(n_components=10, gamma=0.5, random_state=0),
        onkel.NystromFeatures(budget=10, gamma=0.5, random_state=0),
    ],
    ids=["fourier", "nystrom"],
)
def test_a_loaded_transformer_gives_the_same_bits(model: Any, tmp_path: Path) -> None:
    X, _ = data(CLASSIFIERS["rbp"], ROWS)
    model.fit(X)
    same = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(same.transform(X), model.transform(X))
    assert list(same.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("name", systems())
def test_an_unfitted_estimator_keeps_its_parameters(name: str, tmp_path: Path) -> None:
    model = systems()[name]()
    same = through_a_file(model, tmp_path)
    assert type(same) is type(model)
    assert same.get_params() == model.get_params()
    assert not same.__sklearn_is_fitted__()


def test_parameters_of_all_kinds_come_back(tmp_path: Path) -> None:
    X, y = data(CLASSIFIERS["bsgd"], ROWS)
    seed = np.random.RandomState(3)
    model = CLASSIFIERS["bsgd"].make(
        class_weight={0: 2.0, 1: 1}, random_state=seed, n_jobs=np.int64(1)
    )
    same = through_a_file(model.fit(X, y), tmp_path)
    assert same.class_weight == {0: 2.0, 1: 1}
    assert same.random_state.randint(10**6) == seed.randint(10**6)
    goes_on_alike(same, model, X, y)


def test_a_budget_of_numpy_comes_back(tmp_path: Path) -> None:
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    model = CLASSIFIERS["rbp"].make(budget=np.int64(12)).partial_fit(X, y)
    goes_on_alike(through_a_file(model, tmp_path), model, X, y)


@pytest.mark.parametrize("labels", [["no", "yes"], np.array(["n", "yes"], object)])
def test_text_labels_come_back(labels: Any, tmp_path: Path) -> None:
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    model = CLASSIFIERS["rbp"].make().fit(X, np.asarray(labels)[y])
    same = through_a_file(model, tmp_path)
    assert same.classes_.dtype == model.classes_.dtype
    assert same.classes_.tolist() == model.classes_.tolist()
    assert same.predict(X).tolist() == model.predict(X).tolist()


def test_columns_names_and_history_come_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data(CLASSIFIERS["bsgd"], ROWS)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = CLASSIFIERS["bsgd"].make(monitor=True).fit(frame, y)
    same = through_a_file(model, tmp_path)
    assert same.feature_names_in_.tolist() == ["a", "b", "c"]
    assert str(same.history_) == str(model.history_)


def test_saving_changes_nothing(tmp_path: Path) -> None:
    X, y = data(CLASSIFIERS["bogd++"], 2 * ROWS)
    models = [CLASSIFIERS["bogd++"].make().partial_fit(X, y) for _ in range(2)]
    onkel.save(models[0], tmp_path / "model.onkel")
    goes_on_alike(*models, X, y)


# ---- damage --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model file."""
    path = tmp_path_factory.mktemp("model") / "model.onkel"
    X, y = data(CLASSIFIERS["bogd"], ROWS)
    onkel.save(CLASSIFIERS["bogd"].make().partial_fit(X, y), path)
    return path.read_bytes()


def refused(content: bytes, folder: Path, says: str = "") -> None:
    path = folder / "damaged.onkel"
    path.write_bytes(content)
    with pytest.raises(onkel.ModelFileError, match=r"damaged\.onkel") as error:
        onkel.load(path)
    assert says in str(error.value)


def test_every_flipped_byte_is_refused(content: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    # A thousand anywhere, and every byte of the header.
    header = np.arange(min(model_file._header_end(content), len(content)))
    places = np.concatenate([rng.integers(len(content), size=1000), header])
    for place, change in zip(
        places, rng.integers(1, 256, size=len(places)), strict=True
    ):
        damaged = bytearray(content)
        damaged[place] ^= change
        refused(bytes(damaged), tmp_path)


def test_a_cut_or_extended_file_is_refused(content: bytes, tmp_path: Path) -> None:
    for length in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1):
        refused(content[:length], tmp_path)
    refused(content + b"\0", tmp_path)
    refused(content + content, tmp_path)
    refused(b"\xff" * 8 + content[8:], tmp_path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    refused(b"label,feature\n1,2\n", tmp_path, "no model file")
    refused(save_arrays({"weights": np.ones(3)}), tmp_path, "no model file")
    with pytest.raises(FileNotFoundError):
        onkel.load(tmp_path / "missing.onkel")


def test_what_never_ends_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody will write into it
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(2**40)  # more than any memory, without taking up room
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path / "huge"):
        with pytest.raises(onkel.ModelFileError):
            onkel.load(path)


# ---- forgery: files with the right digest --------------------------------------------


def forged(content: bytes, change: Any) -> bytes:
    """A file with other contents, and the digest that belongs to them."""
    end = model_file._header_end(content)
    metadata = json.loads(content[8:end])["__metadata__"]
    model, arrays = json.loads(metadata["model"]), load_arrays(content)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(model, arrays, metadata)
    metadata |= {"model": json.dumps(model), "sha256": model_file.BLANK}
    made = save_arrays(arrays, metadata)
    digest = hashlib.sha256(made).hexdigest().encode()
    return made.replace(model_file.BLANK.encode(), digest, 1)


def parts(model: dict[str, Any]) -> dict[str, Any]:
    """Fields of the expansion, as they are in the file."""
    learner = model["fitted"]["_learner"]["parts"]
    return dict(zip(state.Model._fields, learner[3]["fields"], strict=True))


def test_an_unchanged_forgery_is_accepted(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "same.onkel"
    path.write_bytes(forged(content, lambda model, arrays, metadata: None))
    assert onkel.load(path).model_size_ > 0


def too_many_centers(model: Any, arrays: Any, metadata: Any) -> None:
    counters = arrays[f"model.{parts(model)['counters']['array']}"].view(state.COUNTERS)
    counters["count"] = 10**6


def more_than_the_budget(model: Any, arrays: Any, metadata: Any) -> None:
    learner = model["fitted"]["_learner"]["parts"]
    learner[1]["fields"][0] = 3


def no_budget(model: Any, arrays: Any, metadata: Any) -> None:
    learner = model["fitted"]["_learner"]["parts"]
    learner[1]["fields"][0] = -1


def no_labels(model: Any, arrays: Any, metadata: Any) -> None:
    del model["fitted"]["classes_"]


def a_regressor(model: Any, arrays: Any, metadata: Any) -> None:
    model["class"] = "BOGDRegressor"
    model["parameters"] = {}


def wild_generator(model: Any, arrays: Any, metadata: Any) -> None:
    learner = model["fitted"]["_learner"]["parts"]
    for pair in learner[2]["generator"]["dict"]:
        if pair[0] == "uinteger":
            pair[1] = 2**400


def fewer_coefficients(model: Any, arrays: Any, metadata: Any) -> None:
    name = f"model.{parts(model)['coef']['array']}"
    arrays[name] = arrays[name][:, :-1].copy()


def other_precision(model: Any, arrays: Any, metadata: Any) -> None:
    name = f"model.{parts(model)['points']['array']}"
    arrays[name] = arrays[name].astype(np.float32)


def infinite_center(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[f"model.{parts(model)['points']['array']}"][0, 0] = np.inf


def label_out_of_range(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[f"model.{parts(model)['label']['array']}"][:] = 77


def another_class(model: Any, arrays: Any, metadata: Any) -> None:
    model["class"] = "SVC"


def code(model: Any, arrays: Any, metadata: Any) -> None:
    model["parameters"]["gamma"] = {"named": "os.system", "fields": ["true"]}


def method(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["predict"] = 1


def later_format(model: Any, arrays: Any, metadata: Any) -> None:
    metadata["onkel"] = "2"


def no_learner(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["_learner"] = {"list": []}


def another_width(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["n_features_in_"] = 5


def no_array(model: Any, arrays: Any, metadata: Any) -> None:
    learner = model["fitted"]["_learner"]["parts"]
    learner[3]["fields"][1] = 3


def unknown_parameter(model: Any, arrays: Any, metadata: Any) -> None:
    model["parameters"]["bandwidth"] = 1


def deep(model: Any, arrays: Any, metadata: Any) -> None:
    nested: Any = 1
    for _ in range(60):
        nested = {"list": [nested]}
    model["fitted"]["deep_"] = nested


@pytest.mark.parametrize(
    "change",
    [
        *(too_many_centers, more_than_the_budget, no_budget, no_labels, a_regressor),
        *(fewer_coefficients, other_precision, infinite_center, wild_generator),
        *(label_out_of_range, another_class, code, method, later_format, no_learner),
        *(another_width, no_array, unknown_parameter, deep),
    ],
    ids=lambda change: change.__name__,
)
def test_a_forgery_that_makes_no_sense_is_refused(
    change: Any, content: bytes, tmp_path: Path
) -> None:
    refused(forged(content, change), tmp_path)


@pytest.fixture(scope="module", params=["dense", "csr"])
def machines(request: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model file of a kernel machine."""
    path = tmp_path_factory.mktemp("model") / "model.onkel"
    model, X, y = machine("machine")
    X = scipy.sparse.csr_array(X) if request.param == "csr" else X
    onkel.save(model.partial_fit(X[:300], y[:300]), path)
    return path.read_bytes()


def test_an_unchanged_machine_is_accepted(machines: bytes, tmp_path: Path) -> None:
    path = tmp_path / "same.onkel"
    path.write_bytes(forged(machines, lambda model, arrays, metadata: None))
    assert onkel.load(path).t_ == 300


def first_rows(model: Any) -> list[Any]:
    """Rows, targets and weights of the first chunk that was kept."""
    return model["fitted"]["_recent"]["parts"][1]["list"][0]["tuple"]


def arrays_of(plain: Any) -> list[str]:
    parts = plain["tuple"] if "tuple" in plain else [plain]
    return [f"model.{part['array']}" for part in parts if isinstance(part, dict)]


def shorter(arrays: Any, name: str) -> None:
    arrays[name] = arrays[name][:-1].copy()


def fewer_targets(model: Any, arrays: Any, metadata: Any) -> None:
    shorter(arrays, *arrays_of(first_rows(model)[1]))


def fewer_weights(model: Any, arrays: Any, metadata: Any) -> None:
    shorter(arrays, *arrays_of(first_rows(model)[2]))


def negative_weight(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[arrays_of(first_rows(model)[2])[0]][0] = -1.0


def unknown_class(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[arrays_of(first_rows(model)[1])[0]][0] = 2.0


def fewer_rows(model: Any, arrays: Any, metadata: Any) -> None:
    shorter(arrays, arrays_of(first_rows(model)[0])[0])


def infinite_row(model: Any, arrays: Any, metadata: Any) -> None:
    arrays[arrays_of(first_rows(model)[0])[0]].flat[0] = np.inf


def strange_columns(model: Any, arrays: Any, metadata: Any) -> None:
    names = arrays_of(first_rows(model)[0])
    if len(names) == 1:  # dense
        arrays[names[0]] = arrays[names[0]][:, :-1].copy()
    else:
        arrays[names[1]][0] = 10**6


def no_rows(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["_recent"] = None


def no_next_order(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["_next_order"] = "soon"


def no_gamma(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["gamma_"] = -1.0


def another_scaler(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["scaler_"]["object"] = "PowerTransformer"


def rows_for_a_scaler(model: Any, arrays: Any, metadata: Any) -> None:
    model["fitted"]["scaler_"] = model["fitted"]["_recent"]


def wider_scaler(model: Any, arrays: Any, metadata: Any) -> None:
    name = arrays_of(model["fitted"]["scaler_"]["parts"][0])[0]
    arrays[name] = np.append(arrays[name], 1.0)


def no_scale(model: Any, arrays: Any, metadata: Any) -> None:
    for part in model["fitted"]["scaler_"]["parts"]:
        if isinstance(part, dict) and "array" in part:
            arrays[f"model.{part['array']}"][...] = 0.0


@pytest.mark.parametrize(
    "change",
    [
        *(fewer_targets, fewer_weights, negative_weight, unknown_class, fewer_rows),
        *(infinite_row, strange_columns, no_rows, no_next_order, no_gamma),
        *(another_scaler, rows_for_a_scaler, wider_scaler, no_scale),
    ],
    ids=lambda change: change.__name__,
)
def test_a_forged_machine_is_refused(
    change: Any, machines: bytes, tmp_path: Path
) -> None:
    refused(forged(machines, change), tmp_path)


def test_a_place_outside_of_a_random_state_is_refused(tmp_path: Path) -> None:
    model = onkel.RBPClassifier(random_state=np.random.RandomState(3))
    onkel.save(model, tmp_path / "model.onkel")

    def far(model: Any, arrays: Any, metadata: Any) -> None:
        state = dict(model["parameters"]["random_state"]["random_state"]["dict"])
        for pair in state["state"]["dict"]:
            if pair[0] == "pos":
                pair[1] = 10**9

    refused(forged((tmp_path / "model.onkel").read_bytes(), far), tmp_path)


# ---- writing -------------------------------------------------------------------------


def test_the_same_model_has_the_same_bytes(tmp_path: Path) -> None:
    X, y = data(CLASSIFIERS["bogd"], ROWS)
    for name in "ab":
        onkel.save(CLASSIFIERS["bogd"].make().partial_fit(X, y), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_only_our_estimators_are_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="dict is no estimator of onkel"):
        onkel.save({}, tmp_path / "model.onkel")
    model = onkel.RBPClassifier(random_state=np.random.SeedSequence(1))
    with pytest.raises(TypeError, match="random_state is a"):
        onkel.save(model, tmp_path / "model.onkel")
    model = onkel.RBPClassifier()
    model.own = 3
    with pytest.raises(TypeError, match="'own'"):
        onkel.save(model, tmp_path / "model.onkel")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "model.onkel")
    onkel.save(onkel.RBPClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert onkel.load(tmp_path / "model.onkel").budget == 500


def test_a_failed_write_leaves_the_old_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onkel"
    path.write_bytes(content)

    def fail(*given: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        onkel.save(onkel.RBPClassifier(), path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_an_array_that_occurs_twice_is_one_array_again() -> None:
    writer, array = Writer(), np.arange(3.0)
    plain = writer.plain([array, array], "example")
    assert len(writer.arrays) == 1
    first, second = Reader(writer.arrays).value(plain)
    assert first is second


def test_the_order_of_memory_comes_back() -> None:
    writer, array = Writer(), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    again = Reader(writer.arrays).value(writer.plain(array, "example"))
    assert again.flags.f_contiguous
    np.testing.assert_array_equal(again, array)


@each(REGRESSORS)
def test_extra_comes_back(system: System, tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    model_file.write(system.make(), path, {"columns": ["a"]}, {"mean": np.ones(2)})
    contents = model_file.read(path)
    assert contents.extra == {"columns": ["a"]}
    assert contents.arrays["mean"].tolist() == [1, 1]
