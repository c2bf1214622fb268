"""The former place of `rclpy.event_handler`."""

from .event_handler import *  # noqa: F403
