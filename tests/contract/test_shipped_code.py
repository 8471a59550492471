"""Compiled code that is found again or comes with the package; linking, and levels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import onkel
from onkel import precompile
from onkel.compiled import compile_cache, levels
from onkel.compiled.functions import _target, jit
from onkel.estimators._registry import systems

LEARN = """
import sys, warnings, numpy as np, onkel
from onkel.engine import evaluation, passes
task, path = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(60, 3))
y = X[:, 0] > 0
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    if task == "learn":
        model = onkel.RBPClassifier(budget=9, gamma=0.5, random_state=0).fit(X, y)
        onkel.save(model, path)
    else:
        model = onkel.load(path)
    scores = model.decision_function(X)
functions = passes.learn.code, evaluation.score.code
print(sum(sum(f.stats.cache_misses.values()) for f in functions))
print(scores.tobytes().hex())
print(*(str(one.message) for one in said))
"""


class Shipped(NamedTuple):
    """A folder of code for one system, the cache it is from, what has been learnt."""

    folder: Path
    cache: Path
    model: Path
    scores: str


def work(
    task: str, model: Path, cache: Path, shipped: Path | None, **environment: str
) -> subprocess.Popen:
    """Begin to learn a model, or to predict with it, in a new process."""
    own = {"NUMBA_CACHE_DIR": str(cache), compile_cache.SHIPPED: str(shipped or "")}
    return subprocess.Popen(
        [sys.executable, "-c", LEARN, task, str(model)],
        env={**os.environ, **own, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen) -> tuple[int, str, str]:
    """Wait: functions compiled, scores, and what was said."""
    out, _ = process.communicate()
    assert process.returncode == 0
    misses, scores, said = out.split("\n")[:3]
    return int(misses), scores, said


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    folder = tmp_path_factory.mktemp("shipped")
    cache, model = tmp_path_factory.mktemp("cache"), folder / "rbp.onkel"
    misses, scores, _ = outcome(work("learn", model, cache, None))
    assert misses == 2
    for entry in cache.rglob("*.nbc"):
        shutil.copy(entry, folder)
    return Shipped(folder, cache, model, scores)


def test_a_second_process_compiles_nothing(shipped: Shipped, tmp_path: Path) -> None:
    def compiled() -> dict[Path, int]:
        found = shipped.cache.rglob("*.nb?")
        return {path: path.stat().st_mtime_ns for path in found}

    before = compiled()
    assert before
    second = work("learn", tmp_path / "second.onkel", shipped.cache, None)
    assert outcome(second) == (0, shipped.scores, "")
    assert compiled() == before


def test_without_a_home_shipped_code_works(shipped: Shipped, tmp_path: Path) -> None:
    nowhere = Path("/proc/onkel")  # where nobody can write
    homeless = work("learn", tmp_path / "rbp.onkel", nowhere, shipped.folder)
    assert outcome(homeless) == (0, shipped.scores, "")


# Where something has to be compiled, it is what predicts: the same is done for all
# functions, and what learns takes ten times as long.


def test_another_level_has_no_use_for_it(shipped: Shipped, tmp_path: Path) -> None:
    other = {levels.VARIABLE: "x86-64-v2"}
    process = work("predict", shipped.model, tmp_path, shipped.folder, **other)
    misses, _, said = outcome(process)
    assert (misses, said) == (1, "")


def test_damaged_shipped_code_is_compiled_again(
    shipped: Shipped, tmp_path: Path
) -> None:
    damaged = shutil.copytree(shipped.folder, tmp_path / "shipped")
    for entry in damaged.glob("*.nbc"):
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 1
        entry.write_bytes(content)
    process = work("predict", shipped.model, tmp_path / "cache", damaged)
    misses, found, said = outcome(process)
    assert (misses, found) == (1, shipped.scores)
    assert said.count("an entry cannot be read") == 1


def test_shipped_code_needs_no_compiling_in_processes_at_once(
    shipped: Shipped, tmp_path: Path
) -> None:
    models = [tmp_path / f"{number}.onkel" for number in range(4)]
    cache = tmp_path / "cache"
    crowd = [work("learn", model, cache, shipped.folder) for model in models]
    for process in crowd:
        assert outcome(process) == (0, shipped.scores, "")
    assert not list(cache.rglob("*.nbc"))


# ---- linking -------------------------------------------------------------------------

OTHER_NUMBA = """
import warnings, numba.core.codegen as codegen
del codegen.JITCPUCodegen.set_env
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from onkel.compiled.functions import jit
    @jit
    def double(x):
        return 2 * x
    try:
        double(3)
    except AttributeError:
        pass  # numba misses it, too
assert "onkel compiles slowly" in str(said[0].message)
"""


def test_this_numba_links_leanly() -> None:
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("nothing is compiled")
    assert _target() == "onkel"


def test_what_numba_looks_up_while_it_lowers_is_of_our_target() -> None:
    @jit
    def shifted(a: Any, first: int) -> None:
        a[first:] = a[: len(a) - first]  # numba checks the shapes by a function

    a = np.arange(4.0)
    shifted(a, 1)
    assert a.tolist() == [0.0, 0.0, 1.0, 2.0]


def test_another_numba_is_done_without() -> None:
    subprocess.run([sys.executable, "-c", OTHER_NUMBA], check=True)


# ---- levels, and what is compiled ahead ----------------------------------------------


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, None),
        (dict.fromkeys(levels._V3, True), "x86-64-v3"),
        (dict.fromkeys(levels._V3 + levels._V4, True), "x86-64-v4"),
        (dict.fromkeys(levels._V4, True), None),
    ],
)
def test_the_best_level_is_taken(
    has: dict[str, bool], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(levels.VARIABLE, raising=False)
    monkeypatch.setattr(levels.platform, "machine", lambda: "x86_64")
    binding = levels.llvmlite.binding
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: has)
    assert levels.level.__wrapped__() == expected


@pytest.mark.parametrize("name", ["x86-64-v9", "fast", "x86-64-v4"])
def test_a_level_that_the_processor_has_not_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(levels.VARIABLE, name)
    monkeypatch.setattr(levels.platform, "machine", lambda: "x86_64")
    has = dict.fromkeys(levels._V3, True)
    monkeypatch.setattr(levels.llvmlite.binding, "get_host_cpu_features", lambda: has)
    with pytest.raises(ValueError, match=f"{name}.*native, x86-64-v3$"):
        levels.level.__wrapped__()


def test_every_estimator_is_met_in_every_form() -> None:
    met = {meeting.estimator for meeting in precompile.meetings()}
    assert met == systems().keys()
    assert len(precompile.meetings()) == 4 * len(met)
    for meeting in precompile.variants():
        known = getattr(onkel, meeting.estimator)().get_params()
        assert meeting.parameters.keys() <= known.keys()


def test_a_meeting_is_what_a_user_does() -> None:
    meeting = precompile.Meeting("RBPClassifier", "float64", False)
    assert precompile.meet(meeting) == meeting
