"""Steps of a formula as functions of C, for one row."""

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from onkel.export.c_source import Source, indented
from onkel.export.formula import (
    Arcsinh,
    Bent,
    Beside,
    Expansion,
    Filled,
    Itself,
    Laplacian,
    Mixed,
    Polynomial,
    Radial,
    Scaled,
    Steps,
    Waves,
    width,
)


def chained(steps: Steps, source: Source, inputs: int) -> str:
    """Add a function that takes all steps; returns its name."""
    names, rooms, lines = [], ["x"], []
    for step in steps:
        names.append(source.function(body(step, source, inputs)))
        inputs = step.width(inputs)
        rooms.append(f"room{len(names)}")
        lines.append(f"float {rooms[-1]}[{inputs}];")
    if not names:
        return source.function(copied(inputs), "chain")
    if len(names) == 1:
        return names[0]
    rooms[-1] = "out"
    calls = zip(names, rooms[:-1], rooms[1:], strict=True)
    return source.function(
        [*lines[:-1], "", *(f"{name}({x}, {out});" for name, x, out in calls)], "chain"
    )


def copied(inputs: int) -> list[str]:
    """Lines that copy a vector."""
    return _each(inputs, "out[i] = x[i];")


def _each(count: int, *lines: str, index: str = "i") -> list[str]:
    """Lines of a loop."""
    head = f"for (size_t {index} = 0; {index} < {count}; {index}++) {{"
    return [head, *indented(lines), "}"]


# ---- what a step does


@singledispatch
def body(step: Any, source: Source, inputs: int) -> list[str]:
    """Return the lines of a function of x that writes out."""
    raise ValueError(f"the step {type(step).__name__} cannot be exported to C")


@body.register
def _filled(step: Filled, source: Source, inputs: int) -> list[str]:
    values = source.array(step.values, "medians")
    return _each(inputs, f"out[i] = isnan(x[i]) ? {values}[i] : x[i];")


@body.register
def _scaled(step: Scaled, source: Source, inputs: int) -> list[str]:
    before, after = step.shifts
    value = "x[i]"
    if before.any():
        value = f"({value} - {source.array(before, 'means of features')}[i])"
    if (step.factor != 1.0).any():
        value = f"{value} * {source.array(step.factor, 'scales of features')}[i]"
    if after.any():
        value = f"{value} - {source.array(after, 'means of features')}[i]"
    return _each(inputs, f"out[i] = {value};")


@body.register
def _arcsinh(step: Arcsinh, source: Source, inputs: int) -> list[str]:
    return _each(inputs, "out[i] = asinhf(x[i]);")


@body.register
def _expansion(step: Expansion, source: Source, inputs: int) -> list[str]:
    outputs = len(step.coef)
    source.dtype = source.precision.of(step.rounding)
    coef = source.array(step.coef.T, "coefficients")
    lines, first = [f"{source.real} sums[{outputs}] = {{0}};", ""], 0
    for part in step.values:
        found = loop(part, source, inputs)
        added = [
            line
            for place, value in found.values
            for line in _each(
                outputs,
                f"sums[o] += {coef}[{first} + {place}][o] * {value};",
                index="o",
            )
        ]
        lines += _each(found.turns, *found.lines, *added, index="j")
        first += part.width(inputs)
    source.dtype = np.float32
    return [*lines, *_each(outputs, "out[o] = (float)sums[o];", index="o")]


@body.register
def _beside(step: Beside, source: Source, inputs: int) -> list[str]:
    lines, first = [], 0
    for chain in step.chains:
        lines.append(f"{chained(chain, source, inputs)}(x, out + {first});")
        first += width(chain, inputs)
    return lines


@body.register
def _mixed(step: Mixed, source: Source, inputs: int) -> list[str]:
    models, outputs = len(step.weights), step.width(inputs)
    weights = source.array(step.weights, "weights of the mixture")
    limit = source.number(step.limit, "limit")
    term = f"fminf(fmaxf(x[e * {outputs} + o], -{limit}), {limit})"
    terms = _each(models, f"out[o] += {weights}[e] * {term};", index="e")
    return _each(outputs, "out[o] = 0.0f;", *terms, index="o")


@body.register
def _bent(step: Bent, source: Source, inputs: int) -> list[str]:
    # How far a score reaches into each part, counted from the end that is nearer to 0.
    lines = ["out[i] = 0.0f;"]
    for (low, high), origin, slope in zip(
        step.parts, step.origins, step.slopes, strict=True
    ):
        reach = "x[i]"
        if math.isfinite(low):
            reach = f"fmaxf({reach}, {source.number(low, 'bends')})"
        if math.isfinite(high):
            reach = f"fminf({reach}, {source.number(high, 'bends')})"
        reach = f"({reach} - {source.number(origin, 'bends')})"
        lines.append(f"out[i] += {source.number(slope, 'slopes')} * {reach};")
    return _each(inputs, *lines)


@body.register
def _waves_alone(step: Waves, source: Source, inputs: int) -> list[str]:
    found = loop(step, source, inputs)
    written = [f"out[{place}] = {value};" for place, value in found.values]
    return _each(found.turns, *found.lines, *written, index="j")


# ---- values that are summed up, one after the other: there is no room for all


class Loop(NamedTuple):
    """What is done for j from 0 on, so many times."""

    turns: int
    lines: list[str]
    values: list[tuple[str, str]]  # the place of each value, and the value


@singledispatch
def loop(step: Any, source: Source, inputs: int) -> Loop:
    """Return how the values of a step are found."""
    raise ValueError(f"values {type(step).__name__} cannot be exported to C")


@loop.register
def _itself(step: Itself, source: Source, inputs: int) -> Loop:
    return Loop(inputs, [], [("j", "x[j]")])


@loop.register
def _radial(step: Radial, source: Source, inputs: int) -> Loop:
    points = source.array(step.points, "centres")
    apart = f"const {source.real} apart = x[i] - {points}[j][i];"
    return _falling(step.gamma, [apart, "sum += apart * apart;"], step, source, inputs)


@loop.register
def _laplacian(step: Laplacian, source: Source, inputs: int) -> Loop:
    points, size = source.array(step.points, "centres"), source.of_math("fabs")
    apart = f"sum += {size}(x[i] - {points}[j][i]);"
    return _falling(step.gamma, [apart], step, source, inputs)


def _falling(
    gamma: float, terms: list[str], step: Any, source: Source, inputs: int
) -> Loop:
    exp, factor = source.of_math("exp"), source.number(gamma, "gamma")
    value = f"const {source.real} value = {exp}(-{factor} * sum);"
    lines = [*_summed(terms, source, inputs), value]
    return Loop(len(step.points), lines, [("j", "value")])


def _summed(terms: list[str], source: Source, inputs: int) -> list[str]:
    """Lines that sum up over features."""
    return [
        f"{source.real} sum = {source.number(0.0, 'zero')};",
        *_each(inputs, *terms),
    ]


@loop.register
def _polynomial(step: Polynomial, source: Source, inputs: int) -> Loop:
    points = source.array(step.gamma * step.points, "centres")
    base = f"const {source.real} base = sum + {source.number(step.coef0, 'coef0')};"
    lines = [
        *_summed([f"sum += x[i] * {points}[j][i];"], source, inputs),
        base,
        f"{source.real} value = base;",
        f"for (int power = 1; power < {step.degree}; power++)",
        "    value *= base;",
    ]
    return Loop(len(step.points), lines, [("j", "value")])


@loop.register
def _waves(step: Waves, source: Source, inputs: int) -> Loop:
    half = len(step.frequencies)
    frequencies = source.array(step.frequencies, "frequencies")
    factor = source.number(1.0 / math.sqrt(half), "factor")
    both = [
        f"const {source.real} {name} = {factor} * {source.of_math(name_in_c)}(sum);"
        for name, name_in_c in (("even", "cos"), ("odd", "sin"))
    ]
    lines = [*_summed([f"sum += x[i] * {frequencies}[j][i];"], source, inputs), *both]
    return Loop(half, lines, [("j", "even"), (f"{half} + j", "odd")])
