"""What is raised for arrays and sequences of numbers that a field cannot hold.

rclpy raises AssertionError where its checks of fields are on, and TypeError or OverflowError where they are
off: programs that handle either keep working.
"""

from __future__ import annotations


class FieldTypeError(AssertionError, TypeError):
    """Not a flat sequence of numbers of that kind."""


class FieldRangeError(AssertionError, OverflowError):
    """A number the element type cannot hold."""
