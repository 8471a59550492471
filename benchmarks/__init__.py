"""Benchmarks: `make bench` runs them all and prints tables.

Timings on shared machines are noisy, so two things are always compared in one run, in
turn, and the ratio is what counts.
"""
