"""What a run of a reference gives back."""

from dataclasses import dataclass, field

import numpy as np

from tests.exact.averaging import Averager
from tests.exact.expansion import Expansion
from tests.exact.losses import predicted_class


@dataclass
class Result:
    """Scores on the way, the last model and the counts."""

    scores: np.ndarray  # shape (n, outputs), before each row's update
    centers: np.ndarray  # shape (size, d)
    coef: np.ndarray  # shape (outputs, size), true coefficients
    sizes: np.ndarray  # shape (n,), after each row
    n_updates: int
    n_maintenance: int
    n_mistakes: int | None  # the system's own notion; None in regression
    n_errors: int | None  # wrong predictions (second class iff f > 0); idem
    diagnostics: dict[str, np.ndarray] = field(default_factory=dict)
    # The mean of the iterates, where one was asked for (averaging.py).
    mean_centers: np.ndarray | None = None  # shape (mean_size, d)
    mean_coef: np.ndarray | None = None  # shape (outputs, mean_size)


@dataclass
class Trace:
    """The record that a run keeps, row by row."""

    n_classes: int | None
    scores: list[np.ndarray] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    n_updates: int = 0
    n_maintenance: int = 0
    n_errors: int = 0
    # The perceptrons count by the margin (y f <= 0) instead of by the prediction: at
    # f = 0 the first class is predicted, rightly or not, and yet they update.
    n_margin_mistakes: int | None = None
    averager: Averager | None = None

    def see(self, f: np.ndarray, y: float) -> None:
        """Record the scores of a row, and the iterate, before the row is learned."""
        self.scores.append(f)
        if self.n_classes is not None:
            self.n_errors += predicted_class(f, self.n_classes) != int(y)
        if self.averager is not None:
            self.averager.see()

    def result(self, model: Expansion, **diagnostics: list[float]) -> Result:
        """Close the record with the last model."""
        n_errors = None if self.n_classes is None else self.n_errors
        n_mistakes = n_errors
        if self.n_classes is not None and self.n_margin_mistakes is not None:
            n_mistakes = self.n_margin_mistakes
        mean_centers, mean_coef = None, None
        if self.averager is not None:
            mean_centers, mean_coef = self.averager.mean()
        return Result(
            scores=np.array(self.scores).reshape(-1, model.outputs),
            centers=np.array(model.centers).reshape(-1, model.n_features),
            coef=np.array(model.coef).reshape(-1, model.outputs).T,
            sizes=np.array(self.sizes, dtype=int),
            n_updates=self.n_updates,
            n_maintenance=self.n_maintenance,
            n_mistakes=n_mistakes,
            n_errors=n_errors,
            diagnostics={name: np.array(seq) for name, seq in diagnostics.items()},
            mean_centers=mean_centers,
            mean_coef=mean_coef,
        )
