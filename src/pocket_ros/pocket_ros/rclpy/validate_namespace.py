"""The public place of `validate_namespace`."""

from .names import validate_namespace

__all__ = ["validate_namespace"]
