"""Tables and figures of the papers, run again beside the published numbers."""

from onkel.experiments.reproduce.command import reproduce, targets

__all__ = ["reproduce", "targets"]
