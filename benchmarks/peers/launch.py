"""A program of somebody else: run within limits, and what it used."""

import json
import math
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# A process that was once large, such as this one, counts as the memory of the program
# that it becomes. So a small one starts the program, and says what that used; the
# limits are its own: of processor time, and of waiting for something that never comes.
STARTER = """
import json, os, resource, signal, sys
said, limit, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
child = os.fork()
if child == 0:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        signal.alarm(10 * limit + 60)
        os.execv(command[0], command)
    except OSError as error:
        print(error, file=sys.stderr)
    os._exit(127)
_, status, used = os.wait4(child, 0)
with open(said, "w") as file:
    code = os.waitstatus_to_exitcode(status)
    json.dump([code, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss], file)
"""


class StoppedError(Exception):
    """A program did not come to its end; the text says why."""


class Run(NamedTuple):
    """What a program said and used."""

    output: str
    cpu: float  # seconds
    memory: int  # bytes, at most


def launch(command: Sequence[str], folder: Path, limit: float) -> Run:
    """Run a program in a folder, for so many seconds of processor time at most."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as usage:
        begin = [sys.executable, "-S", "-E", "-c", STARTER]
        done = subprocess.run(
            [*begin, usage.name, str(math.ceil(limit)), *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        told = usage.read()
    name = Path(command[0]).name
    if not told:
        raise StoppedError(f"{name} could not be started")
    code, cpu, memory = json.loads(told)
    if code in (-signal.SIGXCPU, -signal.SIGKILL) and cpu >= limit - 1.0:
        raise StoppedError(limit_told(limit))
    if code != 0:
        raise StoppedError(f"{name} {_end_told(code)}{_last_line(done.stdout)}")
    return Run(done.stdout, cpu, memory)


def limit_told(limit: float) -> str:
    """Say that somebody was stopped at the limit."""
    return f"stopped after {limit:g} s of processor time"


def _end_told(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with {code}"


def _last_line(output: str) -> str:
    lines = output.split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:120]}" if said else ""
