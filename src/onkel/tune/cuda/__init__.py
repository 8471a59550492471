"""Many models learn the same rows at once on a GPU, a block of threads each.

`grid.py` is what Python calls; all else is compiled for the GPU by numba-cuda. What
losses, tasks, rates, steps and formulas of the budgets say is compiled from the same
functions as for the processor.
"""
