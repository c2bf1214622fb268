"""The base class of kinds of sensors, and the data they may use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.core.physics_engine import JointSensing
from fleet_sim.core.random import Keys
from fleet_sim.core.world import World
from fleet_sim.errors import missing_extra
from fleet_sim.sensors.sensor import Reading, Sensor, SensorParams

State = dict[str, AnyArray]


def check_pybullet(what: str) -> None:
    """Raise MissingDependencyError, saying `what` needs PyBullet, where it is not installed."""
    if find_spec("pybullet") is None:
        raise missing_extra("pybullet", "bullet", what)


@dataclass(frozen=True, eq=False)
class Batch:
    """Sensors of one kind with common parameters, read together; arrays are aligned with `sensors`, (N, ...).

    `rows` are the entities that carry them (-1: none), `positions` and `orientations` the world poses of the sensors'
    own frames, `keys` their noise. `state` holds the kind's state per sensor and may be written.
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
class SensorContext:
    """The data that kinds of sensors may use.

    `contacts()` returns the pairs (M, 2) of rows that collided at the last check; `mirror` is PyBullet's view of the
    world; `camera_budget` is the largest number of pictures per step; `reactions` measures what acts in joints. With
    `floor` rays meet the plane z = 0.
    """

    world: World
    mirror: BulletMirror
    contacts: Callable[[], Ints]
    reactions: JointSensing
    camera_budget: int | None = None
    floor: bool = True


class SensorKind(ABC):
    """Reads all sensors of one kind in a simulation; created with the first of them.

    `params_class` is what its sensors are made from, `reading_class` what they read. `spread` deals sensors of equal
    rate over the steps of a period, for kinds whose readings are expensive one by one.
    """

    params_class: ClassVar[type[SensorParams]] = SensorParams
    reading_class: ClassVar[type[Reading]] = Reading
    spread: ClassVar[bool] = False
    remembered: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """The numbers kept per sensor from reading to reading: by name, the shape of those of one sensor."""
    budget: int | None = None
    """Largest number of its sensors read in one step; the others wait for their turn. None: unlimited."""

    def __init__(self, context: SensorContext) -> None:
        self.context = context
        self.world = context.world

    @classmethod  # noqa: B027 - most kinds can be mounted anywhere
    def check_mount(cls, world: World, row: int, link: int) -> None:
        """Raise an error that says why no such sensor can be on `link` of the entity in `row` (-1: in the world)."""

    @classmethod  # noqa: B027 - most kinds need nothing more than what is installed
    def check_params(cls, params: Any) -> None:
        """Raise an error that says why there can be no such sensor here, as MissingDependencyError."""

    def state(self, params: Any) -> State:
        """Return the state kept per sensor: by name, an empty array (0, ...) of the right shape and type.

        By default it is what `remembered` declares. Override it for what is no number.
        """
        return {name: np.empty((0, *shape)) for name, shape in self.remembered.items()}

    def begin(self, batch: Batch) -> None:  # noqa: B027 - kinds without state have nothing to set
        """Set the state of sensors that were just mounted or reset; all of it is zero then."""

    def resume(self, batch: Batch) -> None:  # noqa: B027
        """Called when sensors get a consumer."""

    @abstractmethod
    def sense(self, batch: Batch) -> Mapping[str, Any]:
        """Return the values of a reading class by field, each an array or a sequence of length N."""
