"""What all measurements need: their records, the machine, its memory, their tables."""
