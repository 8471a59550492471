"""Memory of a process, in bytes: what is resident now, and its peak."""

import re
import resource
from pathlib import Path


def resident() -> int | None:
    """What this process has in memory now; None if that is not known (not Linux)."""
    return _status("VmRSS")


def peak(children: bool = False) -> int:
    """Most memory this process has had, or the largest of its ended children and it."""
    kinds = [resource.RUSAGE_SELF, *([resource.RUSAGE_CHILDREN] if children else [])]
    return 1024 * max(resource.getrusage(kind).ru_maxrss for kind in kinds)


class Growth:
    """How far the peak of this process rises above what is resident at the start.

    Examples
    --------
    >>> growth = Growth()
    >>> growth.bytes is None or growth.bytes >= 0
    True
    """

    def __init__(self) -> None:
        self._before: int | None = None
        try:
            # The kernel begins to look for a new peak.
            Path("/proc/self/clear_refs").write_text("5")
            self._before = resident()
        except OSError:
            pass  # not Linux, or not allowed

    @property
    def bytes(self) -> int | None:
        """Up to now; None if it is not known."""
        after = _status("VmHWM")
        if self._before is None or after is None:
            return None
        return max(after - self._before, 0)


def _status(field: str) -> int | None:
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    return None if found is None else 1024 * int(found[1])
