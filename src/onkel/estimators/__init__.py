"""The systems: one file each, named after the papers."""
