"""How code is compiled, linked, kept and found; and what compiled code lacks."""
