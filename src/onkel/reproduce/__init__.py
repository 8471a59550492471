"""Tables and figures of the papers, run again beside the published numbers."""

from onkel.reproduce.command import check_stored, reproduce, targets

__all__ = ["check_stored", "reproduce", "targets"]
