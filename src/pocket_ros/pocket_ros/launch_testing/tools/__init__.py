"""Expectations on output.

PYTEST_DONT_REWRITE
"""

from typing import Any

from .output import basic_output_filter, expect_output, expected_output_from_file
from .text import build_text_match

__all__ = [
    "ProcessProxy",
    "basic_output_filter",
    "build_text_match",
    "expect_output",
    "expected_output_from_file",
    "launch_process",
]


def launch_process(*args: Any, **kwargs: Any) -> Any:
    """Not covered. Raises NotImplementedError."""
    raise NotImplementedError(
        "launch_testing.tools.launch_process is not covered by pocket_ros; a full ROS 2 has it"
    )


class ProcessProxy:
    """Not covered: goes with launch_process. Raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        launch_process()
