"""The runner for launches of nodes, which is that of all launches."""

from ..launch_testing.test_runner import LaunchTestRunner

__all__ = ["LaunchTestRunner"]
