"""What is packed into the archive that others build from."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_archive_has_all_that_lies_open_in_the_repository() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    pages = {path.name for path in ROOT.glob("*.md")}
    assert {"CHANGELOG.md", "CONTRIBUTING.md", "README.md"} <= pages
    assert pages | {"LICENSE", "Makefile", "src", "tests", "docs"} <= set(packed)
