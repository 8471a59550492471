"""Feature maps: vectors whose dot products are, or come close to, kernel values.

A model with explicit features has a coefficient for each of them, in its first slots,
and a feature's value at a row stands where a kernel value with a centre would:

    f(x) = scale * (sum_i coef[:, i] z_i(x) + sum_j coef[:, j] k(c_j, x))

So scores, shrinking, averages and new labels work as they do without.
"""
