"""BOGD and BOGD++ (ICML 2012): tables 2 and 3, mistakes of one pass."""

from onkel.reproduce.online_data import Task, whole
from onkel.reproduce.protocol import Search, System, Table
from onkel.reproduce.published import Entry
from onkel.tune.grids import BOGD_ETAS, BOGD_GAMMA, BOGD_MAX_COEFS

SEARCH_ROWS = 20_000
# Our parameters of the unbudgeted systems, and of those with a budget.
PLAIN = {
    "Perceptron": ("KernelPerceptronClassifier", {}),
    "RBP": ("RBPClassifier", {}),
    "Forgetron": ("ForgetronClassifier", {}),
    "Projectron": ("ProjectronClassifier", {"projection_threshold": 0.0}),
    "Projectron++": (
        "ProjectronClassifier",
        {"projection_threshold": 0.001, "aggressive": True},
    ),
}
SAMPLING = {"BOGD": "uniform", "BOGD++": "weighted"}


def load(name: str) -> Task:
    """Return all rows as they are, dense."""
    work = whole(name)
    return work._replace(n_train=len(work.y))


def system(entry: Entry) -> System | str:
    """Return our system for a published number."""
    if entry.size.startswith("unknown"):
        return "its budget is lost in our copy of the text"
    fixed: dict[str, object] = {"gamma": BOGD_GAMMA}
    if entry.maintenance != "none":
        fixed["budget"] = int(entry.size)
    if entry.algorithm in PLAIN:
        kind, more = PLAIN[entry.algorithm]
        return System(kind, {**fixed, **more})
    fixed["alpha"] = 1.0
    units = {"alpha": "1/n^2"}
    if entry.algorithm == "OGD":
        return System("OGDClassifier", fixed, {"eta0": BOGD_ETAS}, units, SEARCH_ROWS)
    fixed["sampling"] = SAMPLING[entry.algorithm]
    grid = {"eta0": BOGD_ETAS, "max_coef": BOGD_MAX_COEFS}
    return System("BOGDClassifier", fixed, grid, units, SEARCH_ROWS)


DATA = {
    "german": "german.numer_scale",
    "spambase": "spambase",
    "magic04": "magic04",
    "ijcnn1": "ijcnn1",
}
MISSING = {
    "w8a": "24,692 rows of 300 features are LIBSVM's w7a, which is not at hand",
    "codrna": "its 271,617 rows are LIBSVM's test part, which is not at hand",
}
SEARCH = Search(
    "passes",
    3,
    "least mistakes, mean of three passes over all rows, of ijcnn1 over 20,000, in "
    "random order",
)
READINGS = (
    "Features are taken as they are and the kernel of width 8 is exp(-d²/128): of six "
    "scalings and four readings of the width this is the one with which the "
    "Perceptron, which has no parameter to choose, errs and grows as published on all "
    "four data sets. Features in [0, 1] and exp(-d²/8) would do for spambase and "
    "magic04, but not for german and ijcnn1, where it errs on 31 % and 7 %.",
    "lambda is 1/T², the middle of the paper's grid {2^-3, ..., 2^3}/T². The grid "
    "cannot matter: even 2^3/T² with the longest step shrinks a coefficient by 64/T in "
    "a whole pass, 1.4 % on spambase and 0.05 % on ijcnn1.",
    "eta in {2^-3, ..., 2^3} and gamma, our `max_coef`, in {2^0, ..., 2^4}, for every "
    "data set, algorithm and budget, as in the paper. It says by cross-validation, not "
    "of what: we take what the table shows, the mistakes of a pass.",
    "Projectron has a budget and no threshold: rows are stored until the budget is "
    "full, then projected. Projectron++ needs a threshold, which is not stated: 0.001, "
    "so that budgets fill, or nearly, as they must in the paper.",
    "Probabilities of BOGD++ are cut at 0 (the paper's formula can be negative).",
)


def _table(name: str, sentence: str, remarks: tuple[str, ...]) -> Table:
    return Table(
        paper="bogd",
        name=name,
        sentence=sentence,
        metric="mistake_rate_pct",
        digits=3,
        load=load,
        data=DATA,
        missing=MISSING,
        system=system,
        search=SEARCH,
        permutations=20,
        readings=READINGS,
        remarks=remarks,
    )


TITLE = "BOGD and BOGD++: bounded online gradient descent (ICML 2012)"
TABLES = (
    _table(
        "table2",
        "Mistakes and sizes of Perceptron and OGD, without a budget.",
        (
            "The Perceptron has nothing to choose: its mistakes and its sizes agree on "
            "all four data sets, so data, scaling and kernel are the paper's.",
        ),
    ),
    _table(
        "table3",
        "Mistakes of six systems with three budgets each.",
        (
            "RBP and Forgetron, which have nothing to choose either, agree or are "
            "about a point apart.",
            "ijcnn1: every published number is worse than the constant predictor, "
            "which errs on 9.574 %. The search notices: with the shortest step of the "
            "grid BOGD and BOGD++ always say the larger class, and nothing else in "
            "the grid is better. So their advantage cannot be judged on this data set "
            "with this kernel.",
            "ijcnn1, Projectron and Projectron++: ours lose nothing against the "
            "Perceptron (12.35 %) with 500 centres; the published ones do, and need "
            "2,000 for 13.2 %. Their spread on spambase, up to 5 points, points to "
            "failed orders, which an inverse that has lost its digits would explain; "
            "ours keeps a jitter on its diagonal.",
            "BOGD++ is not better than BOGD here. The paper has it ahead in all cells, "
            "by up to 3 points.",
        ),
    ),
)
