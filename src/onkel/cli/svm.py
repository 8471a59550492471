"""onkel svm-train and svm-predict: what users of LIBSVM are used to.

The machine is BSCA, a support vector machine on a budget; the model file is ours.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict

import onkel
from onkel.cli import models
from onkel.cli.odds import Odds
from onkel.cli.predict import whole_text
from onkel.cli.screen import warn
from onkel.data import Dataset, dataset

KERNELS = {"0": "linear", "1": "poly", "2": "rbf"}
SWITCH = ("0", "1")
KINDS: dict[str, Any] = {"0": onkel.BSCAClassifier, "3": onkel.BSCARegressor}


def _opened(path: Path, regression: bool) -> Dataset:
    task = "regression" if regression else "classification"
    return dataset(path, task=task, scaling="none")


def _choice(flag: str, name: str, known: Iterable[str], default: str, help: str) -> Any:
    kind = click.Choice(list(known))
    return click.option(flag, name, type=kind, default=default, help=help)


@click.command(
    "svm-train",
    context_settings={"help_option_names": ["--help"], "show_default": False},
)
@click.argument("training_set", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("model_file", required=False, type=click.Path(path_type=Path))
@_choice("-s", "kind", KINDS, "0", "0 C-SVC, 3 epsilon-SVR.")
@_choice(
    "-t", "kernel", KERNELS, "2", "0 linear, 1 polynomial, 2 radial basis function."
)
@click.option("-d", "degree", type=int, default=3, help="Degree of the polynomial.")
@click.option("-g", "gamma", type=float, help="Gamma [1 / number of features].")
@click.option("-r", "coef0", type=float, default=0.0, help="coef0 of the polynomial.")
@click.option("-c", "cost", type=float, default=1.0, help="C.")
@click.option("-p", "epsilon", type=float, default=0.1, help="Epsilon of the tube.")
@click.option("-e", "tolerance", type=float, default=1e-3, help="Tolerance.")
@click.option("-v", "folds", type=click.IntRange(min=2), help="Cross-validation.")
@_choice(
    "-b", "proba", SWITCH, "0", "1: learn probabilities, too, for svm-predict -b 1."
)
@click.option(
    "-w",
    "weights",
    type=(str, click.FloatRange(min=0.0)),
    multiple=True,
    metavar="i WEIGHT",
    help="C of class i is WEIGHT times -c, as in -w1 5 -w-1 0.5.",
)
@click.option("-B", "budget", type=click.IntRange(min=1), default=500, help="Centres.")
@click.option("-h", "-m", "ignored", multiple=True, help="No meaning here.")
@click.option("-q", "quiet", is_flag=True, help="Print nothing.")
@click.option("--seed", type=int, default=0)
def svm_train(
    training_set: Path, model_file: Path | None, folds: int | None, **given: Any
) -> None:
    """Train a support vector machine on a budget from a file in LIBSVM's format.

    Options as in LIBSVM; -B is the budget. The rows are not scaled.
    """
    regression = given["kind"] == "3"
    for option, typed in (("-b 1", given["proba"] == "1"), ("-w", given["weights"])):
        if regression and typed:
            raise click.UsageError(f"{option} is for classification, -s 0")
    rows = _opened(training_set, regression)
    parameters: dict[str, Any] = {
        "C": given["cost"],
        "kernel": KERNELS[given["kernel"]],
        "gamma": given["gamma"] or 1.0 / rows.n_features,  # 0 as in LIBSVM
        "degree": given["degree"],
        "coef0": given["coef0"],
        "tol": given["tolerance"],
        "budget": given["budget"],
        "random_state": given["seed"],
    }
    if parameters["kernel"] != "rbf":
        parameters["maintenance"] = "projection_knn"  # merging is for rbf
    if regression:
        parameters["epsilon"] = given["epsilon"]
    else:
        parameters["class_weight"] = _weights(rows.classes, given["weights"])
    model = KINDS[given["kind"]](**parameters)
    X, y = rows.load()
    if folds is not None:
        splits = KFold(folds, shuffle=True, random_state=given["seed"])
        predicted = cross_val_predict(model, X, y, cv=splits)
        if regression:
            error = mean_squared_error(y, predicted)
            print(f"Cross Validation Mean squared error = {error:g}")
        else:
            share = accuracy_score(y, predicted)
            print(f"Cross Validation Accuracy = {100 * share:g}%")
        return
    odds = None
    if given["proba"] == "1":
        odds = Odds.learnt(clone(model), X, y, given["seed"])
    model.fit(X, y)
    path = model_file or Path(f"{training_set.name}.model")
    models.saved(model, path, rows.preparation, odds)
    if not given["quiet"]:
        print(f"nSV = {model.model_size_}")


def _short(value: Any) -> str:
    """Write a label, or a number with all its digits."""
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _weights(
    classes: np.ndarray | None, given: tuple[tuple[str, float], ...]
) -> dict[Any, float] | None:
    """Weights by label, which are numbers in this format."""
    known = {} if classes is None else {float(label): label for label in classes}
    found = {}
    for label, weight in given:
        try:
            found[known[float(label)].item()] = weight
        except (KeyError, ValueError):
            # As LIBSVM, which goes on.
            warn(f"class label {label} specified in weight is not found")
    return found or None


@click.command("svm-predict", context_settings={"show_default": False})
@click.argument("test_file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("model_file", type=click.Path(exists=True, path_type=Path))
@click.argument("output_file", type=click.Path(path_type=Path))
@_choice(
    "-b",
    "proba",
    SWITCH,
    "0",
    "1: probabilities, too, of a model that svm-train -b 1 made.",
)
@click.option("-q", "quiet", is_flag=True, help="Print nothing.")
def svm_predict(
    test_file: Path, model_file: Path, output_file: Path, proba: str, quiet: bool
) -> None:
    """Predict a file in LIBSVM's format, a line of OUTPUT_FILE for each row.

    With -b 1 the first line names the labels, and each row has their probabilities
    after the likeliest.
    """
    model, preparation, odds = models.opened(model_file)
    regression = not hasattr(model, "classes_")
    if proba == "1" and odds is None:
        raise ValueError(
            f"{model_file} has no probability estimates: train it with svm-train -b 1"
        )
    # Rows without a known label have 0 by custom, so that any label must do.
    rows = dataset(test_file, preparation=preparation, labelled=False)
    _, labels = _opened(test_file, regression=True).load()  # whatever they are
    said = []
    with whole_text(output_file) as file:
        if proba == "1":
            file.write(" ".join(["labels", *map(_short, model.classes_)]) + "\n")
        for X, _, _ in rows.batches():
            if proba == "0" or odds is None:
                said.append(model.predict(X))
                file.writelines(f"{_short(value)}\n" for value in said[-1])
                continue
            shares = odds.probabilities(model.decision_function(X))
            said.append(model.classes_[shares.argmax(axis=1)])
            for label, row in zip(said[-1], shares, strict=True):
                words = " ".join(f"{share:g}" for share in row)
                file.write(f"{_short(label)} {words}\n")
    if quiet:
        return
    predicted = np.concatenate(said)
    if regression:
        error = mean_squared_error(labels, predicted)
        print(f"Mean squared error = {error:g} (regression)")
        return
    right = int(np.sum(predicted == labels))
    share = f"{100 * right / len(labels):g}% ({right}/{len(labels)})"
    print(f"Accuracy = {share} (classification)")
