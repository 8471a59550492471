"""What the answer of a formula means, as functions of C that others call."""

from typing import NamedTuple

from onkel.export.c_source import Source, indented
from onkel.export.c_steps import chained
from onkel.export.c_text import literal
from onkel.export.formula import Formula


class Functions(NamedTuple):
    """What a file of C is called by."""

    declarations: list[str]
    said: list[str]  # lines about them


def functions_of(formula: Formula, source: Source) -> Functions:
    """Add all that others call; returns what it is."""
    answer = chained(formula.steps, source, formula.inputs)
    if formula.answer == "prediction":
        return _prediction(source, answer)
    head = _passed_on(source, formula.answer, answer)
    if formula.classes is None:
        return Functions([head], [f"out gets {formula.outputs} features."])
    declarations = [_label(formula, source), head, _classes(formula, source)]
    said = [
        f"{source.name}_predict gives the number of a class in {source.name}_classes."
    ]
    if formula.outputs == 1:
        said.append("The score is positive for the second class.")
    else:
        said.append(f"Of {formula.outputs} scores the largest is that of the class.")
    if formula.odds is not None:
        declarations.append(_probabilities(formula, source))
        said.append(f"There are {len(formula.classes)} probabilities.")
    return Functions(declarations, said)


def _defined(source: Source, head: str, lines: list[str]) -> str:
    source.add([head, "{", *indented(lines), "}"])
    return f"{head};"


def _passed_on(source: Source, name: str, function: str) -> str:
    head = f"void {source.name}_{name}(const float *x, float *out)"
    return _defined(source, head, [f"{function}(x, out);"])


def _prediction(source: Source, answer: str) -> Functions:
    head = f"float {source.name}_predict(const float *x)"
    lines = ["float out[1];", "", f"{answer}(x, out);", "return out[0];"]
    return Functions([_defined(source, head, lines)], [])


def _label(formula: Formula, source: Source) -> str:
    lines = [f"float scores[{formula.outputs}];"]
    called = f"{source.name}_scores(x, scores);"
    if formula.outputs == 1:
        lines += ["", called, "return scores[0] > 0.0f;"]
    else:
        lines += [
            *("int best = 0;", "", called),
            f"for (int i = 1; i < {formula.outputs}; i++)",
            *("    if (scores[i] > scores[best])", "        best = i;", "return best;"),
        ]
    return _defined(source, f"int {source.name}_predict(const float *x)", lines)


def _classes(formula: Formula, source: Source) -> str:
    assert formula.classes is not None
    labels = [str(label) for label in formula.classes.tolist()]
    head = f"const char *const {source.name}_classes[{len(labels)}]"
    source.add([f"{head} = {{", *(f'    "{literal(text)}",' for text in labels), "};"])
    return f"extern {head};"


def _probabilities(formula: Formula, source: Source) -> str:
    assert formula.odds is not None
    odds = chained(formula.odds, source, formula.outputs)
    count = formula.outputs
    lines = [
        f"float scores[{count}], odds[{count}];",
        "",
        f"{source.name}_scores(x, scores);",
        f"{odds}(scores, odds);",
    ]
    if count == 1:
        lines += [
            "out[0] = 1.0f / (1.0f + expf(odds[0]));",
            "out[1] = 1.0f / (1.0f + expf(-odds[0]));",
        ]
    else:
        each = f"for (int i = 0; i < {count}; i++)"
        lines += [
            *("float largest = odds[0], sum = 0.0f;", "", each),
            *("    largest = fmaxf(largest, odds[i]);", each),
            *("    sum += out[i] = expf(odds[i] - largest);", each),
            "    out[i] /= sum;",
        ]
    head = f"void {source.name}_probabilities(const float *x, float *out)"
    return _defined(source, head, lines)
