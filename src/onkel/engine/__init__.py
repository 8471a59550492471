"""The two-phase engine: matrix products by blocks, then one row after another."""
