"""Names of topics and frames. Those of a robot begin with its name: /<robot>/cmd_vel, <robot>/base_link."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_ros_name(robot: str) -> bool:
    """Return whether a robot's name can be part of a topic: letters, digits and _, not beginning with a digit."""
    return _TOKEN.fullmatch(robot) is not None


class Frames:
    """Names of TF frames, prefixed with the node's namespace so that frames of two simulations differ."""

    def __init__(self, map_frame: str, namespace: str = "/") -> None:
        self.map = map_frame
        self._prefix = namespace.strip("/") + "/" if namespace.strip("/") else ""

    def odom(self, robot: str) -> str:
        """Origin of a robot's odometry; equal to the map frame, because the true odometry does not drift."""
        return f"{self._prefix}{robot}/odom"

    def base(self, robot: str) -> str:
        """The base of a robot."""
        return f"{self._prefix}{robot}/base_link"

    def link(self, robot: str, link: str) -> str:
        """A link of a robot, by its name in the description."""
        return f"{self._prefix}{robot}/{link}"

    def parts(self, frame: str) -> tuple[str, str]:
        """Return (robot, link) of a frame that may be one of a robot's."""
        robot, _, part = frame.removeprefix("/").removeprefix(self._prefix).rpartition("/")
        return robot, part

    def split(self, frame: str) -> tuple[str, str] | None:
        """Return (robot, "odom" or "base_link") of a robot's frame, else None."""
        robot, part = self.parts(frame)
        return (robot, part) if robot and part in ("odom", "base_link") else None
