"""PyBullet as a reference of tests: where it is not installed, what asks for it is skipped, naming it."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from fleet_sim import FleetSimError, MissingDependencyError

TESTS = str(Path(__file__).parents[1])
MODULES = [name for name in ("pybullet", "pybullet_data", "mcap", "rosbags") if find_spec(name) is None]
"""Those that are not installed."""


class SkippingFinder(MetaPathFinder):
    """Skips tests and modules of tests that import what is not installed; imports of fleet_sim's own fail as ever."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None, or skip."""
        if fullname in MODULES:
            here = inspect.currentframe()
            frame = here.f_back if here is not None else None
            while frame is not None and "importlib._bootstrap" in frame.f_code.co_filename:
                frame = frame.f_back
            if frame is not None and frame.f_code.co_filename.startswith(TESTS):
                pytest.skip(f"{fullname} is not installed", allow_module_level=True)
        return None


def skip_what_needs_pybullet() -> Generator[None, object, object]:
    """Wrap a test: that PyBullet is missing for what it asks is no failure."""
    try:
        return (yield)
    except FleetSimError as error:
        missing = isinstance(error, MissingDependencyError) and "pybullet" in str(error).lower()
        # What MuJoCo refuses in its place names the engine that has it.
        if MODULES and (missing or "engine: bullet" in str(error)):
            pytest.skip("pybullet is not installed")
        raise


def skip_program_that_needs_pybullet(output: str) -> None:
    """Skip if a program of a test ended since PyBullet is missing, as its `output` says."""
    if MODULES and ("fleet_sim[bullet]" in output or "engine: bullet" in output):
        pytest.skip("pybullet is not installed")
