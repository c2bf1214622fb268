"""Actions of launches that are fixtures."""

from ...launch_testing.actions.ready import ReadyToTest

__all__ = ["ReadyToTest"]
