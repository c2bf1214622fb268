"""The public side of a sensor: its parameters, its readings, and its handle.

A handle refers to the sensor system by a protocol only, so that the computation does not depend on handles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from fleet_sim.core.faults import GuardedPart
from fleet_sim.entities.shape_params import pose_setting
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import ORIGIN
from fleet_sim.errors import StateError
from fleet_sim.geometry import Pose
from fleet_sim.settings import Checked, setting


@dataclass(frozen=True)
class SensorParams(Checked):
    """Settings of every sensor. Kinds derive from it and add their own; checked when constructed.

    Sensors whose parameters differ only in name, link and pose are computed together.
    """

    default_name: ClassVar[str] = ""

    name: str = setting("", doc="Name, unique on its robot; empty: the default of the kind, such as scan.")
    rate: float | None = setting(None, above=0, unit="Hz", doc="Readings per simulated second; null: at each step.")
    link: str | int = setting(-1, low=-1, doc="Link it is mounted on, by name or index; -1: the base.")
    pose: Pose = pose_setting(
        ORIGIN, doc="Pose of the sensor: in the frame of its link, or in the world frame without a robot."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            # The class is frozen; this is how a dataclass fills in a value at construction.
            object.__setattr__(self, "name", self.default_name)

    def common(self) -> SensorParams:
        """Return these parameters without those that differ per sensor: name, link and pose."""
        return replace(self, name="", link=-1, pose=ORIGIN)


@dataclass(frozen=True, eq=False)
class Reading:
    """One reading of a sensor; kinds add their values. Valid at `time`, in s, after `tick` steps. Never changes."""

    time: float
    tick: int


@dataclass(frozen=True, eq=False)
class Readings:
    """The readings of a group of sensors: `values` by name, each of length N; see `Sensor.latest` for one sensor.

    An array of values is read-only.
    """

    sensors: Sequence[Sensor]
    time: float
    tick: int
    values: Mapping[str, Any]
    reading_class: type[Reading]

    def __len__(self) -> int:
        return len(self.sensors)

    def __getitem__(self, index: int) -> Any:
        """Return the reading of sensor number `index`."""
        own = {name: values[index] for name, values in self.values.items()}
        return self.reading_class(self.time, self.tick, **own)


class SensorKeeper(Protocol):
    """The part of the sensor system that handles use. Raises StateError for a removed sensor."""

    def read(self, sensors: Sequence[Sensor]) -> list[Any]:
        """Read sensors now and return their readings in the same order."""

    def pose(self, sensor: Sensor) -> Pose:
        """Return the pose of the sensor's own frame in the world."""

    def new_part(self) -> GuardedPart:
        """Return what calls a new handler."""

    def consumer_came(self, sensor: Sensor) -> None:
        """Called when `sensor` gets its first consumer."""

    def consumer_went(self, sensor: Sensor) -> None:
        """Called when `sensor` loses its last consumer."""

    def remove(self, sensors: Sequence[Sensor]) -> None:
        """Remove sensors."""


class Sensor:
    """One sensor of a simulation, on an entity or fixed in the world.

    It is computed only while it has a consumer: between `subscribe` and `unsubscribe`, while a handler is registered
    with `on_reading`, or on `read`. Using a removed sensor raises StateError.
    """

    __slots__ = ("_consumers", "_handlers", "_keeper", "_latest", "_type", "index", "link", "owner", "params")

    def __init__(
        self, keeper: SensorKeeper, type_name: str, params: SensorParams, owner: SimObject | None, link: int
    ) -> None:
        """Use `sim.add_sensor`."""
        self.params: Any = params
        """Its parameters, of the class that belongs to its kind."""
        self.owner = owner
        """The entity that carries it, or None."""
        self.link = link
        """The index of the link it is mounted on; -1 for the base, and without an owner."""
        self.index = -1
        """Its index in its group; -1 once it is removed."""
        self._type = type_name
        self._keeper = keeper
        self._latest: tuple[Readings, int] | None = None
        self._consumers = 0
        self._handlers: tuple[tuple[Callable[[Sensor, Any], object], GuardedPart], ...] = ()

    @property
    def type(self) -> str:
        """The registered name of its kind."""
        return self._type

    @property
    def name(self) -> str:
        """Its name, unique on its owner (or among those without one)."""
        return self.params.name

    @property
    def is_alive(self) -> bool:
        """Whether it still exists."""
        return self.index >= 0

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def latest(self) -> Any:
        """The latest reading, of the reading class of its kind; None before the first."""
        if self._latest is None:
            return None
        # Groups keep arrays; an object is made only for a sensor that is asked.
        readings, index = self._latest
        return readings[index]

    def read(self) -> Any:
        """Read now, whatever the rate, and return the reading; see `sim.sensors.read` for many at once."""
        return self._keeper.read([self])[0]

    def get_pose(self) -> Pose:
        """Return the pose of the sensor's own frame in the world."""
        return self._keeper.pose(self)

    # ---- consumers ---------------------------------------------------------------------------------------------------

    @property
    def has_consumer(self) -> bool:
        """Whether it has a consumer and is read whenever it is due."""
        return self._consumers > 0

    def subscribe(self) -> None:
        """Read it whenever it is due, until `unsubscribe` is called."""
        self.check_alive()
        self._consumers += 1
        # The group needs to know about the first and the last consumer only.
        if self._consumers == 1:
            self._keeper.consumer_came(self)

    def unsubscribe(self) -> None:
        """Undo one `subscribe`."""
        if self._consumers:
            self._consumers -= 1
            # A removed sensor was already subtracted from its group.
            if not self._consumers and self.is_alive:
                self._keeper.consumer_went(self)

    def on_reading(self, handler: Callable[[Sensor, Any], object]) -> None:
        """Call `handler(sensor, reading)` in each step in which the sensor is read; this makes it a consumer."""
        # A new tuple instead of an append: a handler may add handlers while they are being called.
        self._handlers = (*self._handlers, (handler, self._keeper.new_part()))
        self.subscribe()

    def off_reading(self, handler: Callable[[Sensor, Any], object]) -> bool:
        """Stop calling `handler`; returns whether it was registered."""
        # By `==`, as bound methods are made anew at each access.
        place = next((place for place, (known, _) in enumerate(self._handlers) if known == handler), None)
        if place is None:
            return False
        self._handlers = self._handlers[:place] + self._handlers[place + 1 :]
        self.unsubscribe()
        return True

    @property
    def handlers(self) -> tuple[tuple[Callable[[Sensor, Any], object], GuardedPart], ...]:
        """The functions called with its readings, each with what calls it."""
        return self._handlers

    # ---- the end -----------------------------------------------------------------------------------------------------

    def remove(self) -> None:
        """Remove the sensor; its consumers get no more readings."""
        self._keeper.remove([self])

    @property
    def label(self) -> str:
        """Its name in messages: <owner>/<name>."""
        if self.owner is None:
            return self.name
        holder = self.owner.world.label(self.owner.row) if self.owner.is_alive else "(removed)"
        return f"{holder}/{self.name}"

    def __repr__(self) -> str:
        return f"<{self.type} sensor {self.label}{'' if self.is_alive else ', removed'}>"

    # ---- for its keeper ----------------------------------------------------------------------------------------------

    def check_alive(self) -> None:
        """Raise StateError if it was removed."""
        if not self.is_alive:
            raise StateError(f"sensor {self.name!r} was removed; this handle can no longer be used")

    def took(self, readings: Readings | None, index: int) -> None:
        """Store its last reading."""
        self._latest = None if readings is None else (readings, index)

    @property
    def last(self) -> tuple[Readings, int] | None:
        """The readings its latest one is part of, and its place in them."""
        return self._latest
