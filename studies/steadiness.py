"""How much the seed matters: KernelClassifier on one fixed split, with many seeds.

    python -m studies.steadiness

The seed decides which rows are held out, the sample of the search and the rows of the
preconditioner. Results go to docs/steadiness.md.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onkel.measuring.markdown import markdown
from studies.comparison_sets import case

SETS = ("ijcnn1", "cod-rna")


def errors(name: str, seeds: int) -> np.ndarray:
    """Test error in % for every seed, on the split of seed 0."""
    from onkel import KernelClassifier

    data = case(name, 0)
    found = []
    for seed in range(seeds):
        model = KernelClassifier(random_state=seed).fit(data.X, data.y)
        found.append(100.0 * np.mean(model.predict(data.X_test) != data.y_test))
        print(f"{name}, seed {seed}: {found[-1]:.3f} %", flush=True)
    return np.array(found)


def page(found: dict[str, np.ndarray]) -> str:
    """Write the table."""
    lines = [
        "# How much the seed matters",
        "",
        "Test error in % of KernelClassifier with its defaults, on one fixed split.",
        "Regenerate: `python -m studies.steadiness`.",
        "",
    ]
    heads = ["data", "seeds", "mean", "standard deviation", "least", "most"]
    rows = [
        [name, str(len(of))]
        + [f"{x:.3f}" for x in (of.mean(), of.std(ddof=1), of.min(), of.max())]
        for name, of in found.items()
    ]
    return "\n".join([*lines, *markdown(heads, rows)])


def main(argv: Sequence[str] | None = None) -> None:
    """Fit with all seeds, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args(argv)
    found = {name: errors(name, given.seeds) for name in SETS}
    (given.docs / "steadiness.md").write_text(page(found))


if __name__ == "__main__":
    main()
