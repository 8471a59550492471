"""The race: every system and its rivals predict, then learn, the same rows."""
