"""Tables and figures of the papers, run again beside the published numbers."""

from onkel.reproduce.command import reproduce, targets

__all__ = ["reproduce", "targets"]
