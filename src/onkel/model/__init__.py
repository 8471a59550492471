"""The model: an expansion over centres, what is kept of it, and how it may change."""
