"""onkel cache: compiled code, what is there of it, and how to have it beforehand."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

import onkel.estimators.kernel  # noqa: F401, all that is compiled
from onkel.cli.screen import as_json, bar, note, show, show_json
from onkel.compiled import compile_cache
from onkel.compiled.levels import level


@click.group()
def cache() -> None:
    """List compiled code, compile ahead, or remove it.

    A system is compiled when it is first used, for ten seconds or so, and kept. Code
    for the defaults may have come with the package; then there is nothing to wait for.
    """


def _described(folder: Path, is_shipped: bool) -> dict[str, Any]:
    files = compile_cache.entries(folder)
    functions = Counter(path.name.split("-")[0] for path in files)
    return {
        "folder": str(folder),
        "came with the package": is_shipped,
        "entries": len(files),
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2),
        "of older versions": sum(compile_cache.is_stale(path) for path in files),
        "functions": dict(functions),
    }


@cache.command("list")
@as_json
def list_all(as_json: bool) -> None:
    """List where compiled code is, and how much."""
    shipped = compile_cache.shipped()
    found = [_described(folder, True) for folder in shipped if folder.is_dir()]
    found += [_described(folder, False) for folder in compile_cache.kept()]
    if as_json:
        show_json({"level": level() or "native", "folders": found})
        return
    note(f"Code is compiled for {level() or 'this very processor'}.")
    if not found:
        note("Nothing is compiled yet. Compile ahead: onkel cache fill")
    for folder in found:
        show({k: v for k, v in folder.items() if k != "functions"}, folder["folder"])


@cache.command()
@click.option("--jobs", type=click.IntRange(1), help="Processes [all cores].")
def fill(jobs: int | None) -> None:
    """Compile all estimators ahead, for both precisions, dense and sparse rows."""
    from onkel import precompile

    total = len(precompile.meetings()) + len(precompile.variants())
    with bar("compiling", total) as move_to:
        for done, _ in enumerate(precompile.fill(jobs)):
            move_to(done + 1)
    note(f"{total} first meetings of user and estimator will be quick.")


@cache.command()
def clear() -> None:
    """Remove what was compiled here; what came with the package stays."""
    folders = compile_cache.kept()
    files = [path for folder in folders for path in compile_cache.entries(folder)]
    for path in files:
        path.unlink(missing_ok=True)
    note(f"{len(files)} entries removed.")
