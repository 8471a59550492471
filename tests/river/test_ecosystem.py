"""Models of onkel among River's own: pipelines, evaluation, drift, copies."""

import ast
import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from river import (
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    metrics,
    model_selection,
    preprocessing,
)

import onkel
import onkel.river
from onkel.estimators._registry import systems
from onkel.river._stub import stub
from tests.river.streams import made_up, named, phishing

SMALL: dict[str, Any] = {"budget": 12, "seed": 0}


def test_every_system_of_streams_has_a_face() -> None:
    streaming = [n for n, cls in systems().items() if hasattr(cls, "partial_fit")]
    assert sorted(onkel.river.__all__) == sorted(streaming)
    for name in streaming:
        face = getattr(onkel.river, name)
        given = inspect.signature(face).parameters
        assert "seed" in given and "random_state" not in given
        assert set(given) - {"seed"} <= set(
            inspect.signature(getattr(onkel, name)).parameters
        )
        assert all(f"\n{parameter}\n" in face.__doc__ for parameter in given)
        weighs = (
            "sample_weight"
            in inspect.signature(getattr(onkel, name).partial_fit).parameters
        )
        assert weighs == ("w" in inspect.signature(face.learn_one).parameters)


def test_editors_know_the_classes() -> None:
    written = Path(onkel.river.__file__).with_suffix(".pyi").read_text()
    # But for the layout, which ruff has its own ideas of.
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(stub())), (
        "the parameters have changed: python -m onkel.river._stub "
        "src/onkel/river/__init__.pyi, then ruff format"
    )


def test_bad_parameters_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="budget"):
        onkel.river.RBPClassifier(budget=-1)
    with pytest.raises(ValueError, match="seed"):
        onkel.river.RBPClassifier(seed="one")
    with pytest.raises(TypeError, match="max_iter"):
        onkel.river.RBPClassifier(max_iter=3)


def test_a_pipeline_is_evaluated_and_drift_is_watched() -> None:
    model = preprocessing.StandardScaler() | onkel.river.BSGDClassifier(**SMALL)
    metric = evaluate.progressive_val_score(phishing(400), model, metrics.Accuracy())
    assert metric.get() > 0.75
    watched = drift.DriftRetrainingClassifier(
        onkel.river.FOGDClassifier(n_components=20, loss="log_loss", seed=0),
        drift.binary.DDM(),
    )
    adwin = drift.ADWIN()
    for x, y in phishing(120):
        adwin.update(watched.predict_one(x) != y)
        watched.learn_one(x, y)


def test_text_and_numbers_mix_by_rivers_transformers() -> None:
    words = feature_extraction.BagOfWords(on="text")
    kinds = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.Select("size") | preprocessing.StandardScaler()
    model = (
        (compose.Select("kind") | kinds) + words + numbers
    ) | onkel.river.RBPClassifier(**SMALL)
    rows = [
        ({"kind": "a", "text": "good old words", "size": 1.0}, True),
        ({"kind": "b", "text": "bad words", "size": 3.0}, False),
        ({"kind": "c", "text": "more good words", "size": 1.5}, True),
    ]
    for x, y in rows * 5:
        model.predict_one(x)
        model.learn_one(x, y)
    assert [model.predict_one(x) for x, _ in rows] == [True, False, True]


def test_probabilities_suit_metrics_that_want_them() -> None:
    given: dict[str, Any] = {"n_components": 20, "loss": "log_loss", "seed": 0}
    model = preprocessing.StandardScaler() | onkel.river.FOGDClassifier(**given)
    metric = evaluate.progressive_val_score(phishing(200), model, metrics.ROCAUC())
    assert metric.get() > 0.8


def test_ensembles_and_grids_take_clones() -> None:
    model = onkel.river.FOGDClassifier(n_components=20, loss="log_loss", seed=0)
    bagged = ensemble.BaggingClassifier(model, n_models=2, seed=0)
    for x, y in phishing(60):
        bagged.learn_one(x, y)
    assert bagged.predict_one(phishing(60)[0][0]) in (False, True)
    model = onkel.river.RBPRegressor(gamma=0.5, **SMALL)
    grid = model_selection.GreedyRegressor([model, model.clone({"eta0": 0.1})])
    X, _, f = made_up(30)
    for x, target in zip(named(X), f.tolist(), strict=True):
        grid.learn_one(x, target)
    assert grid.best_model.eta0 in (0.1, 0.5)


def test_clones_have_learnt_nothing_and_draw_anew_unless_seeded() -> None:
    model = onkel.river.RBPClassifier(budget=12, seed=3)
    model.learn_one({"a": 1.0}, True)
    assert model.clone().predict_one({"a": 1.0}) is None
    assert model.clone({"budget": 5}).budget == 5
    drawn = onkel.river.RBPClassifier()
    assert drawn.clone()._drawn != drawn._drawn
    assert model.clone()._drawn == 3


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_go_on_bit_for_bit(how: Any) -> None:
    X, y, _ = made_up(80, classes=3)
    rows = list(zip(named(X), y.tolist(), strict=True))
    model = onkel.river.BSGDClassifier(**SMALL)
    for x, label in rows[:50]:
        model.learn_one(x, label)
    twin = how(model)
    before = [model.score_one(x) for x, _ in rows]
    for x, label in rows[50:]:
        twin.learn_one(x, label)
    assert [model.score_one(x) for x, _ in rows] == before  # they share nothing
    for x, label in rows[50:]:
        model.learn_one(x, label)
    assert [model.score_one(x) for x, _ in rows] == [twin.score_one(x) for x, _ in rows]


def test_a_model_goes_over_to_scikit_learn_and_to_a_file(tmp_path: Any) -> None:
    X, y, _ = made_up(40)
    model = onkel.river.RBPClassifier(**SMALL)
    for x, label in zip(named(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    onkel.save(model.to_sklearn(), tmp_path / "model.onkel")
    loaded = onkel.load(tmp_path / "model.onkel")
    assert loaded.predict(X).tolist() == [model.predict_one(x) for x in named(X)]


def test_onkel_does_without_river_and_says_what_needs_it() -> None:
    code = (
        "import sys, onkel; assert 'river' not in sys.modules; "
        "sys.modules['river'] = None; import onkel.river"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'onkel[river]'" in done.stderr


def test_datasets_of_river_are_learnt() -> None:
    model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(
        onkel.river.BSGDRegressor(budget=50, alpha=0.01, seed=0)
    )
    rows = datasets.TrumpApproval().take(300)
    assert evaluate.progressive_val_score(rows, model, metrics.MAE()).get() < 3.0
