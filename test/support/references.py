"""What tests need and not every machine has: where it is not installed, what asks for it is skipped, naming it."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from fleet_sim import FleetSimError, MissingDependencyError

TESTS = str(Path(__file__).parents[1])
OPTIONAL = """
pybullet pybullet_data mujoco mcap rosbags gymnasium pettingzoo stable_baselines3 PIL matplotlib imageio_ffmpeg moviepy
pyarrow cma scipy moderngl rich argcomplete viser websockets amqtt paho ray zstandard xacro robot_descriptions
ezdxf pinocchio coal mcap_ros2 cyclonedds pocket_ros packaging
control_msgs geographic_msgs nav2_msgs simulation_interfaces
rmf_building_map_msgs rmf_charger_msgs rmf_dispenser_msgs rmf_door_msgs rmf_fleet_msgs rmf_ingestor_msgs rmf_lift_msgs
"""
"""Modules of the extras, and message packages that are not part of every ROS 2: a plain ROS 2 has none of them."""
MODULES = [name for name in OPTIONAL.split() if find_spec(name) is None]
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


class TestModule(pytest.Module):
    """A module of tests, which is skipped where what it imports needs what is not installed."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return super().collect()
        except self.CollectError as error:
            cause: BaseException | None = error
            while cause is not None:
                skip_if_missing(cause)
                cause = cause.__cause__
            raise


def skip_if_missing(error: BaseException) -> None:
    """Skip if `error` says that one of `MODULES` is not installed."""
    if isinstance(error, MissingDependencyError):
        named = [name for name in MODULES if f"'{name}'" in str(error)]
    else:
        named = [str(getattr(error, "name", "")).partition(".")[0]] if isinstance(error, ImportError) else []
    for name in named:
        if name in MODULES:
            pytest.skip(f"{name} is not installed", allow_module_level=True)


def skip_what_needs_what_is_missing() -> Generator[None, object, object]:
    """Wrap a test: that something optional is missing for what it asks is no failure."""
    try:
        return (yield)
    except ImportError as error:
        skip_if_missing(error)
        raise
    except FleetSimError as error:
        skip_if_missing(error)
        missing = isinstance(error, MissingDependencyError) and "pybullet" in str(error).lower()
        # What MuJoCo refuses in its place names the engine that has it.
        if "pybullet" in MODULES and (missing or "engine: bullet" in str(error)):
            pytest.skip("pybullet is not installed")
        raise


def skip_program_that_needs_pybullet(output: str) -> None:
    """Skip if a program of a test ended since PyBullet is missing, as its `output` says."""
    if "pybullet" in MODULES and ("fleet_sim[bullet]" in output or "engine: bullet" in output):
        pytest.skip("pybullet is not installed")
