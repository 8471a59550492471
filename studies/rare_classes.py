"""Rare classes, and what probabilities are worth.

    python -m studies.rare_classes

KernelClassifier and LightGBM, both with their defaults, where one of two classes is
rare; and how far the probabilities of KernelClassifier are from the truth on the sets
of the comparison. Results go to docs/rare_classes.md.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, f1_score, log_loss
from sklearn.model_selection import train_test_split

from onkel.data.catalogue import load
from onkel.measuring.markdown import markdown
from studies.comparison_cells import calibration_error
from studies.comparison_sets import case

# Rows, and the share of the rare class, which is thinned to it.
MADE, MADE_SHARE = 20_000, 0.01
THINNED = {"magic04": 0.02, "cod-rna": 0.01, "SUSY-30k": 0.02, "spambase": 0.03}
SOME_ROWS = 20_000
RARE = ("made", "covtype-4", *(f"{name}, thinned" for name in THINNED))
# Of the comparison: two classes. The test part of ijcnn1 is from elsewhere, so that it
# is split at random as well.
COMPARED = (
    *("german.numer_scale", "spambase", "magic04", "SUSY-30k", "a9a", "ijcnn1"),
    *("ijcnn1, split", "w8a", "cod-rna", "skin_nonskin"),
)
HELD_OUT = 0.3
BINS = 15
CERTAIN = 1e-4  # what isotonic regression says where it has seen one class only
DRAWS = 20


def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which the 1 % with the highest value of a function are the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(MADE, 8))
    value = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.3 * rng.normal(size=MADE)
    return X, value > np.quantile(value, 1.0 - MADE_SHARE)


def thinned(
    X: Any, y: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[Any, np.ndarray]:
    """Rows of which the rarer class has so small a share.

    Examples
    --------
    >>> y = np.arange(100) < 40
    >>> X, y = thinned(np.zeros((100, 1)), y, 0.25, np.random.default_rng(0))
    >>> len(X), y.sum()
    (80, np.int64(20))
    """
    y = y if y.mean() < 0.5 else ~y
    others = np.flatnonzero(~y)
    count = round(share / (1.0 - share) * len(others))
    kept = rng.choice(np.flatnonzero(y), count, replace=False)
    rows = np.sort(np.concatenate([others, kept]))
    return X[rows], y[rows]


def rare(name: str, seed: int) -> tuple[Any, ...]:
    """Rows and labels to learn and to test: X, X_test, y, y_test."""
    rng = np.random.default_rng(seed)
    if name == "made":
        X, y = made(seed)
    else:
        source = name.partition(",")[0].partition("-4")[0]
        X, labels = load(source, "train")
        X = X.toarray() if scipy.sparse.issparse(X) else X
        some = rng.permutation(len(labels))[:SOME_ROWS]
        X, labels = X[some], labels[some]
        if source in THINNED:
            y = labels == labels.max()
            X, y = thinned(X, y, THINNED[source], rng)
        else:
            y = labels == 4
    return tuple(
        train_test_split(X, y, test_size=HELD_OUT, random_state=seed, stratify=y)
    )


def gap(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean distance of probability and frequency, in bins of as many rows each."""
    parts = np.array_split(np.argsort(chances, kind="stable"), BINS)
    gaps = [abs((chances[part] - y[part]).sum()) for part in parts]
    return float(sum(gaps) / len(y))


def facts(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """What a model says of rows of which y is the rare class."""
    chances, predicted = model.predict_proba(X)[:, 1].astype(float), model.predict(X)
    learnt = np.arange(len(y)) % 2 == 0
    isotonic = IsotonicRegression(
        y_min=CERTAIN, y_max=1.0 - CERTAIN, out_of_bounds="clip"
    ).fit(chances[learnt], y[learnt])
    return {
        "share": float(y.mean()),
        "mean probability": float(chances.mean()),
        "least": float(chances.min()),
        "log-loss": float(log_loss(y, chances)),
        "log-loss, half": float(log_loss(y[~learnt], chances[~learnt])),
        "isotonic": float(
            log_loss(y[~learnt], isotonic.predict(chances[~learnt]), labels=[0, 1])
        ),
        "average precision": float(average_precision_score(y, chances)),
        "calibration error": gap(chances, y),
        "F1": float(f1_score(y, predicted)),
        "accuracy": float(np.mean(predicted == y)),
    }


def of_the_comparison(name: str) -> tuple[float, float, int]:
    """Calibration error, that of the truth itself by chance, and the rows."""
    from onkel import KernelClassifier

    seed = 0
    data = case(name.partition(",")[0], seed)
    if name.endswith("split"):
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=HELD_OUT, random_state=seed, stratify=data.y
        )
        data = data._replace(X=X, y=y, X_test=X_test, y_test=y_test)
    model = KernelClassifier(random_state=seed).fit(data.X, data.y)
    confidence = model.predict_proba(data.X_test).max(axis=1)
    is_right = model.predict(data.X_test) == data.y_test
    rng = np.random.default_rng(seed)
    by_chance = [
        calibration_error(confidence, rng.random(len(confidence)) < confidence)
        for _ in range(DRAWS)
    ]
    found = calibration_error(confidence, is_right)
    return found, float(np.mean(by_chance)), len(confidence)


def page(
    records: dict[tuple[str, str], list[dict[str, float]]],
    gaps: dict[str, tuple[float, float, int]],
    seeds: int,
) -> str:
    """Write the tables."""
    heads = list(next(iter(records.values()))[0])
    rows = [
        [*key, *(f"{np.mean([each[head] for each in of]):.4f}" for head in heads)]
        for key, of in records.items()
    ]
    lines = [
        "# Rare classes, and what probabilities are worth",
        "",
        "Models with their defaults. Regenerate: `python -m studies.rare_classes`.",
        "",
        f"One of two classes is rare; {HELD_OUT:.0%} of the rows are to test. "
        "covtype-4 is class 4 of 20,000",
        "rows. Isotonic: log-loss on every other test row (as in the column before it) "
        "after isotonic regression on",
        f"the others. Calibration error: {BINS} bins of equally many rows. Means over "
        f"{seeds} seeds.",
        "",
        *markdown(["data", "model", *heads], rows),
        "Sets of the comparison: calibration error as there, 15 bins of equal width "
        "over the probability of the",
        "predicted class. Perfect probabilities would have the error in the third "
        "column, by chance alone. The test",
        "part of ijcnn1 is from elsewhere, which no calibration can know; the rows to "
        "learn, split at random, show it.",
        "",
        *markdown(
            ["data", "calibration error", "by chance", "test rows"],
            [
                [name, f"{found:.4f}", f"{by_chance:.4f}", f"{rows:,}"]
                for name, (found, by_chance, rows) in gaps.items()
            ],
        ),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Fit all, and write the page."""
    from lightgbm import LGBMClassifier

    from onkel import KernelClassifier

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args(argv)
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for name in RARE:
        for seed in range(given.seeds):
            X, X_test, y, y_test = rare(name, seed)
            models = {
                "onkel": KernelClassifier(random_state=seed),
                "LightGBM": LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed),
            }
            for key, model in models.items():
                said = facts(model.fit(X, y), X_test, y_test)
                found.setdefault((name, key), []).append(said)
                print(name, seed, key, said, flush=True)
    gaps = {}
    for name in COMPARED:
        gaps[name] = of_the_comparison(name)
        print(name, *gaps[name], flush=True)
    (given.docs / "rare_classes.md").write_text(page(found, gaps, given.seeds))


if __name__ == "__main__":
    main()
