"""The baselines of the papers that learn a training part and predict a test part.

AVM's table 3 and DualSVRG's table 1 print the same numbers of them.
"""

from onkel.reproduce.protocol import EXACT, NO_SETUP, EstimatorSetup
from onkel.tune.grids import ALPHAS, CS, ETAS, GAMMAS

# Centres of BSGD and NOGD, by our data sets. LLSVM's landmarks are not stated: as many.
BUDGETS = {
    "a9a": 1000,
    "w8a": 1000,
    "cod-rna": 400,
    "ijcnn1": 1000,
    "covtype": 400,
    "covtype-2": 400,
    "poker": 1000,
    "kddcup99": 200,
    "nycflights": 1000,
}
MANY_CLASSES = ("covtype", "poker", "kddcup99")
MAINTENANCE = {"BSGD-M": "merge", "BSGD-R": "removal"}
# Every second C of the grid: a fit takes seconds.
FEW_CS = CS[::2]
# Rows for the search, fewer of the slow systems; None for all that the papers take.
SEARCH_ROWS = {
    "BSGD-R": None,
    "NOGD": 10_000,
    "BSGD-M": 5000,
    "LLSVM": 2500,
    "LIBSVM": 2500,
}


def batch_baseline(algorithm: str, name: str) -> EstimatorSetup | str:
    """Return a baseline that learns in batches, on one of our data sets, or why not."""
    if algorithm not in SEARCH_ROWS:
        return NO_SETUP
    rows = SEARCH_ROWS[algorithm]
    if algorithm in MAINTENANCE:
        fixed = {"budget": BUDGETS[name], "maintenance": MAINTENANCE[algorithm]}
        grid = {"gamma": GAMMAS, "alpha": ALPHAS}
        return EstimatorSetup("BSGDClassifier", fixed, grid, {"alpha": "1/n"}, rows)
    if algorithm == "NOGD":
        steps = {"gamma": GAMMAS, "eta0": ETAS}
        centres = {"budget": BUDGETS[name]}
        return EstimatorSetup("NOGDClassifier", centres, steps, search_rows=rows)
    if name in MANY_CLASSES:
        return "a machine for each class, and 77 pairs of parameters: hours"
    if algorithm == "LLSVM":
        budget = {"budget": BUDGETS[name]}
        grid = {"gamma": GAMMAS, "C": FEW_CS}
        return EstimatorSetup("LLSVMClassifier", budget, grid, search_rows=rows)
    room = {"cache_size": 1000}  # MB
    return EstimatorSetup(EXACT, room, {"gamma": GAMMAS, "C": CS}, search_rows=rows)
