"""Programs that somebody built: what they are called, how they are asked, what they say.

An adapter is a declaration. Programs read rows in LIBSVM's format, and most tell their
own time: then that counts. Where they do not, it is the processor time of the whole
program. BudgetedSVM and BSCA's tell processor time, without that of reading files. KOL
tells time by the clock, which runs on while others have the core: so its processor time
counts, parted as its own seconds are. A second thread of it reads the rows meanwhile,
which cannot be left out; it takes less than half a microsecond a row of ijcnn1.

| program | parameters of theirs, from ours |
|---|---|
| KOL | gamma as ours; -D is the number of frequencies, whose features are not normalised: its step for FOGD is eta0 / D; BOGD's lambda is not 0 unless told |
| BudgetedSVM | its kernel is exp(-g/2 d^2): g is twice ours; lambda is 1/(nC) for BSGD, 1/C for LLSVM |
| BSCA's | C and gamma as ours; method 0 is BSGD, 1 is BSCA |
| Shark | a library, no program: see `SHARK` |
"""  # noqa: E501

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.contestants import ETA0
from benchmarks.peers.launch import Run, StoppedError, launch
from benchmarks.peers.tasks import TEST, TRAIN, Task

# Where builds leave their programs.
PLACES = ("", "bin", "build", "build/bin", "build/src", "src", "Release")
MODEL, OUTPUT, ANSWERS = "model.txt", "output.txt", "answers.txt"


class Reading(NamedTuple):
    """Where numbers stand in what a program says: expressions, each with one group."""

    error: str
    seconds: str  # of all matches together
    predict_seconds: str
    mistakes: str = ""  # while learning, like the error
    unit: float = 0.01  # of the error
    is_accuracy: bool = False
    # Its seconds are of the clock: only in what proportion the processor's are.
    by_clock: bool = False


class Algorithm(NamedTuple):
    """One that a program has, and which of ours stands against it."""

    against: str
    options: Callable[[Task], Sequence[Any]]
    at_every_budget: bool = False


class Program(NamedTuple):
    """A program of somebody else."""

    title: str
    source: str
    executables: tuple[str, ...]  # each is asked once, in turn
    # of an executable, after the options of the algorithm for the first of them
    arguments: tuple[tuple[str, ...], ...]
    algorithms: Mapping[str, Algorithm]
    reading: Reading
    files: tuple[str, ...] = ()  # that it writes, and in which it says something
    extra: str = ""  # a file that may lie in its folder


def _with(flag: str, **more: Callable[[Task], Any]) -> Callable[[Task], Sequence[Any]]:
    """Options of KOL."""

    def options(task: Task) -> list[Any]:
        given = [part for k, get in more.items() for part in (f"-{k}", get(task))]
        return ["-opt", f"kernel-{flag}", "-gamma", task.gamma, *given]

    return options


def _budget(task: Task) -> int:
    return task.budget


def _step(task: Task) -> float:
    return ETA0


KOL = Program(
    title="KOL",
    source="https://github.com/LIBOL/KOL",
    executables=("KOL",),
    arguments=(("-i", "{train}", "-t", "{test}"),),
    algorithms={
        "perceptron": Algorithm("Kernel Perceptron", _with("perceptron")),
        "RBP": Algorithm("RBP", _with("rbp", B=_budget)),
        "Forgetron": Algorithm("Forgetron", _with("forgetron", B=_budget)),
        "Projectron": Algorithm("Projectron", _with("projectron", B=_budget)),
        "Projectron++": Algorithm("Projectron++", _with("projectronpp", B=_budget)),
        "BPA-S": Algorithm("BPA-S", _with("bpas", B=_budget, cbpas=lambda task: 1)),
        # Its lambda is 0.001 where none is given, and ours here has none.
        "BOGD": Algorithm(
            "BOGD",
            _with("bogd", B=_budget, eta=_step, **{"lambda": lambda task: 0}),
        ),
        # It learns with the root of 1 - min(1, sine^2), but predicts with that of
        # 1 - sine^2, and its sine may exceed 1: rows without a score count as -1.
        # With min there, too, its error on covtype was 25.3 % instead of 44.5 %.
        "FOGD": Algorithm(
            "FOGD", _with("fogd", D=_budget, eta=lambda task: ETA0 / task.budget)
        ),
        # Its features are of the first eigenvectors that Eigen's solver for any matrix
        # finds, not of the largest, and it learns from 0 once it has them.
        "NOGD": Algorithm(
            "NOGD",
            _with(
                "nogd",
                B=_budget,
                knogd=lambda task: task.rank,
                eta=_step,
                eta1=_step,
            ),
        ),
    },
    reading=Reading(
        error=r"Test acc?uracy: *(\S+) *%",
        seconds=r"Learning time: *(\S+) *s",
        predict_seconds=r"Test time: *(\S+) *s",
        mistakes=r"Learn acc?uracy: *([\d.]+) *%",
        is_accuracy=True,
        by_clock=True,
    ),
)


def _bsgd(maintenance: int) -> Callable[[Task], Sequence[Any]]:
    def options(task: Task) -> list[Any]:
        own = ["-A", 4, "-m", maintenance, "-e", 1, "-L", task.alpha]
        return [*own, *_budgeted(task)]

    return options


# It reads 50,000 rows at a time unless told, and solves a linear problem of each lot,
# which begins at the solution of the lot before: all rows are one problem here. As
# published it empties a vector by `resize(0, 0)`, at which an Eigen of today ends the
# program: `resize(0)` does it.
def _llsvm(task: Task) -> list[Any]:
    own = ["-A", 3, "-m", 1, "-L", 1.0 / task.C, "-z", task.rows]
    return [*own, *_budgeted(task)]


def _budgeted(task: Task) -> list[Any]:
    # Rows are shuffled already, and a bias changes no distance.
    return ["-B", task.budget, "-g", 2 * task.gamma, "-b", 0, "-r", 0, "-v", 1]


BUDGETED_SVM = Program(
    title="BudgetedSVM",
    source="https://github.com/djurikom/BudgetedSVM",
    executables=("budgetedsvm-train", "budgetedsvm-predict"),
    arguments=(("{train}", MODEL), ("-v", "1", "{test}", MODEL, ANSWERS)),
    algorithms={
        "BSGD, merging": Algorithm("BSGD", _bsgd(1), at_every_budget=True),
        "BSGD, removal": Algorithm("BSGD, removal", _bsgd(0)),
        "LLSVM": Algorithm("LLSVM", _llsvm),
    },
    reading=Reading(
        error=r"Testing error rate: *(\S+) percent",
        seconds=r"Training completed in *(\S+) seconds",
        predict_seconds=r"Testing completed in *(\S+) seconds",
    ),
)


def _dual(method: int) -> Callable[[Task], Sequence[Any]]:
    def options(task: Task) -> list[Any]:
        own = ["--method", method, "--heuristic", 0, "--epochs", 1]
        return [*own, "--C", task.C, "--gamma", task.gamma, "--B", task.budget]

    return options


# After an epoch it finds objectives over all rows and tests, which its training time
# on the screen includes; that in its file is of the epoch alone. As published it
# searches by golden sections, reads a look-up table and does not use it. As published
# it does not compile either: streams that it writes to are not declared, and `main`
# asks for solvers and a heuristic that no header declares. Declaring the streams and
# striking out the rest leaves methods 0 and 1 as they are. It shuffles rows by itself.
BSCA = Program(
    title="BSCA authors'",
    source="https://github.com/JUQad/BudgetedSdualSVM",
    executables=("BSVMO",),
    arguments=(
        (
            *("--train", "{train}", "--test", "{test}"),
            *("--lookup", "{extra}", "--output", OUTPUT),
        ),
    ),
    algorithms={
        "BSGD": Algorithm("BSGD", _dual(0), at_every_budget=True),
        "BSCA": Algorithm("BSCA", _dual(1), at_every_budget=True),
    },
    reading=Reading(
        error=r"(?m)^([\d.eE+-]+):\d+:[\d.eE+-]+:[\d.eE+-]+$",
        seconds=r"trainingtime\.: *([\d.eE+-]+)",
        predict_seconds=r"(?m)^[\d.eE+-]+:\d+:[\d.eE+-]+:([\d.eE+-]+)$",
        unit=1.0,
        is_accuracy=True,
    ),
    files=(OUTPUT, "BSGDsolver/trainingtime.txt", "BSCAsolver/trainingtime.txt"),
    extra="wd_param.txt",
)


def _shark(task: Task) -> list[Any]:
    return [task.C, task.gamma, task.budget, 1]


# Shark is a library. The program is a page of C++ that one writes around its
# KernelBudgetedSGDTrainer with a MergeBudgetMaintenanceStrategy, a GaussianRbfKernel, a
# HingeLoss and no offset, and is asked
#
#     shark-bsgd C GAMMA BUDGET EPOCHS TRAIN TEST
#
# It reads the two files by importSparseData, and prints three lines: "train seconds: ",
# "test seconds: " and "test error: ", the last one a share.
SHARK = Program(
    title="Shark",
    source="https://github.com/Shark-ML/Shark",
    executables=("shark-bsgd",),
    arguments=(("{train}", "{test}"),),
    algorithms={"BSGD": Algorithm("BSGD", _shark, at_every_budget=True)},
    reading=Reading(
        error=r"test error: *(\S+)",
        seconds=r"train seconds: *(\S+)",
        predict_seconds=r"test seconds: *(\S+)",
        unit=1.0,
    ),
)

PROGRAMS: Mapping[str, Program] = {
    "kol": KOL,
    "budgetedsvm": BUDGETED_SVM,
    "bsca": BSCA,
    "shark": SHARK,
}


class MissingProgramError(Exception):
    """A folder does not have what it should have."""


class SameTitleError(Exception):
    """Two builds of a program would be called the same."""


class Built(NamedTuple):
    """A program in a folder, with all of its executables."""

    program: Program
    executables: tuple[Path, ...]
    folder: Path

    def measure(self, algorithm: str, task: Task, limit: float) -> dict[str, Any]:
        """Learn and predict; or say why not."""
        with tempfile.TemporaryDirectory(prefix="onkel-peer-") as name:
            try:
                return self._measured(algorithm, task, limit, Path(name))
            except StoppedError as reason:
                return {"failed": str(reason)}

    def _measured(
        self, algorithm: str, task: Task, limit: float, folder: Path
    ) -> dict[str, Any]:
        options = self.program.algorithms[algorithm].options(task)
        runs: list[Run] = []
        for path, arguments in zip(
            self.executables, self.program.arguments, strict=True
        ):
            filled = [part.format(**self._files(task, folder)) for part in arguments]
            first = [] if runs else [f"{option}" for option in options]
            runs.append(launch([str(path), *first, *filled], folder, limit))
        written = [folder / file for file in self.program.files]
        said = [run.output for run in runs]
        said += [file.read_text(errors="replace") for file in written if file.exists()]
        cpu = [run.cpu for run in runs]
        return {
            **read("\n".join(said), self.program.reading, cpu),
            "memory": max(run.memory for run in runs),
            "program_seconds": sum(cpu),
        }

    def _files(self, task: Task, folder: Path) -> dict[str, str]:
        extra = self.folder / self.program.extra
        if not self.program.extra or not extra.exists():
            extra = folder / "empty"
            extra.touch()
        train, test = task.folder / TRAIN, task.folder / TEST
        return {"train": f"{train}", "test": f"{test}", "extra": f"{extra}"}


def read(said: str, reading: Reading, cpu: Sequence[float]) -> dict[str, float]:
    """Find errors and seconds in what programs said; `cpu` is what each one used."""

    def numbers(pattern: str) -> list[float]:
        try:
            return [float(text) for text in re.findall(pattern, said) if pattern]
        except ValueError as error:
            raise StoppedError(f"said something odd: {error}") from None

    def share(of: float) -> float:
        if not 0.0 <= reading.unit * of <= 1.0:
            raise StoppedError(f"said a share of {of:g}")
        return 1.0 - reading.unit * of if reading.is_accuracy else reading.unit * of

    errors, mistakes = numbers(reading.error), numbers(reading.mistakes)
    if not errors:
        raise StoppedError(f"did not say its error; looked for {reading.error!r}")
    own, predicting = numbers(reading.seconds), numbers(reading.predict_seconds)
    if reading.by_clock and sum(own) > 0.0:
        used = cpu[0] / (sum(own) + sum(predicting))
        own, predicting = [used * sum(own)], [used * sum(predicting)]
    found = {"error": share(errors[-1]), "seconds": sum(own) if own else cpu[0]}
    if mistakes:
        found["mistakes"] = share(mistakes[-1])
    if predicting or len(cpu) > 1:
        found["predict_seconds"] = sum(predicting) if predicting else cpu[1]
    return found


def built(name: str, folder: Path) -> Built:
    """Find a program's executables in a folder."""
    program = PROGRAMS[name]
    if not folder.is_dir():
        raise MissingProgramError(f"{name}: there is no folder {folder}")
    found = []
    for executable in program.executables:
        paths = [folder / place / executable for place in PLACES]
        there = [path for path in paths if path.is_file()]
        if not there:
            looked = ", ".join(place or "." for place in PLACES)
            raise MissingProgramError(
                f"{name}: {folder} has no program {executable}, neither in {looked}; "
                f"build it first ({program.source})"
            )
        found.append(there[0].resolve())
    return Built(program, tuple(found), folder.resolve())


def titled(peers: Sequence[Built]) -> list[Built]:
    """Call every build but the first of a program after its folder."""
    found: dict[str, Built] = {}
    for peer in peers:
        title = peer.program.title
        if title in found:
            title = peer.folder.name
        if title in found:
            raise SameTitleError(f"two builds are called {title}: rename a folder")
        found[title] = peer._replace(program=peer.program._replace(title=title))
    return list(found.values())
