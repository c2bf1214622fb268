"""The systems above a world, as its attributes: how handles, which know a world and a row only, reach them."""

from __future__ import annotations

from typing import Generic, TypeVar

from fleet_sim.core.ports import (
    ActionBook,
    BlockingBook,
    BodyBook,
    ControllerBook,
    FeatureBook,
    LawBook,
    LinkBook,
    Parts,
    SensorBook,
)
from fleet_sim.errors import StateError

Part = TypeVar("Part")
_NO_PARTS = Parts()


class _Connected(Generic[Part]):
    """A part as an attribute of a world: the one it was connected to under that name."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __set_name__(self, owner: type[ConnectedParts], name: str) -> None:
        self._name = name

    def __get__(self, world: ConnectedParts, owner: type[ConnectedParts]) -> Part:
        part: Part | None = getattr(world.parts, self._name)
        if part is None:
            raise StateError(f"this world has no {self._what}; use MultiRobotSimulationCore")
        return part


class ConnectedParts:
    """A world with parts. One of its own has none: asking for a part by its name then raises StateError."""

    actions = _Connected[ActionBook]("action system")
    """The action queues."""
    bodies = _Connected[BodyBook]("PyBullet view")
    """The PyBullet bodies."""
    blocking = _Connected[BlockingBook]("blocking")
    """What stops robots before obstacles."""
    links = _Connected[LinkBook]("kinematics")
    """The links of robots."""
    sensors = _Connected[SensorBook]("sensor system")
    """The sensors."""
    laws = _Connected[LawBook]("motion laws")
    """The motion laws."""
    controllers = _Connected[ControllerBook]("registry of controllers")
    """The registry of controllers."""
    features = _Connected[FeatureBook]("features")
    """The features in use."""

    parts: Parts = _NO_PARTS
    """What `connect` was given; ask for one by its own name instead, which raises where it is missing."""

    def connect(self, parts: Parts) -> None:
        """Connect the systems above the world, for use by handles; once, by the builder. Raises StateError."""
        if self.parts is not _NO_PARTS:
            raise StateError("this world is already connected to its parts; a part cannot be replaced")
        self.parts = parts
