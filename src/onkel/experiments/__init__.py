"""Experiments: what can be run, seen and reproduced, on top of the library."""
