"""What pytest calls for launch tests: the plugin that pocket_ros registers, under the public name."""

from ...module_places import not_covered
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

__getattr__ = not_covered("launch_testing.pytest.hooks")
