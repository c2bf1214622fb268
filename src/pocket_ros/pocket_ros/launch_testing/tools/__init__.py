"""Expectations on output.

PYTEST_DONT_REWRITE
"""

from ..text_match import build_text_match
from .output import basic_output_filter, expect_output, expected_output_from_file
from .process import ProcessProxy, launch_process

__all__ = [
    "ProcessProxy",
    "basic_output_filter",
    "build_text_match",
    "expect_output",
    "expected_output_from_file",
    "launch_process",
]
