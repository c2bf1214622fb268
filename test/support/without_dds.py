"""Tests where there is no DDS, which pocket_ros has up to Python 3.13: what asks for it is skipped with that reason."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType

import pytest

TESTS = str(Path(__file__).parents[1])
# Not find_spec for rclpy: pocket_ros answers for it, also where it cannot talk.
MISSING = find_spec("cyclonedds") is None and PathFinder.find_spec("rclpy") is None
REASON = "cyclonedds is not installed, over which pocket_ros talks"


class SkippingRosFinder(MetaPathFinder):
    """Skips modules of tests that import rclpy, or what imports it; imports in functions fail as ever."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None, or skip."""
        if MISSING and fullname == "rclpy":
            frame: FrameType | None = inspect.currentframe()
            while frame is not None:
                code = frame.f_code
                if code.co_name == "<module>" and code.co_filename.startswith(TESTS):
                    pytest.skip(REASON, allow_module_level=True)
                frame = frame.f_back
        return None


def skip_what_needs_dds() -> Generator[None, object, object]:
    """Wrap a test: that there is no DDS for what it asks is no failure."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if MISSING and error.name in ("cyclonedds", "rclpy"):
            pytest.skip(REASON)
        raise


def skip_program_that_needs_dds(output: str) -> None:
    """Skip if a program of a test ended since there is no DDS, as its `output` says."""
    if MISSING and "the package cyclonedds" in output:
        pytest.skip(REASON)
