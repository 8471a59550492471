"""A bar on the screen, for studies that take long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; it advances when the function it yields is called with a text."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)
        started = 0

        def announce(text: str) -> None:
            nonlocal started
            bar.update(task, completed=started, description=text)
            started += 1

        yield announce
        bar.update(task, completed=total, description="done")
