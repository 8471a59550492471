"""Tuning: parameters of a system, found on a part of the data."""
