"""What exported models answer: in onnxruntime, and compiled by cc."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from onkel.export.c_file import as_c
from onkel.export.formula import Formula
from onkel.export.onnx_file import as_onnx

COMPILER = shutil.which("cc")
# All that a compiler can complain of ends it.
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
NAME = "model"


def by_the_model(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    """Answers of the model itself, to rows in single precision."""
    known = X.astype(model._dtype)
    if hasattr(model, "transform"):
        return {"features": model.transform(known)}
    if not hasattr(model, "classes_"):
        return {"prediction": model.predict(known)}
    found = {"label": model.predict(known), "scores": model.decision_function(known)}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(known)
    return found


def by_onnx(
    formula: Formula, X: np.ndarray, precision: str = "auto"
) -> dict[str, np.ndarray]:
    """Answers of the ONNX file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        as_onnx(formula, precision), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def by_c(
    formula: Formula, X: np.ndarray, folder: Path, precision: str = "auto"
) -> dict[str, np.ndarray]:
    """Answers of the file of C, which is compiled and run in a folder."""
    assert COMPILER is not None
    (folder / "model.c").write_bytes(as_c(formula, "model.c", NAME, precision))
    (folder / "main.c").write_text(program(formula))
    command = [COMPILER, *STRICT, "-o", "program", "main.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run(
        [folder / "program"], input=X.tobytes(), check=True, capture_output=True
    )
    answers = np.frombuffer(said.stdout, np.float32).reshape(len(X), -1)
    if formula.classes is None:
        found = {formula.answer: answers}
    else:
        label, scores, rest = np.split(answers, [1, 1 + formula.outputs], axis=1)
        found = {"label": formula.classes[label[:, 0].astype(int)], "scores": scores}
        if formula.odds is not None:
            found["probabilities"] = rest
    alone = ("prediction", "scores") if formula.outputs == 1 else ()
    return {name: a[:, 0] if name in alone else a for name, a in found.items()}


def program(formula: Formula) -> str:
    """Write a program that reads rows, and writes all that the model says of each."""
    calls = {
        "label": f"{{ const float out[1] = {{(float){NAME}_predict(x)}};",
        "prediction": f"{{ const float out[1] = {{{NAME}_predict(x)}};",
        "scores": f"{{ float out[{NAME}_OUTPUTS]; {NAME}_scores(x, out);",
        "features": f"{{ float out[{NAME}_OUTPUTS]; {NAME}_features(x, out);",
        "probabilities": f"{{ float out[{NAME}_CLASSES]; {NAME}_probabilities(x, out);",
    }
    lines = [
        *("#include <stdio.h>", '#include "model.c"', "", "int main(void)", "{"),
        f"    float x[{NAME}_INPUTS];",
        "    while (fread(x, sizeof x, 1, stdin) == 1) {",
        *(
            f"        {calls[name]} fwrite(out, sizeof out, 1, stdout); }}"
            for name in formula.answers
        ),
        *("    }", "    return 0;", "}", ""),
    ]
    return "\n".join(lines)


def apart(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """Largest difference of numbers that are no probabilities, over the largest."""
    (name,) = wanted.keys() & {"scores", "prediction", "features"}
    largest = float(np.abs(wanted[name]).max())
    return float(np.abs(found[name] - wanted[name]).max()) / (largest or 1.0)


def chances_apart(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """Largest difference of probabilities; 0 of who has none."""
    if "probabilities" not in wanted:
        return 0.0
    return float(np.abs(found["probabilities"] - wanted["probabilities"]).max())


def other_labels(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> int:
    """Rows with another label."""
    if "label" not in wanted:
        return 0
    return int((found["label"] != wanted["label"]).sum())
