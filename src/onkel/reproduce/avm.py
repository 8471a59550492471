"""AVM (JMLR 2017): table 4, mistakes online, and table 5, regression online.

The radius of a cell is half the diameter that the paper prints.
"""

from typing import Any

from onkel.reproduce.choosing import LINEAR_ALPHAS, LINEAR_ETAS
from onkel.reproduce.online_data import Task, task
from onkel.reproduce.protocol import LINEAR, Search, System, Table
from onkel.reproduce.published import Entry
from onkel.tune.grids import ALPHAS, CS, ETAS, GAMMAS

# Diameters that the paper prints, by our data sets; 1 for its airlines, whose features
# nycflights has. For poker it prints 12, but our file is another one: 7 is the smallest
# of mean - k/2 standard deviations of the distances with no more than 500 cores on a
# hundredth of the rows, as the paper chose "to balance size and error".
DIAMETERS = {
    "a9a": 7.0,
    "w8a": 13.0,
    "ijcnn1": 1.0,
    "cod-rna": 1.0,
    "covtype": 3.0,
    "casp": 4.0,
    "nycflights": 1.0,
    "poker-lsn": 7.0,
}
# The caps of the authors' code, where cores beyond are dropped; ours absorb.
MOST_CORES, CAPS = 1000, {"ijcnn1": 500}
# Half-width of the tube, which the paper does not state; targets in [0, 1], or minutes.
EPSILON = {"casp": 0.01, "nycflights": 0.1}
LOSSES = {
    "AVM-Hinge": "hinge",
    "AVM-Logit": "log_loss",
    "AVM-eps": "epsilon_insensitive",
    "AVM-l1": "absolute_error",
    "AVM-l2": "squared_error",
}
# Caps of a step of BPA-S. The paper's grid goes on to 2^15, but no step is that long.
STEP_CAPS = CS[:5]
# Rows for the search of the systems that store centres, and of the slow ones of them.
ROWS, FEWER_ROWS, FEWEST_ROWS = 10_000, 5000, 3000


def cover(name: str, loss: str, regression: bool = False) -> System:
    """Return AVM with the settings for one of our data sets."""
    fixed: dict[str, Any] = {
        "loss": loss,
        "coverage_radius": DIAMETERS[name] / 2,
        "max_core": CAPS.get(name, MOST_CORES),
        "lazy_core": False,  # as in the paper: rows without a loss open cells, too
    }
    if regression:
        fixed["epsilon"] = EPSILON[name]
    kind = "AVMRegressor" if regression else "AVMClassifier"
    return System(
        kind, fixed, {"gamma": GAMMAS, "alpha": ALPHAS}, units={"alpha": "1/n"}
    )


def machine(work: Task, loss: str, **parameters: Any) -> Any:
    """Return an AVM with the settings of a task; alpha is in units of 1/n."""
    given = {"random_state": 0, **parameters}
    return cover(work.name, loss, work.is_regression).build(work, len(work.y), **given)


def baseline(algorithm: str, size: str) -> System | None:
    """Return a classifier of the table that is not AVM, with a budget or features."""
    gammas = {"gamma": GAMMAS}
    budget = {"budget": int(size)} if size else {}
    stored = {"projection_threshold": 0.0}
    aggressive = {"projection_threshold": 0.001, "aggressive": True}
    steps = {**gammas, "eta0": ETAS}
    systems: dict[str, tuple[str, dict[str, Any], dict[str, Any], int | None]] = {
        "Perceptron": ("KernelPerceptronClassifier", {}, gammas, FEWER_ROWS),
        "OGD": ("OGDClassifier", {}, steps, FEWER_ROWS),
        "RBP": ("RBPClassifier", budget, gammas, ROWS),
        "Forgetron": ("ForgetronClassifier", budget, gammas, ROWS),
        "Projectron": ("ProjectronClassifier", budget | stored, gammas, FEWER_ROWS),
        "Projectron++": (
            *("ProjectronClassifier", budget | aggressive, gammas),
            FEWEST_ROWS,
        ),
        "BPAS": ("BPAClassifier", budget, {**gammas, "C": STEP_CAPS}, ROWS),
        "BOGD": ("BOGDClassifier", budget, steps, ROWS),
        "FOGD": ("FOGDClassifier", {"n_components": int(size or 0)}, steps, None),
        "NOGD": ("NOGDClassifier", budget, steps, None),
    }
    if algorithm not in systems:
        return None
    kind, fixed, grid, rows = systems[algorithm]
    return System(kind, fixed, grid, search_rows=rows)


def linear(regression: bool = False) -> dict[str, System]:
    """Return the linear model to beat, which the paper does not have."""
    if regression:
        grid = {"alpha": LINEAR_ALPHAS, "eta0": LINEAR_ETAS}
        return {LINEAR: System(LINEAR, {"loss": "squared_error"}, grid)}
    return {LINEAR: System(LINEAR, {"loss": "hinge"}, {"alpha": LINEAR_ALPHAS})}


def classifier(entry: Entry) -> System | str:
    """Return our system for a number of table 4."""
    if entry.algorithm in LOSSES:
        return cover(DATA[entry.dataset], LOSSES[entry.algorithm])
    return baseline(entry.algorithm, entry.size) or "no such system here"


def regressor(entry: Entry) -> System | str:
    """Return our system for a number of table 5."""
    name = REGRESSION_DATA[entry.dataset]
    if entry.algorithm in LOSSES:
        return cover(name, LOSSES[entry.algorithm], regression=True)
    system = baseline(entry.algorithm, entry.size)
    if system is None:
        return "no such system here"
    fixed = {**system.fixed, "epsilon": EPSILON[name]}
    if entry.algorithm in ("FOGD", "NOGD"):
        fixed["loss"] = "squared_error"
    kind = system.kind.replace("Classifier", "Regressor")
    grid = {"gamma": GAMMAS, "eta0": ETAS}
    # Nothing is held out, and the features cost little.
    return System(kind, fixed, grid, search_rows=min(system.search_rows or ROWS, ROWS))


def regression_task(name: str) -> Task:
    """Load a data set for regression."""
    return task(name, regression=True)


DATA = {
    "a9a": "a9a",
    "w8a": "w8a",
    "ijcnn1": "ijcnn1",
    "cod-rna": "cod-rna",
    "covtype": "covtype",
    "poker": "poker-lsn",
    "airlines": "nycflights",
}
REGRESSION_DATA = {"casp": "casp", "airlines": "nycflights"}
MISSING = {
    "KDDCup99": "the file at hand has a tenth of its 4,898,431 rows",
    "slice": "the data are not at hand",
    "year": "the data are not at hand",
}
COMMON = (
    "Training and test part are joined and shuffled, every row is predicted, then "
    "learnt. a9a, w8a and ijcnn1 as published, cod-rna to [-1, 1], covtype and flights "
    "to [0, 1], casp standardised with targets in [0, 1]: with the diameters that the "
    "paper prints, these scalings give the sizes that it prints.",
    "cod-rna is its training part only, 59,535 of 331,152 rows; poker and airlines are "
    "other data of the same kind (poker-lsn, nycflights).",
    "The diameter is twice our `coverage_radius`. Beyond the limit of the authors' "
    "code, 500 cores on ijcnn1 and 1,000 elsewhere, our rows go to the nearest core; "
    "theirs are dropped.",
    "Not stated, so ours: the steps of OGD and BOGD are searched like those of FOGD "
    "and NOGD, lambda being 0 for them; BOGD has gamma (`max_coef`) 4; Projectron "
    "has no threshold, Projectron++ has 0.001.",
)
TITLE = "AVM: approximation vector machines (JMLR 2017)"
TABLES = (
    Table(
        paper="avm",
        name="table4",
        sentence="Mistakes online: AVM with two losses, and ten other systems.",
        metric="mistake_rate_pct",
        digits=2,
        load=task,
        data=DATA,
        missing=MISSING,
        system=classifier,
        search=Search(
            "held-out",
            3,
            "80 % of the training rows to learn, 20 % to test, mean of three splits; "
            "1 % of the rows of covtype and larger. FOGD, NOGD, AVM: all these rows; "
            "the others: 10,000 at most (Perceptron, OGD, Projectron 5,000, "
            "Projectron++ 3,000)",
        ),
        permutations=10,
        readings=COMMON,
        remarks=(
            "AVM itself agrees on a9a and nearly so elsewhere, sizes included; see "
            "[AVM](../avm.md) for the differences.",
            "Nearly all other systems err less here than published, on ijcnn1 by a "
            "factor of up to seven, and most of them err less than AVM. gamma explains "
            "it: the "
            "published 12.85 % of the Perceptron and 15.54 % of RBP on ijcnn1 are "
            "about what they have with the kernel of width 8 of the BOGD paper "
            "(12.36 and 15.40 %, and so do ours: see that page), while every gamma "
            "that the search takes from this paper's own grid is 32 times as large or "
            "more. The published comparison seems to give AVM a kernel that was "
            "chosen, and its rivals one that was not.",
            "w8a: OGD with very short steps keeps nearly all rows; it is a kernel "
            "smoother then, and the best of the table.",
        ),
        extra=lambda name: linear(),
    ),
    Table(
        paper="avm",
        name="table5",
        sentence="Root mean squared error online: AVM with three losses, and six "
        "other systems.",
        metric="rmse",
        digits=4,
        load=regression_task,
        data=REGRESSION_DATA,
        missing=MISSING,
        system=regressor,
        search=Search(
            "held-out",
            3,
            "least progressive error on 80 % of the rows, mean of three draws; AVM: "
            "all rows, 1 % of the flights; the others: 10,000 at most (Projectron "
            "5,000)",
        ),
        permutations=10,
        readings=(
            *COMMON,
            "The choice goes by the progressive error, as a table of progressive "
            "errors asks for: by held-out error it would take steps whose first "
            "predictions are enormous.",
            "epsilon is 0.01 on casp and 0.1 minutes on flights; FOGD and NOGD have "
            "the squared error, BOGD and the perceptrons the epsilon-insensitive one.",
        ),
        remarks=(
            "AVM agrees within its published spread. With the absolute losses ours is "
            "hardly better than the constant predictor and theirs is worse; a linear "
            "model errs less than any AVM.",
            "FOGD, the worst of the published table, is the best of ours. The reason "
            "was not looked for; public code of that time does not normalise its "
            "features, which makes the same steps much longer.",
        ),
        extra=lambda name: linear(regression=True),
    ),
)
