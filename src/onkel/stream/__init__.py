"""Streams: learning while predicting."""
