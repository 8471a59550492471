"""Ours beside others: adapters of programs made up here, bouts, and the page."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from benchmarks.peers import __main__ as command
from benchmarks.peers import bouts as bouts_module
from benchmarks.peers.bouts import Entrant, bouts, fight, summary
from benchmarks.peers.contestants import INSTALLED, OURS
from benchmarks.peers.launch import StoppedError, launch, limit_told
from benchmarks.peers.page import cells_of, page, save, times
from benchmarks.peers.picture import spaced
from benchmarks.peers.programs import (
    PROGRAMS,
    Built,
    MissingProgramError,
    SameTitleError,
    built,
    read,
    titled,
)
from benchmarks.peers.tasks import TEST, TRAIN, Rows, Task, stored

LIMIT = 20.0
KOL_SAYS = """--------------------------------------------------
Algorithm: kernel_rbp
0\t
#Training Instances:60
Learn acuracy: 91.250000%
#SV:10
Learning time: 0.250000 s
Test acuracy: 93.500000 %
Test time: 0.050000 s
"""
TRAINING = """Number of examples processed: 60
Training completed in 1.250 seconds.

Number of budget maintenance steps: 7
"""
TESTING = """*** Testing completed in 0.125 seconds
*** Testing error rate: 12.50 percent
"""


def made_up(rows: int = 60) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows + 20, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    return Rows(X[:rows], y[:rows], X[rows:], y[rows:])


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (only,) = stored("ijcnn1", made_up(), tmp_path / "task", as_text=True)
    return only


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Write programs that say something, and the arguments that they got."""

    def write(name: str, says: str = "", does: str = "", place: str = "") -> Path:
        folder = tmp_path / "built"
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / "says").write_text(says)
        path = folder / place / name
        said = tmp_path / f"{name}.says"
        said.write_text(says)
        path.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\n{does}\ncat {said}\n'
        )
        path.chmod(0o755)
        return folder

    return write


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "arguments").read_text().splitlines()


# ---- adapters --------------------------------------------------------------------


def test_kol_is_asked_and_understood(
    program: Callable[..., Path], task: Task, tmp_path: Path
) -> None:
    peer = built("kol", program("KOL", KOL_SAYS, place="build/bin"))
    found = peer.measure("FOGD", task, LIMIT)
    assert found["error"] == pytest.approx(0.065)
    assert found["mistakes"] == pytest.approx(0.0875)
    # It looks at the clock, and had the processor for less than these 0.3 s.
    assert found["seconds"] == pytest.approx(5 * found["predict_seconds"])
    told = found["seconds"] + found["predict_seconds"]
    assert told == pytest.approx(found["program_seconds"])
    assert 0 < found["memory"] < 2**27  # of the program, not of Python
    assert asked(tmp_path) == [
        f"-opt kernel-fogd -gamma 2.0 -D 500 -eta 0.001 "
        f"-i {task.folder / TRAIN} -t {task.folder / TEST}"
    ]


def test_bogd_of_kol_does_not_shrink_as_it_would_by_itself(task: Task) -> None:
    options = PROGRAMS["kol"].algorithms["BOGD"].options(task)
    assert options[options.index("-lambda") + 1] == 0


def test_budgeted_svm_trains_then_predicts(
    program: Callable[..., Path], task: Task, tmp_path: Path
) -> None:
    program("budgetedsvm-predict", TESTING, does="test -f model.txt || exit 3")
    folder = program("budgetedsvm-train", TRAINING, does="touch model.txt")
    found = built("budgetedsvm", folder).measure("BSGD, merging", task, LIMIT)
    assert (found["error"], found["seconds"]) == (0.125, 1.25)
    assert found["predict_seconds"] == 0.125
    training, predicting = asked(tmp_path)
    # Its kernel is exp(-g/2 d^2), and lambda is 1/(nC).
    assert f"-L {1 / (32 * 60)} -B 500 -g 4.0 " in training
    assert predicting == f"-v 1 {task.folder / TEST} model.txt answers.txt"


def test_llsvm_of_budgeted_svm_learns_all_rows_at_once(task: Task) -> None:
    options = PROGRAMS["budgetedsvm"].algorithms["LLSVM"].options(task)
    assert options[options.index("-z") + 1] == task.rows
    assert options[options.index("-L") + 1] == 1 / 32


@pytest.mark.parametrize(("algorithm", "method"), [("BSGD", 0), ("BSCA", 1)])
def test_bsca_of_its_authors_is_read_from_its_files(
    algorithm: str,
    method: int,
    program: Callable[..., Path],
    task: Task,
    tmp_path: Path,
) -> None:
    write = (
        f"mkdir {algorithm}solver; "
        f"echo 'epoch :1:trainingtime.:0.75:' > {algorithm}solver/trainingtime.txt; "
        "printf 'budget=500\\n#C=32\\n0.975:500:9.5:0.25\\n' > output.txt"
    )
    folder = program("BSVMO", "average performance : 97.5\n", does=write)
    (folder / "wd_param.txt").write_text("0 0\n")
    found = built("bsca", folder).measure(algorithm, task, LIMIT)
    assert found["error"] == pytest.approx(0.025)
    # Not the 9.5 s, which have objectives and a test in them.
    assert (found["seconds"], found["predict_seconds"]) == (0.75, 0.25)
    (arguments,) = asked(tmp_path)
    assert f"--method {method} " in arguments
    assert f"--lookup {folder.resolve() / 'wd_param.txt'} " in arguments


def test_shark_is_asked_as_its_adapter_says(
    program: Callable[..., Path], task: Task, tmp_path: Path
) -> None:
    says = "train seconds: 2.5\ntest seconds: 0.5\ntest error: 0.0625\n"
    found = built("shark", program("shark-bsgd", says)).measure("BSGD", task, LIMIT)
    assert (found["error"], found["seconds"]) == (0.0625, 2.5)
    files = f"{task.folder / TRAIN} {task.folder / TEST}"
    assert asked(tmp_path) == [f"32.0 2.0 500 1 {files}"]


def test_every_algorithm_stands_against_one_of_ours(task: Task) -> None:
    for known in PROGRAMS.values():
        for algorithm in known.algorithms.values():
            assert algorithm.against in OURS
            assert all(f"{option}" for option in algorithm.options(task))
    assert all(peer.against in OURS for peer in INSTALLED.values())


def test_ours_learn_rows_in_the_order_of_the_file(task: Task) -> None:
    asked_for = [one.make(task).get_params() for one in OURS.values()]
    in_turn = [given["shuffle"] for given in asked_for if "shuffle" in given]
    assert len(in_turn) > len(OURS) // 2
    assert in_turn == [False] * len(in_turn)


def test_processor_time_counts_where_a_program_tells_none() -> None:
    reading = PROGRAMS["budgetedsvm"].reading
    found = read("Testing error rate: 50 percent", reading, [3.0, 1.0])
    assert found == {"error": 0.5, "seconds": 3.0, "predict_seconds": 1.0}


def test_a_program_that_looks_at_the_clock_has_its_processor_time_parted() -> None:
    reading = PROGRAMS["kol"].reading
    found = read(KOL_SAYS, reading, [0.6])
    assert found["seconds"] == pytest.approx(0.5)
    assert found["predict_seconds"] == pytest.approx(0.1)
    none = KOL_SAYS.replace("0.250000", "0.000000").replace("0.050000", "0.000000")
    assert read(none, reading, [0.6])["seconds"] == 0.0


def test_rows_are_written_as_programs_read_them(task: Task) -> None:
    rows = made_up()
    label, *cells = (task.folder / TRAIN).read_text().splitlines()[0].split()
    assert int(label) == rows.y[0]
    assert [cell.split(":")[0] for cell in cells] == ["1", "2", "3"]
    values = [cell.split(":")[1] for cell in cells]
    assert np.array_equal(np.float32(values), rows.X[0])
    # KOL gathers digits in an integer of 32 bits.
    assert all(int(value.lstrip("-").replace(".", "")) < 2**31 for value in values)


def test_only_what_is_not_zero_is_written(tmp_path: Path) -> None:
    rows = made_up()
    rows.X[0] = [0.0, -1.5, 0.0]
    rows.X[1] = 0.0
    for kind in (np.asarray, scipy.sparse.csr_matrix):
        stored("ijcnn1", rows._replace(X=kind(rows.X)), tmp_path, as_text=True)
        lines = (tmp_path / TRAIN).read_text().split("\n")
        assert lines[:2] == [f"{rows.y[0]} 2:-1.5", f"{rows.y[1]}"]
        assert len(lines) == len(rows.y) + 1


# ---- what goes wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "does", "why"),
    [
        ("", "echo no such option >&2; exit 2", "KOL ended with 2: no such option"),
        ("", "kill -SEGV $$", "KOL was ended by SIGSEGV"),
        ("Hello", "", "did not say its error"),
        ("Test acuracy: nan %", "", "said a share of nan"),
        ("Test acuracy: ten %", "", "said something odd"),
    ],
)
def test_a_program_that_fails_says_why(
    says: str, does: str, why: str, program: Callable[..., Path], task: Task
) -> None:
    found = built("kol", program("KOL", says, does)).measure("RBP", task, LIMIT)
    assert list(found) == ["failed"]
    assert found["failed"].startswith(why)


def test_a_file_that_cannot_be_run_says_so(
    program: Callable[..., Path], task: Task
) -> None:
    folder = program("KOL", KOL_SAYS)
    (folder / "KOL").chmod(0o644)
    found = built("kol", folder).measure("RBP", task, LIMIT)
    assert "Permission denied" in found["failed"] or "error" in found  # root may


def test_a_program_is_stopped_at_its_limit(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match="stopped after 1 s of processor time"):
        launch(["/bin/sh", "-c", "while :; do :; done"], tmp_path, 1.0)


def test_a_folder_without_the_program_names_it(tmp_path: Path) -> None:
    with pytest.raises(MissingProgramError, match="no program KOL, neither in"):
        built("kol", tmp_path)
    with pytest.raises(MissingProgramError, match="there is no folder"):
        built("kol", tmp_path / "nowhere")


def test_another_build_of_a_program_is_called_after_its_folder() -> None:
    builds = [Built(PROGRAMS["kol"], (), Path(f)) for f in ("a/KOL", "b/KOL-Ofast")]
    assert [one.program.title for one in titled(builds)] == ["KOL", "KOL-Ofast"]
    with pytest.raises(SameTitleError, match="two builds are called KOL: rename"):
        titled([builds[0], builds[0]])


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("libsvm=/tmp", "NAME of kol, budgetedsvm, bsca, shark"),
        ("kol", "expected NAME=FOLDER"),
        ("kol=/nowhere", "there is no folder /nowhere"),
    ],
)
def test_a_wrong_option_is_refused_in_a_line(
    option: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(["--peer", option])
    said = capsys.readouterr().err
    assert why in said
    assert "Traceback" not in said


# ---- bouts -----------------------------------------------------------------------


def entrant(name: str, against: str, runs: Sequence[dict[str, Any]]) -> Entrant:
    left = iter(runs)
    return Entrant(name, against, lambda stack: lambda limit: dict(next(left)))


def run_of(seconds: float, error: float = 0.1) -> dict[str, Any]:
    return {"seconds": seconds, "error": error, "memory": 2**20}


def test_all_of_a_bout_take_turns_and_the_slow_run_once() -> None:
    bout = [
        entrant("RBP", "", [run_of(1.0), run_of(0.5), run_of(0.75)]),
        entrant("slow", "RBP", [run_of(50.0)]),
        entrant("late", "RBP", [{"failed": limit_told(60)}]),
    ]
    order: list[str] = []
    found = fight(bout, 3, 60.0, order.append)
    assert order == ["RBP", "slow", "late", "RBP", "RBP"]
    assert found["RBP"]["seconds"] == 0.5
    assert found["RBP"]["runs"] == 3
    assert found["slow"]["against"] == "RBP"
    assert found["late"]["failed"] == "stopped after 60 s of processor time"


def test_a_summary_has_least_time_and_mean_error() -> None:
    found = summary([run_of(2.0, error=0.1), run_of(1.0, error=0.3)])
    assert found == {
        **{"seconds": 1.0, "error": pytest.approx(0.2), "memory": 2**20, "runs": 2}
    }


def test_other_budgets_are_for_those_whose_cost_depends_on_them(task: Task) -> None:
    peers = [Built(PROGRAMS["bsca"], (), Path())]
    narrow = task._replace(name="covtype", budget=2000)
    names = [[one.name for one in bout] for bout in bouts(narrow, peers)]
    assert names == [["BSGD", "BSCA authors' BSGD"], ["BSCA", "BSCA authors' BSCA"]]
    assert len(list(bouts(task, peers))) == len(OURS)


def test_who_is_not_installed_has_a_row(task: Task) -> None:
    bout = next(b for b in bouts(task, []) if b[0].name == "LLSVM")
    (falkon,) = [one for one in bout if one.name == "falkon"]
    with ExitStack() as stack:
        assert falkon.open(stack)(LIMIT) == {"failed": "not installed"}


# ---- the command and its page ----------------------------------------------------


def test_the_command_writes_page_numbers_and_picture(
    program: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = made_up()
    # In double precision, for which other tests have compiled already.
    rows = rows._replace(X=rows.X.astype(float), X_test=rows.X_test.astype(float))
    monkeypatch.setattr(command, "rows_of", lambda name, most: rows)
    monkeypatch.setattr(bouts_module, "OURS", {"RBP": OURS["RBP"]})
    against = INSTALLED["SGDClassifier"]._replace(against="RBP")
    monkeypatch.setattr(bouts_module, "INSTALLED", {"SGDClassifier": against})
    for variable in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{variable}_NUM_THREADS", "1")
    kol = program("KOL", KOL_SAYS)
    command.main(
        [
            *("--sets", "a9a", "--rounds", "2", "--without-roofline"),
            *("--output", f"{tmp_path / 'docs'}", "--peer", f"kol={kol}"),
        ]
    )
    assert "Wrote" in capsys.readouterr().out
    content = json.loads((tmp_path / "docs/peers.json").read_text())
    found = cells_of(content, "a9a/500")
    assert list(found) == ["RBP", "SGDClassifier", "KOL RBP"]
    assert all("failed" not in record for record in found.values()), found
    assert found["RBP"]["runs"] == 2
    assert found["RBP"]["memory"] > found["KOL RBP"]["memory"]
    text = (tmp_path / "docs/peers.md").read_text()
    assert "| **RBP** | " in text
    assert "| KOL RBP | RBP | " in text
    assert (tmp_path / "docs/peers.png").stat().st_size > 10_000


def made_up_content() -> dict[str, Any]:
    ours = {"against": "", **run_of(0.5)}
    return {
        "machine": {"processor": "P", "cores": 2, "versions": {"onkel": "1"}},
        **{"limit": 60.0, "rounds": 3},
        "sets": {
            "ijcnn1": {
                **{"rows": 60, "test_rows": 20, "features": 3, "is_sparse": False},
                **{"gamma": 2.0, "C": 32.0, "constant": 0.1},
            }
        },
        "cells": {
            "ijcnn1/500/BSCA": ours,
            "ijcnn1/500/SVC": {"against": "BSCA", "failed": limit_told(60.0)},
            "ijcnn1/500/falkon": {"against": "BSCA", "failed": "not installed"},
            "ijcnn1/500/far": {"against": "BSCA", **run_of(2.0, error=0.9)},
        },
    }


def test_who_is_stopped_took_at_least_the_limit() -> None:
    content = made_up_content()
    found = cells_of(content, "ijcnn1/500")
    told = [times(found[name], 0.5, content) for name in ("SVC", "falkon", "far")]
    assert told == ["> 120", "-", "4.0"]
    text = page(content)
    assert "| - SVC: stopped after 60 s of processor time | - |" in text
    assert "| far | BSCA | 4.0 (+80.0) |" in text


def test_a_page_whose_machine_has_the_roofline_has_its_table(tmp_path: Path) -> None:
    of = {"features": 54, "precision": "float32", "product": 2.0, "exponential": 1.0}
    update = {"system": "BPA-P", "budget": 500, "updates": 10, "seconds": 1e-3}
    content = made_up_content() | {
        "roofline": [of | {"block": 64, "predicting": 4.0, "learning": 6.0}],
        "second_order": [update | {"bytes": 1e7, "dot": 2e10, "memory": 1e10}],
    }
    save(content, tmp_path)
    text = (tmp_path / "peers.md").read_text()
    assert "| 3.00 | 4.00 | 75% | 6.00 | 50% |" in text
    assert "| BPA-P | 500 | 10 | 1000.0 | 10.0 | 10.0 | 20.0 | 50% |" in text


def test_names_are_moved_apart_in_order() -> None:
    places = spaced([5.0, 5.0, 0.0, 9.9], 1.0, 0.0, 10.0)
    assert places.tolist() == [5.0, 6.0, 0.0, 9.9]
    crowded = spaced([10.0] * 5, 1.0, 0.0, 10.0)
    assert crowded.tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]
    assert spaced([1.0] * 5, 10.0, 0.0, 2.0).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
