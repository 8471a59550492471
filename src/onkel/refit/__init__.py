"""Re-fit: the best coefficients for given centres, a convex problem."""
