"""The public place of `validate_node_name`."""

from .names import validate_node_name

__all__ = ["validate_node_name"]
