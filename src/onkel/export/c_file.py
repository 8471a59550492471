"""C files: a formula as one file of C99, for machines with little of everything."""

import os
import re
from pathlib import Path
from typing import Any

from onkel._version import __version__
from onkel.export.c_answers import Functions, functions_of
from onkel.export.c_source import Source
from onkel.export.c_text import literal
from onkel.export.formula import Formula
from onkel.export.models import formula_of
from onkel.storage.whole_file import whole

# What names of files of their own may begin with; an underscore is the compiler's.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

# Why a file has numbers that are large, and slow on small machines.
DOUBLE = (
    "Sums over centres are in double precision, because their terms nearly cancel, or",
    'because that was wanted. With precision="single" all is smaller and quicker, and',
    "has fewer digits.",
)


def to_c(
    model: Any,
    path: str | os.PathLike[str],
    name: str = "model",
    precision: str = "auto",
) -> None:
    """Write a fitted estimator as one file of C99 that needs only math.h and stddef.h.

    All names in it begin with `name`. Of a classifier it has `int NAME_predict(const
    float *x)`, the number of a class in `NAME_classes`, `void NAME_scores(const float
    *x, float *out)`, and `NAME_probabilities` where the model has them; of a regressor
    `float NAME_predict(const float *x)`; of a feature map `NAME_features`. Nothing is
    allocated, or kept between calls; a comment at the top says how it is used. The file
    appears at once, complete, or not at all; one that was there is replaced.

    Parameters
    ----------
    model
        One of this library's estimators, fitted. It does not change.
    path
        Of the file.
    name
        What names begin with: a letter, then letters, digits and underscores.
    precision
        In which kernel values are kept, computed and summed up: "single"; "double",
        twice as large and on small machines far slower; or "auto", double where
        coefficients nearly cancel, so that single would take more of the scores than
        the fifth digit.

    Raises
    ------
    ValueError
        If the model is not fitted, or has numbers too large, or the name is none in C.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_moons
    >>> from onkel import RBPClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = RBPClassifier(budget=20, gamma=2.0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "moons.c"
    ...     to_c(model, path, name="moons")
    ...     "int moons_predict(const float *x)" in path.read_text()
    True
    """
    content = as_c(formula_of(model), Path(path).name, name, precision)
    with whole(Path(path)) as file:
        file.write(content)


def as_c(formula: Formula, file: str, name: str, precision: str = "auto") -> bytes:
    """Return the contents of a file of C that is called so."""
    if NAME.fullmatch(name) is None:
        raise ValueError(
            f"{name!r} is no name in C: it must begin with a letter, and go on with "
            "letters, digits and underscores"
        )
    source = Source(name, precision)
    functions = functions_of(formula, source)
    about = _about(formula, functions, source, literal(file))
    includes = ["#include <math.h>", "#include <stddef.h>", ""]
    lines = [*about, "", *includes, *_sizes(formula, name), "", source.text]
    return "\n".join(lines).encode("ascii")


def _about(
    formula: Formula, functions: Functions, source: Source, file: str
) -> list[str]:
    """Lines of the comment at the top."""
    lines = [
        f"{formula.estimator}, exported by onkel {__version__}.",
        "",
        "Declare, and call:",
        "",
        *(f"    {line}" for line in functions.declarations),
        "",
        *functions.said,
        f"x has {formula.inputs} {formula.rows}.",
    ]
    if formula.names is not None:
        lines += [
            "",
            *(f"    x[{i}] {literal(n)}" for i, n in enumerate(formula.names)),
        ]
    if source.has_double:
        lines += ["", *DOUBLE]
    lines += [
        "",
        f"Constants take {source.size:,} bytes. Compile, and link with -lm:",
        "",
        f"    cc -std=c99 -O2 -c {file}",
    ]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]


def _sizes(formula: Formula, name: str) -> list[str]:
    """Return lines that say how long vectors are."""
    sizes = {"INPUTS": formula.inputs, "OUTPUTS": formula.outputs}
    if formula.classes is not None:
        sizes["CLASSES"] = len(formula.classes)
    listed = ", ".join(f"{name}_{what} = {size}" for what, size in sizes.items())
    return [f"enum {{ {listed} }};"]
