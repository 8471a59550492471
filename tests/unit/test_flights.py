"""The flights: features that do not look ahead, measures, and what is written."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from onkel.data.catalogue import VARIABLE
from studies import flights
from studies.flight_encoder import NAMES, FlightEncoder
from studies.flight_report import CONSTANT, LINEAR, StreamPass, numbers, save, table
from studies.predictors import Linear, Majority
from studies.tally import Tally

pyarrow = pytest.importorskip("pyarrow")
AIRPORTS = ("ATL", "ORD", "ANC", "SAV")
SIZE = 50  # rows of a batch


def made(rows: int, seed: int = 0) -> Any:
    """Flights in the schema of the data set, late in the evening more often."""
    rng = np.random.default_rng(seed)
    minute = np.sort(rng.integers(0, 9 * 24 * 60, size=rows))
    evening = minute % (24 * 60) > 18 * 60
    return pyarrow.table(
        {
            "date": np.datetime64("2001-02-27", "us") + minute.astype("timedelta64[m]"),
            "delay": rng.integers(-20, 30, size=rows) + 20 * evening,
            "distance": rng.integers(50, 3000, size=rows),
            "origin": rng.choice(AIRPORTS, rows, p=[0.6, 0.25, 0.14, 0.01]),
            "destination": rng.choice(AIRPORTS[:3], size=rows),
        }
    )


def encode(table: Any) -> list[np.ndarray]:
    encoder = FlightEncoder()
    return [encoder.transform(batch) for batch in table.to_batches(SIZE)]


def altered(table: Any, column: str, values: Any) -> Any:
    return table.set_column(table.schema.get_field_index(column), column, [values])


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with 600 flights, read in batches of a few."""
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(made(600), tmp_path / "flights.parquet", row_group_size=250)
    entry = {
        "files": {"train": "flights.parquet"},
        "rows_train": 600,
        "features": 4,
    }
    (tmp_path / "catalog.json").write_text(json.dumps({flights.DATA: entry}))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(flights, "BATCH", SIZE)
    return tmp_path


def test_features_do_not_depend_on_the_delay() -> None:
    table = made(200)
    X = encode(table)
    shuffled = altered(table, "delay", np.arange(200))
    np.testing.assert_array_equal(X, encode(shuffled))
    np.testing.assert_array_equal(X, encode(table.drop_columns("delay")))


def test_features_do_not_depend_on_later_batches() -> None:
    table = made(200)
    other = pyarrow.concat_tables([table.slice(0, 100), made(100, seed=1)])
    X, others = encode(table), encode(other)
    np.testing.assert_array_equal(X[:2], others[:2])
    assert not np.array_equal(X[2], others[2])


def test_airports_are_described_by_the_batches_before_not_by_their_own() -> None:
    table = made(200)
    far = altered(table, "distance", np.full(200, 2900))
    near = encode(table)
    distant = encode(pyarrow.concat_tables([table.slice(0, 50), far.slice(50)]))
    own = [name != "distance" for name in NAMES]
    # the second batch shows its own distances, but its airports are as before
    np.testing.assert_array_equal(near[1][:, own], distant[1][:, own])
    mean = NAMES.index("origin_mean_distance")
    assert (distant[2][:, mean] > near[2][:, mean]).all()


def test_running_numbers_of_airports_are_those_of_the_rows_so_far() -> None:
    table = made(200)
    X = np.concatenate(encode(table)[3:])
    past, now = table.slice(0, 150).to_pylist(), table.slice(150).to_pylist()
    average = np.mean([row["distance"] for row in past]) / 2500
    for features, row in zip(X, now, strict=True):
        there = [r["distance"] / 2500 for r in past if r["origin"] == row["origin"]]
        share = max(len(there) / 150, 1e-5)
        mean = (sum(there) + 20 * average) / (len(there) + 20)
        assert features[NAMES.index("origin_share")] == pytest.approx(
            1 + np.log10(share) / 5, abs=1e-6
        )
        assert features[NAMES.index("origin_mean_distance")] == pytest.approx(
            2 * mean, rel=1e-5
        )


def test_time_is_read_off_the_date() -> None:
    noon_of_a_monday = altered(
        made(1), "date", np.array(["2001-01-01T12:00"], dtype="datetime64[us]")
    )
    ((row,),) = encode(noon_of_a_monday)
    found = dict(zip(NAMES, row.tolist(), strict=True))
    expected = {"time": 0.5, "time_sin": 0.5, "time_cos": 0.0}
    expected |= {"weekday_sin": 0.5, "weekday_cos": 1.0}
    expected |= {"month_sin": 0.5, "month_cos": 1.0}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_features_are_about_within_the_unit_interval() -> None:
    X = np.concatenate(encode(made(500)))
    assert X.shape == (500, len(NAMES)) and X.dtype == np.float32
    assert X.min() > -1 and X.max() < 2


def test_memory_of_the_encoder_grows_with_airports_only() -> None:
    encoder = FlightEncoder()
    sizes = []
    for seed in range(20):
        for batch in made(400, seed).to_batches(100):
            encoder.transform(batch)
        sizes.append(len(pickle.dumps(encoder)))
    assert len(encoder.airports["origin"]) == len(AIRPORTS)
    assert len(encoder.airports["destination"]) == 3
    assert max(sizes[1:]) - min(sizes[1:]) < 100


def test_the_tally_agrees_with_all_scores_at_once() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1050)
    # heavy tails and ties, as early scores have
    scores = np.round(rng.standard_cauchy(1050) + y, 2)
    tally = Tally(1050)
    for start in range(0, 1050, 400):
        tally.add(scores[start : start + 400], y[start : start + 400])
    wrong = (scores > 0) != (y == 1)
    assert tally.error == wrong.mean()
    assert tally.area == pytest.approx(roc_auc_score(y, scores), abs=1e-3)
    seen, rate = tally.curve()
    assert seen[0] == 10 and seen[-1] == 1050
    assert rate[0] == wrong[:10].mean() and rate[-1] == wrong[1040:].mean()


def test_the_tally_of_one_class_has_no_area() -> None:
    tally = Tally(10)
    tally.add(np.ones(4), np.ones(4, dtype=int))
    assert np.isnan(tally.area) and tally.error == 0
    assert tally.curve()[0].tolist() == [1, 2, 3, 4]


def test_the_majority_goes_on_over_batches() -> None:
    majority, X = Majority(), np.zeros((3, 1))
    first = majority.learn(X, np.array([1, 1, 0]))
    second = majority.learn(X, np.array([0, 0, 1]))
    assert first.tolist() == [-1, 1, 1] and second.tolist() == [1, -1, -1]


def test_the_linear_model_scores_a_piece_before_it_learns_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 3))
    y = (X[:, 0] > 0).astype(int)
    scores = Linear("log_loss", 1e-3).learn(X, y)
    assert (scores[:32] == 0).all() and (scores[32:] != 0).all()
    changed = y.copy()
    changed[64:] = 1 - y[64:]
    np.testing.assert_array_equal(scores, Linear("log_loss", 1e-3).learn(X, changed))


def test_the_stream_stops_where_it_should(mirror: Path) -> None:
    sizes = [len(batch.y) for batch in flights.flights(130)]
    assert sum(sizes) == 130 and max(sizes) <= SIZE
    every = np.concatenate([batch.y for batch in flights.flights(10_000)])
    expected = made(600)["delay"].to_numpy() > 15
    np.testing.assert_array_equal(every, expected)


def test_the_best_candidate_is_chosen() -> None:
    class Signed(Majority):
        def __init__(self, sign: float) -> None:
            self.sign = sign

        def learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
            return self.sign * X[:, 0]

    X = np.arange(20.0)[:, None] % 7
    y = (X[:, 0] > 3).astype(int)
    assert flights.choose(Signed, {"sign": (-1.0, 1.0)}, X, y) == {"sign": 1.0}


def measured() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    tallies = {name: Tally(200) for name in ("AVM", LINEAR, CONSTANT)}
    for tally in tallies.values():
        tally.add(rng.normal(size=200), rng.integers(2, size=200))
    seconds = dict.fromkeys([*tallies, "reading", "encoding"], 0.5)
    passed = StreamPass(tallies, seconds, {"start": 100.0, "100%": 101.0})
    found = numbers(passed) | {"loss": "log_loss"}
    found["results"]["AVM"]["size"] = 500
    return found | {"parameters": {"AVM": {"gamma": 0.3}, "linear SGD": {"alpha": 1.0}}}


def test_the_table_has_a_row_for_each_predictor() -> None:
    found = measured()
    above, words, below = table(found).strip().split("\n\n")
    lines = above.split("\n")
    assert len(lines) == 5 and len({line.count("|") for line in lines}) == 1
    assert lines[2].startswith("| AVM | ") and " | 500 | 400 | 133 |" in lines[2]
    assert " | - | 400 | " in lines[3] and lines[4].startswith("| constant | ")
    assert "200 rows, 18 features, log_loss. AVM: gamma 0.3; linear" in words
    assert below.split("\n")[0] == "| memory, MiB | start | 100% |"
    assert below.split("\n")[2] == "| resident | 100 | 101 |"


def test_numbers_table_and_picture_are_written(tmp_path: Path) -> None:
    save(measured(), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"flights.json", "flights.md", "flights.png"}


def test_a_pass_from_the_command_line(
    mirror: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flights.main(
        [
            *("--output", str(mirror / "out"), "--rows", "400", "--trial-rows", "200"),
            *("--system", "bsgd", "--parameters", "gamma=1", "alpha=0.001"),
        ]
    )
    found = json.loads((mirror / "out" / "flights.json").read_text())
    assert found["rows"] == 400 and found["trial_rows"] == 200
    assert found["parameters"]["BSGD"] == {"gamma": 1.0, "alpha": 0.001}
    assert list(found["results"]) == [
        "BSGD",
        LINEAR,
        CONSTANT,
    ]
    assert 0 < found["results"]["BSGD"]["size"] <= 400
    assert {"start", "10%", "50%", "100%"} <= set(found["memory"])
    assert "| BSGD |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, said",
    [
        (["--rows", "0"], "--rows must be at least 2"),
        (["--parameters", "gamma=1"], "must give gamma, alpha, coverage_radius"),
    ],
)
def test_bad_arguments_are_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        flights.main(given)
    assert said in capsys.readouterr().err
