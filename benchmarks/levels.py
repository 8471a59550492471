"""Code for a level of processors against code for this very one."""

from collections import defaultdict

from rich.console import Console

from benchmarks.tables import table
from benchmarks.versions import HERE, measured
from benchmarks.workloads import ijcnn1, systems
from onkel.compiled.levels import VARIABLE, available, level

ROUNDS = 3


def main(console: Console) -> None:
    runs_here = level()
    levels = list(available())
    levels = levels[levels.index(runs_here) :] if runs_here in levels else []
    wanted = list(systems(ijcnn1()))
    found: defaultdict[tuple[str, str], list] = defaultdict(list)
    for _ in range(ROUNDS):  # in turn, because the machine may be busy by turns
        for name in ("native", *levels):
            for system, pair in measured(HERE, wanted, **{VARIABLE: name}).items():
                found[system, name].append(pair)
    shown = table(
        "ijcnn1: microseconds a row, learn / predict, least of all",
        ["system", "native", *levels],
    )
    for system in dict.fromkeys(system for system, _ in found):
        cells = []
        own = [min(times) for times in zip(*found[system, "native"], strict=True)]
        for name in ("native", *levels):
            pairs = zip(*found[system, name], strict=True)
            learn, say = (min(times) for times in pairs)
            ratios = f" (x{learn / own[0]:.2f} / x{say / own[1]:.2f})"
            text = f"{learn:.2f} / {say:.2f}"
            cells.append(text + (ratios if name != "native" else ""))
        shown.add_row(system, *cells)
    console.print(shown)
