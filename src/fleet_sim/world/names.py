"""Names of topics and frames in ROS, and how commands name entities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fleet_sim.base.arrays import Rows
from fleet_sim.world.world import World

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


# How entities are named: by object id, by body id, or by name with the row looked up.


class ObjectId(int):
    """An entity's id in its simulation: an int in all respects, distinguished only where body ids are accepted too."""


class BodyId(int):
    """The id of a PyBullet body: an int in all respects; `object_id` is that of its entity."""

    object_id: int

    def __new__(cls, number: int, object_id: int = -1) -> BodyId:
        """Create the id `number` of the body of the entity `object_id`."""
        made = super().__new__(cls, number)
        made.object_id = object_id
        return made


class NamedRows(tuple[str, ...]):
    """Names, for the `names` of a command, with the rows already looked up, which is faster for a large fleet.

    In all other respects it is the plain tuple of names: it compares equal to it, and is pickled and copied as one. The
    rows are used only until an entity is spawned, removed or renamed in that world; after that the names are looked up.
    """

    _world: World
    _version: int
    _rows: Rows

    def __new__(cls, world: World, names: Iterable[str], rows: Rows, version: int | None = None) -> NamedRows:
        """`rows` (N,) are those of the entities called `names` in `world`, when it had `version`; None: now."""
        made = super().__new__(cls, names)
        made._world, made._rows = world, rows
        made._version = world.version if version is None else version
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def rows_in(self, world: World) -> Rows | None:
        """Return the rows if they are still valid in `world`, else None."""
        # Any spawn may reuse a row, so a single version number is compared for all of them.
        return self._rows if self._world is world and self._version == world.version else None
