"""What pytest calls for launch tests: the plugin that pocket_ros registers, under the public name."""

from ...pytest_plugin import (
    LaunchTestFailure,
    LaunchTestItem,
    LaunchTestModule,
    pytest_addoption,
    pytest_configure,
    pytest_pycollect_makemodule,
)

__all__ = [
    "LaunchTestFailure",
    "LaunchTestItem",
    "LaunchTestModule",
    "pytest_addoption",
    "pytest_configure",
    "pytest_pycollect_makemodule",
]


def __getattr__(name: str) -> object:
    if name.startswith(("Launch", "pytest_", "find_")):
        raise NotImplementedError(
            f"launch_testing.pytest.hooks.{name} is not covered by pocket_ros, whose plugin has no hooks "
            "of its own; a full ROS 2 has it"
        )
    raise AttributeError(f"module 'launch_testing.pytest.hooks' has no attribute '{name}'")
