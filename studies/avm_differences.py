"""Why AVM's errors differ from the published ones: the measurements behind docs/avm.md.

    python -m studies.avm_differences

prints, for one random order each, what smaller cells, no limit on the cores, neighbours
on the grid, a missing ball and a longer stream do. gamma and alpha are those that
`onkel reproduce avm` chose.
"""

from typing import Any

import numpy as np

import onkel
from onkel.reproduce.avm import estimator_for
from onkel.reproduce.choosing import pass_of
from onkel.reproduce.online_data import OnlineData, task

# Rows of the paper's cod-rna, of which ours is a part.
LONG = 331_152


def shuffled(work: OnlineData) -> np.ndarray:
    """Return the rows in random order."""
    return np.random.default_rng(0).permutation(len(work.y))


def by_fifths(work: OnlineData, model: Any, order: np.ndarray) -> list[float]:
    """Percentage of mistakes on each fifth of a pass, of two classes."""
    X, y = work.X[order], work.y[order]
    wrong = (onkel.progressive(model, X, y, classes=np.unique(y)) > 0) != (y > 0)
    return [float(100 * part.mean()) for part in np.array_split(wrong, 5)]


def longer_stream() -> None:
    """cod-rna as long as the paper's, by drawing rows again and again."""
    work = task("cod-rna")
    again = np.random.default_rng(0).integers(len(work.y), size=LONG)
    for loss, gamma, alpha in (("hinge", 2.0**-2, 4.0), ("log_loss", 2.0**-4, 0.25)):
        given = {"coverage_radius": 0.5, "gamma": gamma, "alpha": alpha}
        fifths = by_fifths(work, estimator_for(work, loss, **given), shuffled(work))
        error, _ = pass_of(work, estimator_for(work, loss, **given), again)
        print(
            f"cod-rna, {loss}: first fifth {fifths[0]:.1f} %, last {fifths[-1]:.1f} %; "
            f"{LONG:,} rows, with repetitions: {100 * error:.2f} %"
        )


def without_limit() -> None:
    """Let ijcnn1 have as many cores as it wants."""
    work = task("ijcnn1")
    for limit in (500, None):
        model = estimator_for(work, "hinge", coverage_radius=0.5, gamma=1.0, alpha=1.0)
        error, _ = pass_of(work, model.set_params(max_core=limit), shuffled(work))
        print(f"ijcnn1, {model.model_size_:,} cores: {100 * error:.2f} %")


def smaller_cells() -> None:
    """Give w8a cells in which rows are alike."""
    work = task("w8a")
    for radius in (6.5, 4.3, 2.5):
        model = estimator_for(
            work, "hinge", coverage_radius=radius, gamma=2**-4, alpha=0.25
        )
        error, _ = pass_of(work, model.set_params(max_core=None), shuffled(work))
        size = model.model_size_
        print(f"w8a, radius {radius}, {size:,} cores: {100 * error:.2f} %")


def neighbours_on_the_grid() -> None:
    """Change gamma and alpha of covtype by one step of the grid."""
    work = task("covtype")
    for gamma in (1.0, 4.0):
        for alpha in (2.0**10, 2.0**12, 2.0**14):
            model = estimator_for(
                work, "hinge", coverage_radius=1.5, gamma=gamma, alpha=alpha
            )
            error, _ = pass_of(work, model, shuffled(work))
            print(f"covtype, gamma {gamma:g}, alpha {alpha:g}/n: {100 * error:.2f} %")


def without_ball() -> None:
    """Leave out casp's projection on the ball."""
    work = task("casp", regression=True)
    given = {"coverage_radius": 2.0, "gamma": 2.0**-4, "alpha": 2.0**10}
    for ball in (True, False):
        model = estimator_for(work, "squared_error", **given).set_params(ball=ball)
        error, _ = pass_of(work, model, shuffled(work))
        print(f"casp, squared_error, ball={ball}: {error:.4g}")


def main() -> None:
    """Print all of them."""
    longer_stream()
    without_limit()
    smaller_cells()
    neighbours_on_the_grid()
    without_ball()


if __name__ == "__main__":
    main()
