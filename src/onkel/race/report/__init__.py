"""What is told of a race: on the screen, on a page, in pictures and as numbers."""

try:
    from onkel.race.report.files import save
    from onkel.race.report.numbers import numbers
    from onkel.race.report.screen import line, shares, show
except ImportError as error:
    raise ImportError(
        "the race draws with matplotlib and rich, which are not installed with onkel "
        f'itself ({error.name} is missing): pip install "onkel[cli]"'
    ) from error

__all__ = ["line", "numbers", "save", "shares", "show"]
