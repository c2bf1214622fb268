"""Descriptions of what actions run."""

from .executable import Executable

__all__ = ["Executable"]
