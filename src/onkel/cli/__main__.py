"""`python -m onkel.cli` is `onkel`."""

from onkel.cli import main

main()
