"""Tables of the benchmarks: texts to the left, numbers to the right."""

from collections.abc import Collection, Sequence

from rich.table import Table


def table(
    title: str, columns: Sequence[str], texts: Collection[str] | None = None
) -> Table:
    """Return an empty table; `texts` are columns of texts, None for the first one."""
    drawn = Table(title=title)
    for column in columns:
        is_text = column in (columns[:1] if texts is None else texts)
        drawn.add_column(column, justify="left" if is_text else "right")
    return drawn
