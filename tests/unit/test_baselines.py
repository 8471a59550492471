"""What is right without looking, and rows that come sorted."""

import numpy as np
import pytest

from onkel.race.baselines import Baselines


def of(y: np.ndarray, is_regression: bool = False, cut: int = 7) -> Baselines:
    made = Baselines(is_regression)
    for start in range(0, len(y), cut):
        made.add(y[start : start + cut])
    return made


def test_the_constant_is_the_most_frequent_label() -> None:
    found = of(np.array(["a", "b", "b", "c", "b"]), cut=2)
    assert found.constant == "b"
    assert found.constant_error == pytest.approx(0.4)
    assert found.last_error == pytest.approx(3 / 4)


def test_the_constant_is_the_mean_also_of_large_numbers() -> None:
    y = 1e9 + np.random.default_rng(0).normal(size=500)
    found = of(y, is_regression=True)
    assert found.constant == pytest.approx(y.mean(), rel=1e-15)
    assert found.constant_error == pytest.approx(y.std(), rel=1e-6)
    assert found.last_error == pytest.approx(np.sqrt(np.mean(np.diff(y) ** 2)))


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_rows_sorted_by_label_are_noticed(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(len(shares), size=1000, p=shares)
    assert of(y).warning is None
    assert "sorted by label" in str(of(np.sort(y)).warning)
    # files one after the other, each of them sorted
    parts = [np.sort(part) for part in np.array_split(y, 5)]
    assert of(np.concatenate(parts)).is_sorted


def test_labels_that_tend_to_stay_are_no_sorted_file() -> None:
    # As in elec2, where one in seven differs from the one before.
    changes = np.random.default_rng(0).random(2000) < 0.15
    assert of(np.cumsum(changes) % 2).warning is None


def test_a_few_rows_tell_nothing() -> None:
    assert of(np.array([0, 0, 0, 1, 1, 1])).warning is None
    assert of(np.array([0] * 1000 + [1])).warning is None
    assert of(np.ones(50)).warning is None


def test_sorted_numbers_are_noticed() -> None:
    y = np.random.default_rng(0).normal(size=300)
    assert of(y, is_regression=True).warning is None
    assert "the file were sorted" in str(of(np.sort(y), is_regression=True).warning)
