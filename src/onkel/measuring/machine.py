"""The machine on which something is measured, and the versions of what it runs."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Any

from onkel._version import __version__

PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "river")


def machine() -> dict[str, Any]:
    """Where this runs, and with what."""
    processor = platform.processor() or platform.machine()
    try:
        found = re.search("model name\t: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    except OSError:
        pass  # not Linux
    versions = {"onkel": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "platform": platform.platform(),
        "processor": processor,
        "cores": os.cpu_count(),
        "versions": versions,
    }


def versions_in(described: dict[str, Any]) -> str:
    """Say what a machine ran, as `machine` describes it, in a line."""
    return ", ".join(f"{name} {no}" for name, no in described["versions"].items())
