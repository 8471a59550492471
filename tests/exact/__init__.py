"""Slow, obvious references: each system straight from its equations, row by row."""
