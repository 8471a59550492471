"""Methods of the comparison: which there are, and what each is given."""

from typing import NamedTuple

BUDGET = 500
# For the picture of time; 100 trees are LightGBM's default, and 500 centres ours.
TREES = (30, 300, 1000, 3000)
BUDGETS = (125, 250, 1000, 2000)
# To see how far a GPU reaches in some minutes.
MANY = 8000


class Method(NamedTuple):
    """What learns, and what it is given."""

    family: str
    label: str
    size: int | str = 0  # centres, features or trees; 0 for those that have none
    device: str = "cpu"


def _ours(device: str, size: int | str) -> Method:
    label = "onkel, auto" if size == "auto" else "onkel"
    label += f" {size:,}" if isinstance(size, int) and size != BUDGET else ""
    label += " on a GPU" if device == "cuda" else ""
    return Method("onkel", label, size, device)


# Ours first: what it took is the limit of what is tuned.
METHODS = {
    "onkel": _ours("cpu", BUDGET),
    "onkel-auto": _ours("cpu", "auto"),
    **{f"onkel-{size}": _ours("cpu", size) for size in BUDGETS},
    "onkel-cuda": _ours("cuda", BUDGET),
    "onkel-auto-cuda": _ours("cuda", "auto"),
    **{f"onkel-cuda-{size}": _ours("cuda", size) for size in (*BUDGETS, 4000, MANY)},
    "svc-grid": Method("svc-grid", "SVC, searched"),
    "svc": Method("svc", "SVC"),
    "nystroem": Method("nystroem", "Nystroem", BUDGET),
    "falkon": Method("falkon", "falkon", BUDGET),
    "lightgbm": Method("lightgbm", "LightGBM", 100),
    **{f"lightgbm-{n}": Method("lightgbm", f"LightGBM {n:,}", n) for n in TREES},
    "lightgbm-tuned": Method("lightgbm-tuned", "LightGBM, tuned"),
}
# The columns of the tables; the others are for the GPU and the picture of time.
TABLE = (
    *("svc-grid", "svc", "nystroem", "falkon", "lightgbm", "lightgbm-tuned"),
    *("onkel", "onkel-auto"),
)
OURS = ("onkel", "onkel-auto")
MACHINES = ("svc-grid", "svc")
# Without randomness: on a fixed test part, one run counts for all seeds.
DETERMINISTIC = (
    "svc",
    *(name for name in METHODS if METHODS[name].family == "lightgbm"),
)
