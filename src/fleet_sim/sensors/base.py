"""What a sensor is: its parameters, its kind, and the handle users hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.random import Keys
from fleet_sim.core.world import World
from fleet_sim.entities.shape_params import pose_setting
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import ORIGIN
from fleet_sim.errors import StateError
from fleet_sim.geometry import Pose
from fleet_sim.settings import Checked, setting

if TYPE_CHECKING:
    from fleet_sim.sensors.group import SensorGroup
    from fleet_sim.sensors.system import SensorSystem

State = dict[str, AnyArray]


@dataclass(frozen=True)
class SensorParams(Checked):
    """What every sensor has. Kinds derive from it and add their own; checked when constructed.

    Sensors whose parameters differ in nothing but name, link and pose are computed together.
    """

    default_name: ClassVar[str] = ""

    name: str = setting("", doc="Unique on its robot; empty: the kind's usual one, such as scan.")
    rate: float | None = setting(None, above=0, unit="Hz", doc="Readings per simulated second; null: at each step.")
    link: str | int = setting(-1, low=-1, doc="Link it sits on, by name or index; -1: the base.")
    pose: Pose = pose_setting(ORIGIN, doc="Where it sits: in its link's frame, or in the world if nothing carries it.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            object.__setattr__(self, "name", self.default_name)

    def common(self) -> SensorParams:
        """Return these parameters without what is each sensor's own."""
        return replace(self, name="", link=-1, pose=ORIGIN)


@dataclass(frozen=True, eq=False)
class Reading:
    """What one sensor read: kinds add their values. It holds at `time`, in s, after `tick` steps. Never changes."""

    time: float
    tick: int


@dataclass(frozen=True, eq=False)
class Batch:
    """Sensors of one kind with common parameters, to be read at once; arrays are aligned with `sensors`, (N, ...).

    `rows` are the entities that carry them (-1: none), `positions` and `orientations` the world poses of the sensors'
    own frames, `keys` their noise. `state` holds what the kind remembers of each; what is written to it stays.
    """

    params: Any
    sensors: Sequence[Sensor]
    rows: Rows
    links: Ints
    positions: Floats
    orientations: Floats
    keys: Keys
    time: float
    tick: int
    state: State

    def __len__(self) -> int:
        return len(self.sensors)


@dataclass(frozen=True, eq=False)
class Readings:
    """What sensors of one group read at once: `values` by name, each of length N; see `Sensor.latest` for one of them.

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


@dataclass(frozen=True, eq=False)
class SensorContext:
    """What kinds of sensors may look at.

    `contacts()` returns the pairs (M, 2) of rows that collided at the last check; `mirror` is PyBullet's view of the
    world; `gravity` is that of the world frame, in m/s2; `camera_budget` is how many pictures a step may take.
    """

    world: World
    mirror: BulletMirror
    contacts: Callable[[], Ints]
    gravity: tuple[float, float, float]
    camera_budget: int | None = None


class SensorKind(ABC):
    """Reads all sensors of one kind in a simulation; made at the first of them.

    `params_class` is what its sensors are made from, `reading_class` what they read. `spread` deals sensors of equal
    rate over the steps of a period, for kinds whose readings are expensive one by one.
    """

    params_class: ClassVar[type[SensorParams]] = SensorParams
    reading_class: ClassVar[type[Reading]] = Reading
    spread: ClassVar[bool] = False
    budget: int | None = None
    """How many of its sensors are read in one step; those that are due wait for their turn. None: all that are due."""

    def __init__(self, context: SensorContext) -> None:
        self.context = context
        self.world = context.world

    def state(self, params: Any) -> State:
        """Return what is remembered of each sensor: by name, an array (0, ...) of the right shape and type."""
        return {}

    def begin(self, batch: Batch) -> None:  # noqa: B027 - kinds without state have nothing to set
        """Set the state of sensors that were just mounted or reset; all of it is zero then."""

    def resume(self, batch: Batch) -> None:  # noqa: B027
        """Hear that sensors have a consumer from now on."""

    @abstractmethod
    def sense(self, batch: Batch) -> Mapping[str, Any]:
        """Return the values of a reading class by field, each an array or a sequence of length N."""


class Sensor:
    """One sensor of a simulation, on an entity or fixed in the world.

    It is read only while it has a consumer: between `subscribe` and `unsubscribe`, while a handler is registered with
    `on_reading`, or when `read` asks. Using a removed sensor raises StateError.
    """

    __slots__ = ("_consumers", "_group", "_handlers", "_latest", "_system", "_type", "index", "link", "owner", "params")

    def __init__(
        self, system: SensorSystem, type_name: str, params: SensorParams, owner: SimObject | None, link: int
    ) -> None:
        """Use `sim.add_sensor`."""
        self.params: Any = params
        """Its parameters, of the class that belongs to its kind."""
        self.owner = owner
        """The entity that carries it, or None."""
        self.link = link
        """The index of the link it sits on; -1 for the base, and without an owner."""
        self.index = -1
        """Its place in its group."""
        self._type = type_name
        self._system = system
        self._group: SensorGroup | None = None
        self._latest: tuple[Readings, int] | None = None
        self._consumers = 0
        self._handlers: tuple[Callable[[Sensor, Any], object], ...] = ()

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
        return self._group is not None

    @property
    def group(self) -> SensorGroup:
        """The sensors it is computed with; raises StateError once it is removed."""
        if self._group is None:
            raise StateError(f"sensor {self.name!r} was removed; this handle can no longer be used")
        return self._group

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def latest(self) -> Any:
        """The newest reading, of the reading class of its kind; None before the first."""
        if self._latest is None:
            return None
        readings, index = self._latest
        return readings[index]

    def read(self) -> Any:
        """Read now, whatever the rate, and return the reading; see `sim.sensors.read` for many at once."""
        return self._system.read([self])[0]

    def get_pose(self) -> Pose:
        """Return the pose of the sensor's own frame in the world."""
        positions, orientations = self.group.poses([self.index])
        return Pose(positions[0].tolist(), orientations[0].tolist())

    # ---- consumers ---------------------------------------------------------------------------------------------------

    @property
    def has_consumer(self) -> bool:
        """Whether it is read whenever it is due."""
        return self._consumers > 0

    def subscribe(self) -> None:
        """Have it read whenever it is due; call `unsubscribe` when nobody looks any more."""
        group = self.group
        self._consumers += 1
        if self._consumers == 1:
            group.consumer_came(self)
            self._system.consumers_changed()

    def unsubscribe(self) -> None:
        """Take one `subscribe` back."""
        if self._consumers:
            self._consumers -= 1
            if not self._consumers and self._group is not None:
                self._group.consumer_went(self)
                self._system.consumers_changed()

    def on_reading(self, handler: Callable[[Sensor, Any], object]) -> None:
        """Call `handler(sensor, reading)` in each step in which the sensor is read; this makes it a consumer."""
        self._handlers = (*self._handlers, handler)
        self.subscribe()

    def off_reading(self, handler: Callable[[Sensor, Any], object]) -> bool:
        """Stop calling `handler`; returns whether it was registered."""
        kept = list(self._handlers)
        if handler not in kept:
            return False
        kept.remove(handler)
        self._handlers = tuple(kept)
        self.unsubscribe()
        return True

    @property
    def handlers(self) -> tuple[Callable[[Sensor, Any], object], ...]:
        """What is called with its readings."""
        return self._handlers

    # ---- the end -----------------------------------------------------------------------------------------------------

    def remove(self) -> None:
        """Take the sensor away; its consumers get nothing any more."""
        self._system.remove([self])

    @property
    def label(self) -> str:
        """How messages name it: <owner>/<name>."""
        if self.owner is None:
            return self.name
        holder = self.owner.world.label(self.owner.row) if self.owner.is_alive else "(removed)"
        return f"{holder}/{self.name}"

    def __repr__(self) -> str:
        return f"<{self.type} sensor {self.label}{'' if self.is_alive else ', removed'}>"

    # ---- for the system ----------------------------------------------------------------------------------------------

    def place(self, group: SensorGroup | None, index: int) -> None:
        """Note where the sensor is kept; None: nowhere any more."""
        self._group, self.index = group, index

    def took(self, readings: Readings | None, index: int) -> None:
        """Note what was read last."""
        self._latest = None if readings is None else (readings, index)

    @property
    def last(self) -> tuple[Readings, int] | None:
        """The readings its latest one is part of, and its place in them."""
        return self._latest
