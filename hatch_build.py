"""Compiled code that comes with the wheel, if ONKEL_SHIP=1 asks for it.

Builds without it (the default, and always for a source distribution or an editable
install) have the sources only, and compile when they are used.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "ONKEL_SHIP"
LIST_LEVELS = "from onkel.compiled.levels import available; print(*available())"


class ShippedCode(BuildHookInterface):
    """Compile for every level that the processor has, into files of the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what it takes to compile: all that the package needs."""
        return list(self.metadata.core.dependencies) if self._is_wanted("") else []

    def _is_wanted(self, version: str) -> bool:
        asked = os.environ.get(VARIABLE, "") not in ("", "0")
        return asked and self.target_name == "wheel" and version != "editable"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill a folder before the wheel is packed."""
        if not self._is_wanted(version):
            return
        sources = {**os.environ, "PYTHONPATH": str(Path(self.root, "src"))}
        levels = subprocess.run(
            [sys.executable, "-c", LIST_LEVELS],
            env=sources, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        self._folder = tempfile.mkdtemp()
        flat = Path(self._folder, "shipped_code")
        flat.mkdir()
        for level in levels:
            cache = Path(self._folder, level)
            self.app.display_info(f"Compiling for {level}, which takes minutes")
            subprocess.run(
                [sys.executable, "-m", "onkel.precompile", str(cache)],
                env={**sources, "ONKEL_LEVEL": level}, check=True,
            )  # fmt: skip
            for entry in cache.rglob("*.nbc"):
                shutil.move(entry, flat / entry.name)
        build_data["force_include"][str(flat)] = "onkel/shipped_code"
        # The files are for this version of Python and this platform.
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, *arguments: Any) -> None:
        """Remove the folder once the wheel is packed."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)
