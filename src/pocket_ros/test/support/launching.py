"""Launching descriptions in the process of the test."""

from typing import Any

from launch import LaunchDescription, LaunchService
from launch.actions import SetLaunchConfiguration


def run(*entities: Any, **arguments: str) -> int:
    """Launch entities with values of arguments; the exit code."""
    service = LaunchService()
    settings = [SetLaunchConfiguration(name, value) for name, value in arguments.items()]
    service.include_launch_description(LaunchDescription([*settings, *entities]))
    return service.run()
