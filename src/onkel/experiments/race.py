"""The race: all classifiers predict, then learn, the same rows in the same order.

    python -m onkel.experiments.race --output results/demo

prints a table per stream and writes a picture, race.png, and the numbers, race.json.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from onkel.experiments import contestants, report
from onkel.experiments.contestants import REFERENCES, Outcome, Result
from onkel.experiments.streams import Stream, digits, turning_rings


def race(
    stream: Stream,
    models: dict[str, Any],
    seed: int = 0,
    announce: Callable[[str], None] = lambda name: None,
) -> Outcome:
    """Let models and references compete on one stream.

    Parameters
    ----------
    stream
        The rows.
    models
        Unfitted classifiers by name.
    seed
        Of the linear reference; models have their own.
    announce
        Called with stream and name of each contestant before it starts.

    Returns
    -------
    outcome
        Results from the fewest mistakes to the most.

    Examples
    --------
    >>> stream = turning_rings(rows=2000)
    >>> model = contestants.systems(stream)["BSGD"]
    >>> [result.name for result in race(stream, {"BSGD": model}).results]
    ['BSGD', 'linear SGD', 'constant']
    """
    starts: dict[str, Callable[[], Result]] = {
        contestants.CONSTANT: partial(contestants.constant, stream),
        contestants.LINEAR: partial(contestants.linear, stream, seed),
    }
    for name, model in models.items():
        starts[name] = partial(contestants.compete, name, model, stream)
    results = []
    for name, start in starts.items():
        announce(f"{stream.name}: {name}")
        results.append(start())
    return Outcome(stream, sorted(results, key=lambda result: result.mistake_rate))


def _at_least(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {number}")
        return number

    return whole_number


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m onkel.experiments.race",
        description="Race all classifiers on two streams: tables, a picture, numbers.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("results/race"),
        help="folder of race.png and race.json (default: %(default)s)",
    )
    parser.add_argument(
        "--rows",
        # fewer might not have both labels
        type=_at_least(100),
        default=50_000,
        help="rows of the drifting stream (default: %(default)s)",
    )
    parser.add_argument(
        "--budget",
        # as many as BOGD needs
        type=_at_least(2),
        help="most centres, on both streams (default: 100 and 500)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of streams and systems (default: %(default)s)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the race from the command line.

    Parameters
    ----------
    argv
        Arguments; None for those of the process.
    """
    options = _arguments(argv)
    streams = [digits(options.seed), turning_rings(options.rows, options.seed)]
    if options.budget is not None:
        streams = [stream._replace(budget=options.budget) for stream in streams]
    fields = [contestants.systems(stream, options.seed) for stream in streams]
    starters = sum(len(models) + len(REFERENCES) for models in fields)
    print("A first run compiles every system, some seconds each.")
    with report.progress(starters) as announce:
        outcomes = [
            race(stream, models, options.seed, announce)
            for stream, models in zip(streams, fields, strict=True)
        ]
    report.show(outcomes)
    print()
    for path in report.save(outcomes, options.output, options.seed):
        print(f"Written: {path}")


if __name__ == "__main__":
    main()
