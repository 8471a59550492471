"""Judges: functions that look at outcomes and return what they say about a claim."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from onkel.reproduce.evidence import (
    CONTRADICTED,
    MIXED,
    SUPPORTED,
    UNTESTABLE,
    Evidence,
    Finding,
    Pair,
    alike,
    better,
    faster,
)

NBSGD1, NBSGD2, NBSGD3 = "nbsgd/table1", "nbsgd/table2", "nbsgd/table3"
NBSGD_FIGURE = "nbsgd/figure2"
BOGD2, BOGD3 = "bogd/table2", "bogd/table3"
AVM4, AVM5 = "avm/table4", "avm/table5"
DUAL2 = "dualsvrg/table2"
BOGD_DATA = ("german", "spambase", "magic04", "ijcnn1")
NBSGD_DATA = ("A9A", "DNA", "IJCNN")
EARLIER = ("RBP", "Forgetron", "Projectron", "Projectron++")
Judge = Callable[[Evidence], Finding]


def measured_in(verdict: str, shown: str) -> Judge:
    """Return a judge that repeats what another page measured."""
    return lambda evidence: Finding(verdict, f"measured apart: {shown}")


def untested(why: str) -> Judge:
    """Return a judge for what was not measured."""
    return lambda evidence: Finding(UNTESTABLE, why)


def key_of(
    evidence: Evidence, target: str, data: str, algorithm: str
) -> tuple[str, ...]:
    """Return the cell of an algorithm that has one size only."""
    for key in evidence.keys(target):
        if key[:2] == (data, algorithm):
            return key
    return (data, algorithm)


def runs(
    evidence: Evidence, target: str, data: str, algorithm: str, of: str = "values"
) -> list[float]:
    """Return the runs of an algorithm that has one size only."""
    key = key_of(evidence, target, data, algorithm)
    return evidence.values(target, *key, of=of)


def duel(
    target: str,
    datasets: tuple[str, ...],
    first: str,
    second: str,
    *,
    larger: bool = False,
    of: str = "values",
    digits: int = 2,
) -> Judge:
    """Return a judge of: the first algorithm is better than the second, everywhere."""

    def judge(evidence: Evidence) -> Finding:
        pairs = [
            Pair(
                data,
                runs(evidence, target, data, first, of),
                runs(evidence, target, data, second, of),
            )
            for data in datasets
        ]
        if of == "seconds":
            return faster(pairs, digits, f"{first}, {second}")
        return better(pairs, larger, digits, f"{first}, {second}")

    return judge


def both(*judges: Judge) -> Judge:
    """Return a judge of a claim with several parts."""

    def judge(evidence: Evidence) -> Finding:
        found = [one(evidence) for one in judges]
        told = {one.verdict for one in found} - {UNTESTABLE}
        verdict = told.pop() if len(told) == 1 else MIXED if told else UNTESTABLE
        return Finding(verdict, ". ".join(one.shown for one in found))

    return judge


# ---- NBSGD ---------------------------------------------------------------------------


def _nbsgd_label(loss: str, maintenance: str) -> str:
    return f"NBSGD, {loss}, {maintenance}"


def maintenance(kind: str) -> Judge:
    """Compare removal and projection within NBSGD, on DNA."""

    def judge(evidence: Evidence) -> Finding:
        pairs = []
        of = "seconds" if kind == "time" else "values"
        for loss in ("hinge", "logistic"):
            if kind == "logistic" and loss == "hinge":
                continue
            first, second = (
                runs(evidence, NBSGD1, "DNA", _nbsgd_label(loss, way), of)
                for way in ("removal", "projection")
            )
            pairs.append(Pair(f"DNA, {loss}", first, second))
        if kind == "alike":
            return alike(pairs, room=1.1, about="removal, projection")
        if kind == "logistic":
            return better(pairs, True, 2, "removal, projection")
        return faster(pairs, digits=3, about="removal, projection")

    return judge


def regression(first: str, second: str) -> Judge:
    """Compare two systems of table 2, all losses."""

    def judge(evidence: Evidence) -> Finding:
        pairs = [
            Pair(
                f"{data} {loss}",
                runs(evidence, NBSGD2, data, f"{first}, {loss}"),
                runs(evidence, NBSGD2, data, f"{second}, {loss}"),
            )
            for data in ("Space GA", "Cadata")
            for loss in ("L2", "L1", "eps-insensitive")
        ]
        return better(pairs, digits=3, about=f"{first}, {second}")

    return judge


def losses_of_regression(evidence: Evidence) -> Finding:
    """Compare L1 and eps with L2 in table 2."""
    pairs = [
        Pair(
            f"{data} {system} {loss}",
            runs(evidence, NBSGD2, data, f"{system}, {loss}"),
            runs(evidence, NBSGD2, data, f"{system}, L2"),
        )
        for data in ("Space GA", "Cadata")
        for system in ("SGD", "NBSGD")
        for loss in ("L1", "eps-insensitive")
    ]
    return better(pairs, digits=3, about="L1 or eps, L2")


def by_beta(evidence: Evidence) -> Finding:
    """Judge size and accuracy of NBSGD against beta."""
    data = "SenseIT"
    found = [
        (float(key[1].split("= ")[1].split(" n")[0]), key)
        for key in evidence.keys(NBSGD_FIGURE)
        if key[0] == data
    ]
    if not found:
        return Finding(UNTESTABLE, "not run")
    found.sort()
    sizes = [np.mean(evidence.values(NBSGD_FIGURE, *k, of="sizes")) for _, k in found]
    rates = [np.mean(evidence.values(NBSGD_FIGURE, *k)) for _, k in found]
    falls = all(a >= b for a, b in pairwise(sizes))
    less = np.corrcoef(np.arange(len(rates)), rates)[0, 1] < 0
    shown = ", ".join(
        f"beta {beta:g} n: {size:,.0f} centres, {rate:.2f} %"
        for (beta, _), size, rate in zip(found, sizes, rates, strict=True)
    )
    verdict = {2: SUPPORTED, 1: MIXED, 0: CONTRADICTED}[int(falls) + int(less)]
    return Finding(verdict, f"on ijcnn1, SenseIT not being at hand: {shown}")


def more_accurate_than_all(evidence: Evidence) -> Finding:
    """Compare NBSGD with four budgeted systems of table 3."""
    pairs = [
        Pair(
            f"{data} {other}",
            runs(evidence, NBSGD3, data, "NBSGD"),
            runs(evidence, NBSGD3, data, other),
        )
        for data in NBSGD_DATA
        for other in ("RBP", "Forgetron", "BPAs", "BOGD")
    ]
    return better(pairs, True, 1, "NBSGD, the other")


# ---- BOGD ----------------------------------------------------------------------------


def budgets(evidence: Evidence, data: str) -> list[str]:
    """Return the budgets of a data set in table 3, ascending."""
    sizes = {key[2] for key in evidence.keys(BOGD3) if key[0] == data}
    return sorted(sizes, key=int)


def every_budget(
    first: str, second: str, *, of: str = "values", digits: int = 2, room: float = 0.0
) -> Judge:
    """Compare two systems of table 3 at all budgets."""

    def judge(evidence: Evidence) -> Finding:
        pairs = [
            Pair(
                f"{data} {budget}",
                evidence.values(BOGD3, data, first, budget, of=of),
                evidence.values(BOGD3, data, second, budget, of=of),
            )
            for data in BOGD_DATA
            for budget in budgets(evidence, data)
        ]
        if room:
            return alike(pairs, room, digits, f"{first}, {second}")
        judge_all = faster if of == "seconds" else better
        return judge_all(pairs, digits=digits, about=f"{first}, {second}")

    return judge


def against_earlier(system: str, *, largest: bool = False) -> Judge:
    """Compare a system with the best of all others at each budget."""

    def judge(evidence: Evidence) -> Finding:
        pairs = []
        for data in BOGD_DATA:
            found = budgets(evidence, data)
            for budget in found[-1:] if largest else found:
                rivals = [*EARLIER, *(["BOGD"] if system == "BOGD++" else [])]
                others = {
                    other: evidence.values(BOGD3, data, other, budget)
                    for other in rivals
                }
                told = {name: numbers for name, numbers in others.items() if numbers}
                if not told:
                    continue
                best = min(told, key=lambda name: float(np.mean(told[name])))
                ours = evidence.values(BOGD3, data, system, budget)
                pairs.append(Pair(f"{data} {budget} ({best})", ours, told[best]))
        return better(pairs, about=f"{system}, the best other")

    return judge


def against_perceptron(evidence: Evidence) -> Finding:
    """Compare BOGD++ with the Perceptron without a budget."""
    pairs = [
        Pair(
            f"{data} {budget}",
            evidence.values(BOGD3, data, "BOGD++", budget),
            runs(evidence, BOGD2, data, "Perceptron"),
        )
        for data in BOGD_DATA
        for budget in budgets(evidence, data)
    ]
    return better(pairs, about="BOGD++, Perceptron")


# ---- BSCA ----------------------------------------------------------------------------


def curves(
    evidence: Evidence, figure: str, data: str, system: str, budget: int, kind: str
) -> np.ndarray:
    """Return curves by seed and epoch; empty if not run."""
    label = f"{system}, B = {budget}"
    found = evidence.outcome(f"bsca/{figure}", data, label, str(budget))
    return np.array([]) if found is None else np.array(found["curves"][kind])


BSCA_DATA = ("IJCNN", "COD-RNA", "ADULT", "COVTYPE", "SUSY")


def last_epoch(
    kind: str,
    budget: int = 500,
    figure: str = "figure1",
    epoch: int = -1,
    loses: tuple[str, ...] = (),
) -> Judge:
    """Compare BSCA with BSGD after an epoch; `loses` where the claim says so."""

    def judge(evidence: Evidence) -> Finding:
        pairs = []
        for data in BSCA_DATA:
            found = [
                curves(evidence, figure, data, system, budget, kind)
                for system in ("BSCA", "BSGD")
            ]
            if all(len(one) for one in found):
                first, second = (one[:, epoch].tolist() for one in found)
                if data in loses:
                    pairs.append(Pair(f"{data} (BSGD, BSCA)", second, first))
                else:
                    pairs.append(Pair(data, first, second))
        digits = 2 if kind == "error" else 0
        when = "at the end" if epoch == -1 else f"after epoch {epoch + 1}"
        return better(pairs, kind == "dual", digits, f"{kind} of BSCA, BSGD {when}")

    return judge


def is_monotone(evidence: Evidence) -> Finding:
    """Judge whether the dual objective of BSCA never falls, and the primal may rise."""
    shown, dual_holds, primal_rises = [], [], []
    for data in BSCA_DATA:
        dual = curves(evidence, "figure1", data, "BSCA", 500, "dual")
        primal = curves(evidence, "figure1", data, "BSCA", 500, "primal")
        if len(dual):
            falls = float(np.mean(np.diff(dual, axis=1) < 0))
            rises = float(np.mean(np.diff(primal, axis=1) > 0))
            dual_holds.append(falls == 0)
            primal_rises.append(rises > 0)
            shown.append(
                f"{data}: dual falls in {100 * falls:.0f} % of the epochs, primal "
                f"rises in {100 * rises:.0f} %"
            )
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = SUPPORTED if all(dual_holds) and any(primal_rises) else MIXED
    return Finding(verdict, "; ".join(shown))


def late_spread(kind: str) -> Judge:
    """Compare how far the error of a run moves over its last ten epochs."""

    def judge(evidence: Evidence) -> Finding:
        pairs = []
        for data in BSCA_DATA:
            found = [
                curves(
                    evidence, "figure2", data, system, 500, kind if i == 0 else "error"
                )
                for i, system in enumerate(("BSCA", "BSGD"))
            ]
            if all(len(one) for one in found):
                first, second = (
                    one[:, -10:].std(axis=1, ddof=1).tolist() for one in found
                )
                pairs.append(Pair(data, first, second))
        name = "mean of BSCA's last iterates" if kind == "error" else "its last iterate"
        return better(pairs, about=f"points, {name}, BSGD")

    return judge


def poor_when_stopped(evidence: Evidence) -> Finding:
    """Judge whether the error of BSGD depends on the epoch in which it is stopped."""
    shown, poor = [], []
    for data in BSCA_DATA:
        errors = curves(evidence, "figure2", data, "BSGD", 500, "error")
        if len(errors):
            late = errors[:, -10:]
            poor.append(late.max() - late.min() > 5.0)
            shown.append(f"{data} {late.min():.1f} to {late.max():.1f} %")
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = {len(poor): SUPPORTED, 0: CONTRADICTED}.get(sum(poor), MIXED)
    text = "test error over the last ten epochs and all seeds: " + ", ".join(shown)
    return Finding(verdict, text)


def near_exact(evidence: Evidence) -> Finding:
    """Judge whether both budgeted models end near the exact machine."""
    pairs = []
    for data in BSCA_DATA:
        exact = runs(evidence, "bsca/table1", data, "LIBSVM")
        for system in ("BSCA", "BSGD"):
            found = curves(evidence, "figure2", data, system, 500, "error")
            if len(found) and exact:
                error = [100 - exact[0]]
                pairs.append(Pair(f"{data} {system}", found[:, -1].tolist(), error))
    return alike(pairs, room=1.0, about="test error, SVC's error")


def negative_dual(evidence: Evidence) -> Finding:
    """Count the problems on which the dual objective of BSGD ends below 0."""
    shown, count = [], 0
    for data in BSCA_DATA:
        dual = curves(evidence, "figure1", data, "BSGD", 500, "dual")
        if len(dual):
            first, last = dual.mean(axis=0)[[0, -1]]
            shown.append(
                f"{data}: {first:,.0f} after one epoch, {last:,.0f} at the end"
            )
            count += bool(last < 0)
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = {0: CONTRADICTED, 2: SUPPORTED}.get(count, MIXED)
    return Finding(verdict, "; ".join(shown))


def merging(evidence: Evidence) -> Finding:
    """Compare the shares of merging steps in the last epoch."""
    pairs = []
    for data in BSCA_DATA:
        for budget in (200, 500, 1000):
            found = [
                curves(evidence, "figure3", data, system, budget, "maintenance")
                for system in ("BSCA", "BSGD")
            ]
            if all(len(one) for one in found):
                first, second = (one[:, -1].tolist() for one in found)
                pairs.append(Pair(f"{data} {budget}", first, second))
    return better(pairs, digits=3, about="share of steps, epoch 15, BSCA, BSGD")


def drift(evidence: Evidence) -> Finding:
    """Judge whether a small budget's primal objective rises late."""
    shown, rises = [], []
    for data in BSCA_DATA:
        for budget in (200, 500):
            primal = curves(evidence, "figure3", data, "BSCA", budget, "primal")
            if len(primal):
                mean = primal.mean(axis=0)
                rises.append(mean[-1] > 1.02 * mean.min())
                shown.append(
                    f"{data} {budget}: primal lowest {mean.min():,.0f} in epoch "
                    f"{int(mean.argmin()) + 1}, {mean[-1]:,.0f} at the end"
                )
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = SUPPORTED if any(rises) else CONTRADICTED
    return Finding(verdict, "; ".join(shown))


def time_by_budget(evidence: Evidence) -> Finding:
    """Compare the time of BSCA with 200 and 500 centres."""
    pairs = []
    for data in BSCA_DATA:
        found = [
            curves(evidence, "figure3", data, "BSCA", budget, "seconds")
            for budget in (200, 500)
        ]
        if all(len(one) for one in found):
            first, second = (one[:, -1].tolist() for one in found)
            pairs.append(Pair(data, first, second))
    return faster(pairs, digits=1, about="15 epochs, B = 200, 500")


def cost_of_a_row(evidence: Evidence) -> Finding:
    """Show the time of a row by budget and by number of rows."""
    shown, ratios = [], []
    for data in BSCA_DATA:
        times = []
        for budget in (200, 500, 1000):
            key = (data, f"BSCA, B = {budget}", str(budget))
            found = evidence.outcome("bsca/figure3", *key)
            if found is not None:
                seconds = np.array(found["curves"]["seconds"])[:, -1].min()
                times.append(1e6 * seconds / (15 * found["rows"]))
        if len(times) == 3:
            ratios.append(times[2] / times[0])
            values = ", ".join(f"{one:.1f}" for one in times)
            shown.append(f"{data}: {values} µs a row with 200, 500, 1000 centres")
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = SUPPORTED if max(ratios) < 7 else MIXED
    return Finding(verdict, "; ".join(shown) + " (five times the centres)")


# ---- AVM and DualSVRG ----------------------------------------------------------------


AVM_DATA = ("a9a", "w8a", "ijcnn1", "cod-rna")
AVMS = ("AVM-Hinge", "AVM-Logit")


def best_of(
    evidence: Evidence, target: str, data: str, names: tuple[str, ...]
) -> tuple[str, list[float]]:
    """Return the algorithm with the lowest mean, and its runs."""
    found = {name: runs(evidence, target, data, name) for name in names}
    told = {name: numbers for name, numbers in found.items() if numbers}
    if not told:
        return "", []
    best = min(told, key=lambda name: float(np.mean(told[name])))
    return best, told[best]


def leads(
    target: str,
    datasets: tuple[str, ...],
    ours: tuple[str, ...],
    others: tuple[str, ...],
    digits: int = 2,
) -> Judge:
    """Compare the best of some algorithms with the best of others."""

    def judge(evidence: Evidence) -> Finding:
        pairs = []
        for data in datasets:
            first, one = best_of(evidence, target, data, ours)
            second, two = best_of(evidence, target, data, others)
            pairs.append(Pair(f"{data} ({first}, {second})", one, two))
        return better(pairs, digits=digits)

    return judge


BASELINES = (
    *("Perceptron", "OGD", "RBP", "Forgetron", "Projectron", "Projectron++"),
    *("BPAS", "BOGD", "FOGD", "NOGD"),
)
REGRESSORS = ("RBP", "Forgetron", "Projectron", "BOGD", "FOGD", "NOGD")
REGRESSING = ("AVM-eps", "AVM-l1", "AVM-l2")


def unbudgeted(evidence: Evidence) -> Finding:
    """Judge: without a budget the best is on a9a only."""
    shown, right = [], []
    budgeted = (*(b for b in BASELINES if b not in ("Perceptron", "OGD")), *AVMS)
    for data in AVM_DATA:
        free, one = best_of(evidence, AVM4, data, ("Perceptron", "OGD"))
        bound, two = best_of(evidence, AVM4, data, budgeted)
        if one and two:
            wins = np.mean(one) < np.mean(two)
            right.append(bool(wins) == (data == "a9a"))
            sign = "<" if wins else ">"
            shown.append(
                f"{data}: {free} {np.mean(one):.2f} {sign} {bound} {np.mean(two):.2f}"
            )
    if not shown:
        return Finding(UNTESTABLE, "not run")
    verdict = SUPPORTED if all(right) else MIXED if any(right) else CONTRADICTED
    return Finding(verdict, "; ".join(shown))


def sizes_of_cover(evidence: Evidence) -> Finding:
    """Show that sizes of AVM hardly depend on the order."""
    shown = []
    for data in (*AVM_DATA, "covtype", "airlines"):
        found = runs(evidence, AVM4, data, "AVM-Hinge", "sizes")
        if found:
            shown.append(f"{data} {min(found):.0f} to {max(found):.0f}")
    if not shown:
        return Finding(UNTESTABLE, "not run")
    text = "cores over the orders: " + ", ".join(shown)
    return Finding(SUPPORTED, text + "; no bound is exceeded in any order")


def _dual(*names: str) -> tuple[str, ...]:
    return tuple(f"DualSVRG-{name}" for name in names)


VARIANTS = _dual("H-B", "H-C", "H-AM", "L-B", "L-C", "L-AM")
CHOSEN = tuple(f"{name}, step chosen" for name in VARIANTS)
DUAL_OTHERS = ("FOGD", "NOGD", "DualSGD-Hinge")
