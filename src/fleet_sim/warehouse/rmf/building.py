"""The section `building` of a scenario: a `.building.yaml` with all that is in it.

Walls, doors and lifts are built before the robots of the scenario are spawned; robots of the building become slotcars.
Its file has no shapes of models, so boxes and cylinders stand for them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fleet_sim.base.errors import InvalidValueError, located
from fleet_sim.base.files import beside
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.scenario import Section
from fleet_sim.base.settings import Checked, object_schema, read, setting, time_setting
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse import equipment
from fleet_sim.warehouse.equipment.building import settings_of
from fleet_sim.warehouse.rmf.slotcars import Slotcars, SlotcarSettings
from fleet_sim.warehouse.sites.rmf_format import building_of, read_building
from fleet_sim.warehouse.sites.section import build_walls, until_cleared
from fleet_sim.warehouse.sites.site import Building, Level, LiftShaft, PlacedThing

# The section `building` of a scenario, as it is written down.


@dataclass
class BuildingSettings(Checked):
    """A whole building: its walls on all levels, its doors, lifts, work cells and robots."""

    map: str | None = setting(None, doc="The .building.yaml, relative to this file.")
    content: dict[str, Any] | None = setting(None, doc="What such a file holds, instead of `map`.")
    wall_height: float = setting(1.0, above=0.0, high=100.0, unit="m", doc="How tall walls are.")
    doors: bool = setting(True, doc="Whether its doors are built.")
    door_time: float | None = time_setting(
        None, low=0.05, doc="From closed to open; null: as Open-RMF simulates each kind."
    )
    automatic: float = setting(
        0.0, low=0.0, high=100.0, unit="m", doc="Doors open by themselves for robots this near; 0: by requests only."
    )
    lifts: bool = setting(True, doc="Whether its lifts are built.")
    robots: bool = setting(True, doc="Whether the robots that it names are spawned.")
    items: bool = setting(True, doc="Whether dispensers, ingestors and things that can be carried are spawned.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.map is None) == (self.content is None):
            raise InvalidValueError("give one of map and content: where the building is, or what is in its file")


# The robots that buildings of Open-RMF name, as cylinders of their size that drive and use energy as those do.


GRAVITY = 9.81
FRICTION = 0.22
"""Of the wheels of all of them."""


class RobotType(NamedTuple):
    """Size in m, mass in kg, battery in V, Ah and A of its charger, idle power in W, and how it drives."""

    radius: float
    height: float
    mass: float
    voltage: float
    capacity: float
    current: float
    power: float
    slotcar: SlotcarSettings

    @property
    def battery(self) -> dict[str, float | bool]:
        """The settings of its battery: what it uses for driving is what friction takes."""
        return {
            "capacity_wh": self.voltage * self.capacity,
            "idle_power": self.power,
            "drive_energy": FRICTION * self.mass * GRAVITY,
            "charge_power": self.voltage * self.current + self.power,
            "voltage": self.voltage,
            # A slotcar drives on with an empty battery: it is its fleet manager that looks after it.
            "stops_when_empty": False,
        }


def _slotcar(
    speed: float, usual: float, most: float, turn: float, turns: tuple[float, float], stop: float, back: bool
) -> SlotcarSettings:
    return SlotcarSettings(speed, usual, most, turn, *turns, stop, stop, back)


_CLEANER = _slotcar(0.7, 0.5, 0.6, 0.4, (1.0, 1.2), 1.5, False)
TYPES = {
    "TinyRobot": RobotType(
        0.2, 0.3, 20.0, 12.0, 24.0, 5.0, 20.0, _slotcar(0.5, 0.25, 0.75, 0.6, (1.5, 2.0), 0.75, True)
    ),
    "DeliveryRobot": RobotType(
        0.4, 0.4, 70.0, 24.0, 40.0, 8.8, 20.0, _slotcar(0.7, 0.5, 0.75, 0.6, (1.5, 2.0), 0.75, True)
    ),
    "HospitalRobot": RobotType(
        0.4, 1.4, 70.0, 24.0, 24.0, 5.0, 20.0, _slotcar(0.7, 0.5, 0.75, 0.3, (1.5, 2.0), 0.75, False)
    ),
    "CleanerBotA": RobotType(0.6, 1.3, 70.0, 24.0, 20.0, 10.0, 100.0, _CLEANER),
    "CleanerBotE": RobotType(0.5, 1.0, 70.0, 24.0, 30.0, 10.0, 100.0, _CLEANER),
}
"""By the names that buildings use, without that of their owner."""
OTHER = RobotType(0.25, 0.5, 20.0, 12.0, 24.0, 2.0, 10.0, _slotcar(0.5, 0.25, 0.75, 0.6, (1.5, 2.0), 0.75, True))
"""What stands for the others."""


log = logging.getLogger(__name__)

ITEM, CELL = (0.06, 0.06, 0.06), (0.15, 0.15, 0.15)
"""Half sides in m of what stands for things that can be carried, and for work cells."""
ITEM_COLOR = (0.8, 0.3, 0.2, 1.0)
CELLS = {"TeleportDispenser": equipment.WorkcellKind.DISPENSER, "TeleportIngestor": equipment.WorkcellKind.INGESTOR}
"""The work cells of Open-RMF's simulations by the ends of their models' names."""
COLOR = (0.2, 0.45, 0.75, 1.0)
SWING_TIME, SLIDE_SPEED, SLIDE_TIME = 6.5, 0.2, 2.5
"""How long doors of Open-RMF swing in s; how fast they slide in m/s, and what speeding up adds in s."""
LIFT_DOOR_SPEED, LIFT_DOOR_TIME = 0.3, 3.0
"""The same of the doors of lifts."""


class BuildingSection(Section[MultiRobotSimulationCore]):
    """Builds a whole building; `sim.get_manager("building")` returns the Building."""

    doc = "A whole building of Open-RMF's traffic editor: levels, doors, lifts, work cells and robots."

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an entry."""
        return {"anyOf": [{"type": "string"}, object_schema(BuildingSettings)]}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings or the file are wrong."""
        self._read(entry, source)

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return steps so short that slotcars come to rest at their waypoints."""
        return {"timestep": 0.05}

    def prepare(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the walls, doors and lifts, before the robots of the scenario are spawned; raises ConfigError."""
        settings, building = self._read(entry, source)
        with located("building", source=source):
            build(sim, building, settings)

    def _read(self, entry: Any, source: str) -> tuple[BuildingSettings, Building]:
        """Return the settings and the building they name; raises ConfigError with the key."""
        given = entry if isinstance(entry, Mapping) else {"map": entry}
        settings = read(BuildingSettings, given, source=source, path="building")
        with located("building", source=source):
            if settings.content is not None:
                return settings, building_of(settings.content, Path(source or "building"))
            assert settings.map is not None
            return settings, read_building(beside(source, settings.map))


def build(sim: MultiRobotSimulationCore, building: Building, settings: BuildingSettings) -> None:
    """Add `building` to `sim`; raises FleetSimError for what cannot be built, such as two doors of one name."""
    for level in building.levels:
        build_walls(sim, level.site, settings.wall_height, level.elevation, f"{building.name}_{level.name}")
        for door in level.site.doors if settings.doors else ():
            made = settings_of(door, floor=level.elevation, time=1.0, automatic=settings.automatic)
            made.time = door_time(made) if settings.door_time is None else settings.door_time
            equipment.build_door(sim, made)
    for lift in building.lifts if settings.lifts else ():
        made_lift = lift_settings(building, lift)
        if made_lift is not None:
            equipment.build_lift(sim, made_lift)
    slotcars: Slotcars = sim.features.use("slotcar")
    slotcars.levels = {level.name: level.elevation for level in building.levels}
    slotcars.chargers.set_positions(_chargers(building))
    if settings.items:
        sim.spawn_all([_item(model) for model in building.models if _is_item(model)])
    if settings.robots:
        sim.spawn_all([_robot(robot) for robot in building.robots])
    until_cleared(sim, building, "building")
    equipment.offer_building_routes(sim, building)


def door_time(door: equipment.DoorSettings) -> float:
    """Return how long Open-RMF's simulation takes to open a door of this kind and width, in s."""
    if door.kind.swings:
        return SWING_TIME
    leaf = 0.5 * door.width if door.kind is equipment.DoorKind.DOUBLE_SLIDING else door.width
    return leaf / SLIDE_SPEED + SLIDE_TIME


def lift_settings(building: Building, lift: LiftShaft) -> equipment.LiftSettings | None:
    """Return the settings of a lift; None for one that goes nowhere or is only drawn, which is logged."""
    if not (lift.moves and lift.levels and lift.doors):
        log.warning("lift %r is left out: it has no plugins, no doors or no levels", lift.name)
        return None
    widest = max(door.width for door in lift.doors)
    return equipment.LiftSettings(
        name=lift.name,
        position=(lift.x, lift.y),
        floors=[
            equipment.LiftFloorSettings(name=name, height=building.level(name).elevation, doors=list(doors))
            for name, doors in lift.levels.items()
        ],
        doors=[equipment.LiftDoorSettings(name=door.name, x=door.x, y=door.y, width=door.width) for door in lift.doors],
        yaw=lift.yaw,
        width=lift.width,
        depth=lift.depth,
        initial=lift.initial if lift.initial in lift.levels else None,
        # Two leaves open at once, so each goes half the way.
        door_time=0.5 * widest / LIFT_DOOR_SPEED + LIFT_DOOR_TIME,
    )


def _robot(robot: PlacedThing) -> AgentSpawnParams:
    """Return a slotcar for a robot of a building; one of an unknown type becomes a plain one, which is logged."""
    kind = TYPES.get(robot.kind)
    if kind is None:
        log.warning(
            "robot %r is of the type %r, which is not known here: another one stands for it", robot.name, robot.kind
        )
        kind = OTHER
    body = ShapeParams("cylinder", radius=kind.radius, height=kind.height, rgba_color=COLOR)
    pose = Pose.from_euler(robot.x, robot.y, robot.z + 0.5 * kind.height, 0.0, 0.0, robot.yaw)
    drive = kind.slotcar
    return AgentSpawnParams(
        body,
        body,
        pose,
        name=robot.name,
        motion_mode="differential",
        max_linear_vel=drive.speed,
        # Its own law keeps accelerations; this one only has to let it.
        max_linear_accel=10.0 * drive.max_acceleration,
        max_angular_vel=drive.turn_speed,
        max_angular_accel=10.0 * drive.max_turn_acceleration,
        block_on_collision=True,
        features={"slotcar": drive, "battery": kind.battery},
    )


def _is_item(model: PlacedThing) -> bool:
    """Return whether `model` is a work cell, or can be moved. The shapes of furniture are not in the file."""
    return bool(model.name) and (not model.static or _cell_kind(model) is not None)


def _cell_kind(model: PlacedThing) -> equipment.WorkcellKind | None:
    return next((kind for ending, kind in CELLS.items() if model.kind.endswith(ending)), None)


def _item(model: PlacedThing) -> SimObjectSpawnParams:
    """Return a dispenser, an ingestor, or a thing that they hand over; nothing collides with them."""
    cell = _cell_kind(model)
    half = ITEM if cell is None else CELL
    shape = ShapeParams("box", half_extents=half, rgba_color=ITEM_COLOR)
    pose = Pose.from_euler(model.x, model.y, model.z + half[2], 0.0, 0.0, model.yaw)
    # Cells stand on tables and things in cells: neither is in anybody's way.
    return SimObjectSpawnParams(
        shape,
        shape,
        pose,
        name=model.name,
        mass=0.0,
        pickable=cell is None,
        collision_mode=CollisionMode.DISABLED,
        features={} if cell is None else {"workcell": equipment.WorkcellSettings(kind=cell)},
    )


def _chargers(building: Building) -> dict[str, tuple[float, float, float]]:
    """Return the positions of all chargers in m by the names of their vertices.

    A name that was there before has that of its level before it; a vertex without a name is `charger_N`.
    """
    found: dict[str, tuple[float, float, float]] = {}
    for level in building.levels:
        for position, given in _chargers_of(level).items():
            name = given or f"charger_{len(found)}"
            found[f"{level.name}_{name}" if name in found else name] = position
    return found


def _chargers_of(level: Level) -> dict[tuple[float, float, float], str]:
    found: dict[tuple[float, float, float], str] = {}
    for graph in level.graphs:
        for place, name, properties in zip(graph.positions.tolist(), graph.names, graph.properties, strict=True):
            if properties.get("is_charger"):
                # A vertex may be part of several graphs.
                found[place[0], place[1], level.elevation] = name
    return found


SECTION = BuildingSection()
