"""Threads: one learns, many predict, and nobody sees a model half learnt."""

import os
import pickle
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import onkel

ROWS, CHUNK = 1500, 50
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 5))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
y[ROWS // 3 :] += X[ROWS // 3 :, 2] > 1  # a class that appears later
PROBE = RNG.normal(size=(20, 5))
PROBES: list[Any] = [PROBE, scipy.sparse.csr_array(PROBE), PROBE[:1]]
MODELS = {
    "rbp": onkel.RBPClassifier(budget=40, gamma=0.5, random_state=0),
    "projectron": onkel.ProjectronClassifier(budget=40, gamma=0.5),
    "bsgd": onkel.BSGDClassifier(budget=40, average="full", random_state=0),
    "machine": onkel.KernelClassifier(budget=30, gamma=0.5, C=1.0, random_state=0),
}


def learn(model: Any, after: Any = lambda start: None) -> None:
    for start in range(0, ROWS, CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK])
        after(start)


@pytest.mark.parametrize("name", MODELS)
def test_predicting_changes_nothing_while_another_thread_learns(
    name: str, tmp_path: Path
) -> None:
    alone = pickle.loads(pickle.dumps(MODELS[name]))
    answers: list[set[bytes]] = [set() for _ in PROBES]

    def note(start: int) -> None:
        for probe, known in zip(PROBES, answers, strict=True):
            known.add(alone.decision_function(probe).tobytes())

    learn(alone, note)
    model = pickle.loads(pickle.dumps(MODELS[name]))
    model.partial_fit(X[:CHUNK], y[:CHUNK])
    over, faults = threading.Event(), []

    def predict(k: int) -> None:
        while not over.is_set():
            try:
                scores = model.decision_function(PROBES[k])
                if scores.tobytes() not in answers[k]:
                    faults.append("scores that no model ever had")
                assert set(model.predict(PROBES[k])) <= {0, 1, 2}
                onkel.save(model, tmp_path / f"{k}.onkel")
                assert onkel.load(tmp_path / f"{k}.onkel").t_ % CHUNK == 0
                assert pickle.loads(pickle.dumps(model)).t_ % CHUNK == 0
            except Exception as fault:
                faults.append(repr(fault))

    threads = [threading.Thread(target=predict, args=(k,)) for k in range(len(PROBES))]
    for thread in threads:
        thread.start()
    for start in range(CHUNK, ROWS, CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK])
    over.set()
    for thread in threads:
        thread.join()
    assert not faults, faults[:3]
    assert model.t_ == ROWS
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)


def test_threads_that_learn_wait_for_each_other() -> None:
    model = onkel.RBPClassifier(budget=40, gamma=0.5, random_state=0)
    model.partial_fit(X[:CHUNK], y[:CHUNK], classes=[0, 1, 2])
    threads = [threading.Thread(target=learn, args=(model,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.t_ == CHUNK + 3 * ROWS


def test_a_process_forked_while_a_thread_learns_can_learn() -> None:
    model = onkel.RBPClassifier(budget=40, gamma=0.5, random_state=0)
    model.partial_fit(X[:CHUNK], y[:CHUNK], classes=[0, 1, 2])
    with model._draft():  # as a thread would that is not there in the child
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            learning = threading.Thread(target=learn, args=(model,))
            learning.start()
            learning.join()
            os._exit(0 if model.t_ == CHUNK + ROWS else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_predicting_leaves_every_attribute_as_it_was() -> None:
    model = onkel.RBPClassifier(budget=40, gamma=0.5, random_state=0)
    learn(model)
    before = {name: id(value) for name, value in vars(model).items()}
    inside = {name: id(part) for name, part in vars(model._learner).items()}
    for probe in PROBES:
        model.predict(probe)
    assert before == {name: id(value) for name, value in vars(model).items()}
    assert inside == {name: id(part) for name, part in vars(model._learner).items()}
