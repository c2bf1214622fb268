"""Launch tests as items of pytest."""

from . import hooks

__all__ = ["hooks"]
