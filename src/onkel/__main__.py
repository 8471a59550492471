"""`python -m onkel` is `onkel`."""

from onkel.cli import main

main()
