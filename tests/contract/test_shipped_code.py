"""Compiled code that comes with the package, lean linking, and levels of processors."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
X = np.random.default_rng(0).normal(size=(60, 3))
y = X[:, 0] > 0
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model = onkel.RBPClassifier(budget=9, gamma=0.5, random_state=0).fit(X, y)
    scores = model.decision_function(X)
functions = passes.learn.code, evaluation.score.code
print(sum(sum(f.stats.cache_misses.values()) for f in functions))
print(scores.tobytes().hex())
print(*(str(one.message) for one in said))
"""


def learn(
    cache: Path, shipped: Path | None, **environment: str
) -> tuple[int, str, str]:
    """Learn in a new process: functions compiled, scores, and what was said."""
    own = {"NUMBA_CACHE_DIR": str(cache), compile_cache.SHIPPED: str(shipped or "")}
    done = subprocess.run(
        [sys.executable, "-c", LEARN],
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    misses, scores, said = done.stdout.split("\n")[:3]
    return int(misses), scores, said


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of shipped code for one system, and the scores that it finds."""
    folder = tmp_path_factory.mktemp("shipped")
    misses, scores, _ = learn(folder / "cache", None)
    assert misses == 2
    for entry in (folder / "cache").rglob("*.nbc"):
        shutil.move(entry, folder / entry.name)
    return folder, scores


def test_shipped_code_needs_no_compiling(shipped: Any, tmp_path: Path) -> None:
    folder, scores = shipped
    assert learn(tmp_path, folder) == (0, scores, "")
    assert not list(tmp_path.rglob("*.nbc"))


def test_without_a_home_shipped_code_works(shipped: Any, tmp_path: Path) -> None:
    folder, scores = shipped
    nowhere = Path("/proc/onkel")  # where nobody can write
    assert learn(nowhere, folder) == (0, scores, "")


def test_another_level_has_no_use_for_it(shipped: Any, tmp_path: Path) -> None:
    folder, _ = shipped
    misses, _, said = learn(tmp_path, folder, **{levels.VARIABLE: "x86-64-v2"})
    assert (misses, said) == (2, "")


def test_damaged_shipped_code_is_compiled_again(shipped: Any, tmp_path: Path) -> None:
    folder, scores = shipped
    damaged = shutil.copytree(folder, tmp_path / "shipped")
    for entry in damaged.glob("*.nbc"):
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 1
        entry.write_bytes(content)
    misses, found, said = learn(tmp_path / "cache", damaged)
    assert (misses, found) == (2, scores)
    assert said.count("an entry cannot be read") == 1


def test_eight_processes_at_once(shipped: Any, tmp_path: Path) -> None:
    folder, scores = shipped
    own = {"NUMBA_CACHE_DIR": str(tmp_path), compile_cache.SHIPPED: str(folder)}
    command, environment = [sys.executable, "-c", LEARN], {**os.environ, **own}
    crowd = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in crowd:
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.split("\n")[:2] == ["0", scores]


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
