"""NBSGD (AISTATS 2016): tables 1 and 3, classification, and 2, regression.

All learn the training rows in one pass; the metric is that of the test rows.
"""

from typing import Any

import numpy as np
import scipy.sparse
from matplotlib.figure import Figure as Picture
from sklearn.preprocessing import scale

from onkel.data.catalogue import load
from onkel.measuring.markdown import power
from onkel.reproduce.online_data import Task, whole
from onkel.reproduce.protocol import Figure, Search, System, Table
from onkel.reproduce.published import Entry
from onkel.reproduce.verdict import measured
from onkel.tune.grids import BOGD_ETAS, NBSGD

# Of gamma and lambda.
BETA = 0.6  # times the rows
# Size that maintenance begins at, as a share of the rows; the paper does not state it.
SHARES = {
    "A9A": 0.05,
    "DNA": 0.1,
    "IJCNN": 0.02,
    "Skin": 0.02,
    "Space GA": 0.3,
    "Cadata": 0.05,
}
SEARCH_ROWS = 5000
LOSSES = {
    "hinge": "hinge",
    "logistic": "log_loss",
    "L2": "squared_error",
    "L1": "absolute_error",
    "eps-insensitive": "epsilon_insensitive",
}
# "Projection" in the paper's tables is the approximate one.
MAINTENANCE = {
    "removal": "removal",
    "projection": "projection_knn",
    "not stated": "removal",
}
HELD_OUT = 0.1


def _first(work: Task, rows: int) -> Task:
    """Keep the first training rows, and the test part."""
    kept = np.r_[:rows, work.n_train : len(work.y)]
    return work._replace(X=work.X[kept], y=work.y[kept], n_train=rows)


def classification(name: str) -> Task:
    """Load training rows, test rows after them; those of table 3."""
    work = whole(name)
    return _first(work, 35_000) if name == "ijcnn1" else work


def classification_of_table1(name: str) -> Task:
    """Load the fewer rows of table 1, which only has dna of the data at hand."""
    return _first(whole(name), 1400)


def regression(name: str) -> Task:
    """Load and standardise rows and targets, a tenth of them to test."""
    X, y = load(name)
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    scaled = scale(dense.astype(np.float64)).astype(np.float32)
    return _split(Task(name, scaled, scale(y), True, len(y)))


def _split(work: Task) -> Task:
    order = np.random.default_rng(0).permutation(len(work.y))
    n_train = len(order) - round(HELD_OUT * len(order))
    return work._replace(X=work.X[order], y=work.y[order], n_train=n_train)


def _gradient(entry: Entry, regression: bool) -> System:
    """Return SGD, BSGD or NBSGD."""
    fixed: dict[str, Any] = {"loss": LOSSES[entry.loss]}
    units: dict[str, str] = {}
    name = "KernelSGD"
    if entry.algorithm != "SGD":
        name = "BSGD"
        fixed |= {"maintenance": MAINTENANCE[entry.maintenance]}
        fixed |= {"budget": int(float(entry.size))}
    if entry.algorithm == "NBSGD":
        name = "NBSGD"
        fixed |= {"budget": SHARES[entry.dataset], "maintenance_rate": BETA}
        units = {"budget": "rows", "maintenance_rate": "rows"}
    kind = f"{name}{'Regressor' if regression else 'Classifier'}"
    grid = {"gamma": NBSGD, "alpha": NBSGD}
    return System(kind, fixed, grid, units, SEARCH_ROWS)


def classifier(entry: Entry) -> System | str:
    """Return our system for a number of tables 1 and 3."""
    if entry.algorithm in ("SGD", "BSGD", "NBSGD"):
        return _gradient(entry, regression=False)
    budget = {"budget": int(float(entry.size))}
    gammas = {"gamma": NBSGD}
    if entry.algorithm == "BOGD":
        bounded = {**budget, "alpha": 1.0}
        grid = {**gammas, "eta0": BOGD_ETAS}
        return System("BOGDClassifier", bounded, grid, {"alpha": "1/n^2"}, SEARCH_ROWS)
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "RBP": ("RBPClassifier", budget),
        "Forgetron": ("ForgetronClassifier", budget),
        "BPAs": ("BPAClassifier", budget),
        "Projectron++": (
            "ProjectronClassifier",
            {"budget": None, "projection_threshold": 0.1, "aggressive": True},
        ),
    }
    kind, fixed = kinds[entry.algorithm]
    return System(kind, fixed, gammas, search_rows=SEARCH_ROWS)


def regressor(entry: Entry) -> System:
    """Return our system for a number of table 2."""
    return _gradient(entry, regression=True)


# Of figure 2, times the rows: from hardly any maintenance to always.
BETAS = (0.01, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def by_beta(name: str) -> dict[str, System]:
    """Return NBSGD with several betas."""
    share = SHARES["IJCNN"]
    grid = {"gamma": NBSGD, "alpha": NBSGD}
    units = {"budget": "rows", "maintenance_rate": "rows"}
    common = {"loss": "hinge", "maintenance": "removal", "budget": share}
    return {
        f"beta = {beta:g} n": System(
            *("NBSGDClassifier", {**common, "maintenance_rate": beta}, grid, units),
            SEARCH_ROWS,
        )
        for beta in BETAS
    }


def beta_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out size and accuracy by beta."""
    rows = [["NBSGD", "accuracy, %", "centres", "gamma", "lambda"]]
    for found in outcomes.values():
        for label, outcome in found.items():
            accuracy, size = (measured(outcome[key]) for key in ("values", "sizes"))
            chosen = [power(outcome["parameters"][key]) for key in ("gamma", "alpha")]
            spread = f"{accuracy.mean:.2f} ± {accuracy.std:.2f}"
            rows.append([label, spread, f"{size.mean:,.0f}", *chosen])
    return rows


def draw_betas(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw size and accuracy against beta."""
    picture = Picture(figsize=(5.5, 3.6), layout="constrained")
    panel = picture.subplots()
    right = panel.twinx()
    (found,) = outcomes.values()
    betas = [float(label.split()[2]) for label in found]
    for axis, key, colour, name in (
        (panel, "values", "#CC6677", "test accuracy, %"),
        (right, "sizes", "#4477AA", "centres"),
    ):
        values = np.array([measured(one[key]).mean for one in found.values()])
        low, high = (
            np.array([edge(one[key]) for one in found.values()]) for edge in (min, max)
        )
        axis.plot(betas, values, color=colour, marker="o", ms=3)
        axis.fill_between(betas, low, high, color=colour, alpha=0.2, lw=0)
        axis.set_ylabel(name, color=colour)
        axis.tick_params(axis="y", colors=colour)
    panel.set(title="NBSGD on ijcnn1", xlabel="beta / n")
    panel.grid(alpha=0.3)
    return picture


def _label(entry: Entry) -> str:
    parts = entry.algorithm, entry.loss, entry.maintenance
    return ", ".join(part for part in parts if part not in ("none", "not stated"))


SEARCH = Search(
    "folds",
    5,
    "five-fold cross-validation on the training rows, 5,000 of them at most, "
    "gamma and lambda in {2^-8, 2^-4, 1, 2^4, 2^10}",
)
COMMON = (
    "Acc is read as the accuracy on the test part after one pass: BOGD's 76.4 % on A9A "
    "and 90.5 % on IJCNN are the shares of the larger class there. The answer is the "
    "last iterate.",
    "The budget B at which NBSGD begins is not stated. If every violation of the last "
    "40 % of a pass that is not maintained adds a centre, the published sizes point to "
    "5 % of the rows on A9A and 10 % on DNA, which is what we take, and 2 % on IJCNN; "
    "in the search the same share of fewer rows. beta = 0.6 n as in the paper.",
    "Numbers in brackets are read as standard deviations in units of the last digit, "
    "88.4 (4) as 88.4 ± 0.4.",
)
TITLE = "NBSGD: nonparametric budgeted stochastic gradient descent (AISTATS 2016)"
TABLES = (
    Table(
        paper="nbsgd",
        name="table1",
        sentence="Accuracy of SGD, BSGD and NBSGD with two losses and two kinds of "
        "maintenance.",
        metric="accuracy_pct",
        digits=1,
        load=classification_of_table1,
        data={"DNA": "dna"},
        missing={
            "Skin": "SGD stores 139,445 of its rows and BSGD 30,000: hours",
        },
        system=classifier,
        search=SEARCH,
        permutations=5,
        readings=(
            *COMMON,
            "DNA has 1,400 rows in this table, 2,000 in table 3: the first 1,400, and "
            "the same test part.",
            "Projection is the approximate one, on four nearest centres.",
        ),
        remarks=(
            "Sizes of NBSGD agree: the reading of B, 10 % of the rows, is right.",
            "With lambda of 2^-8 or more on 1,400 rows, the last iterate depends on "
            "the last few rows: spreads of 2 to 13 points, which the paper does not "
            "print.",
        ),
        std_unit=0.1,
        held_out=True,
        label=_label,
    ),
    Table(
        paper="nbsgd",
        name="table2",
        sentence="Error in regression of SGD, BSGD with two budgets, and NBSGD.",
        metric="rmse",
        digits=2,
        load=regression,
        data={"Cadata": "cadata", "Space GA": "abalone"},
        missing={"Exam": "no such data set is published under this name"},
        system=regressor,
        search=SEARCH,
        permutations=5,
        readings=(
            *COMMON,
            "Features and targets are standardised, a tenth of the rows is held out. "
            "The rows and features that the paper prints for Space GA are those of "
            "abalone, which we take.",
            "Maintenance is not stated: removal. epsilon is 0.1. NBSGD begins at 5 % "
            "of the rows on Cadata, 30 % on Space GA, as the published sizes suggest. "
            "The search goes by the progressive error of the learnt folds.",
        ),
        remarks=(
            "The smallest lambda of the grid, 2^-8, is strong for these data: most "
            "errors, theirs and ours, are nearer to the constant predictor than to "
            "what the features allow.",
            "Cadata: all published errors are within 5 % of the constant predictor.",
        ),
        std_unit=0.1,
        held_out=True,
        label=_label,
    ),
    Table(
        paper="nbsgd",
        name="table3",
        sentence="Accuracy of NBSGD and SGD beside five budgeted systems.",
        metric="accuracy_pct",
        digits=1,
        load=classification,
        data={"A9A": "a9a", "DNA": "dna", "IJCNN": "ijcnn1"},
        system=classifier,
        search=SEARCH,
        permutations=5,
        readings=(
            *COMMON,
            "IJCNN has 35,000 training rows in the paper: the first 35,000 of the "
            "49,990, which are the published training part without its validation "
            "part; the test part has 91,701.",
            "RBP, Forgetron, BPAs (C = 1) and BOGD have the budgets that are printed, "
            "Projectron++ has none and the threshold 0.1, which is not stated. BOGD "
            "searches eta in {2^-3, ..., 2^3}.",
        ),
        remarks=(
            "Published numbers of BOGD on A9A and IJCNN are those of the constant "
            "predictor. Ours, with steps from the grid of its own paper, is the best "
            "budgeted system on A9A and among the best on IJCNN.",
            "IJCNN: SGD keeps 35,000 of 35,000 rows (34,999 published): the search "
            "takes gamma = 2^10, as the authors' must have. NBSGD with 759 centres is "
            "then out of reach: every row is a violation, and nothing but the last "
            "rows is remembered; 759 is also the size of another data set in table 1.",
            "DNA: the published rows of SGD and NBSGD are those of table 1, which has "
            "1,400 rows and where our sizes agree; here there are 2,000, as printed.",
            "RBP on A9A: one of five orders ends at the smaller class; the spread is "
            "that of a last iterate.",
        ),
        std_unit=0.1,
        held_out=True,
    ),
    Figure(
        paper="nbsgd",
        name="figure2",
        sentence="Size and accuracy of NBSGD against beta.",
        metric="accuracy_pct",
        digits=1,
        load=classification,
        data={"SenseIT": "ijcnn1"},
        system=classifier,
        search=SEARCH,
        permutations=5,
        readings=(
            *COMMON,
            "SenseIT Vehicle is not at hand: the rows are those of IJCNN in table 3.",
        ),
        held_out=True,
        extra=by_beta,
        draw=draw_betas,
        rows=beta_rows,
    ),
)
