"""VehicleDesk: all vehicles of a simulation, the messages to them, and what they have to tell.

Messages come as VehicleMessage commands in the step. Each is read, checked and carried out by the pilot of its vehicle,
or refused and reported in the vehicle's state.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError, brief, unknown_name
from fleet_sim.base.limits import read_json
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.robots.drive import is_steered
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.section import until_cleared
from fleet_sim.warehouse.vda5050.actions import ActionOffer
from fleet_sim.warehouse.vda5050.messages import MalformedMessage
from fleet_sim.warehouse.vda5050.order import Refused, VehicleMessage, action_of, order_of, zone_set_of
from fleet_sim.warehouse.vda5050.pilot import VehiclePilot
from fleet_sim.warehouse.vda5050.vehicle import (
    Vda5050RobotSettings,
    Vda5050Settings,
    Vehicle,
    VehicleContext,
    VehicleFleetSettings,
    VehicleState,
)
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.steering import POSE

logger = logging.getLogger(__name__)

# The columns of robots that a master control drives.


class VehicleColumns(FeatureColumns):
    """What the entry of a robot says; all else is in its Vehicle."""

    enabled: Bools = column(bool, default=True, writer="spawning", doc="a master control drives it")


# All are kept in checkpoints, and told in states.
MOST_ZONE_SETS = 20


class VehicleDesk:
    """The vehicles of `sim`: `sim.get_manager("vda5050")`. A participant in checkpoints.

    `refused` counts messages that were refused, by reason; `taken` those that were carried out, by topic.
    """

    def __init__(self, sim: MultiRobotSimulationCore, table: VehicleColumns, settings: Vda5050Settings) -> None:
        """Raises InvalidValueError, or UnknownNameError, for an action of the settings that cannot be found."""
        self.settings, self.context = settings, VehicleContext(sim)
        self.pilots: dict[int, VehiclePilot] = {}
        """By row, in the order of the robots' ids."""
        self.taken: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.link_figures: Callable[[], Mapping[str, Any]] = dict
        """What the connection to a broker counts, while there is one."""
        self._table, self._world = table, sim.world
        self._offers = [ActionOffer(self.context, str(fleet.version), fleet.actions) for fleet in settings.fleets]
        self._version = -1
        self._unfit: dict[int, str] = {}
        """Why robots of the fleets are no vehicles, by object id."""
        self._told: tuple[int, int] = (-1, -1)
        """The versions of conditions and of robots that were looked at last."""
        self._driving: Rows = NO_ROWS
        self._seen: Ints = np.empty(0, np.int64)
        self._places: Floats = np.empty((0, 2))

    # ---- who takes part ----------------------------------------------------------------------------------------------

    @property
    def vehicles(self) -> list[Vehicle]:
        """The vehicles, in the order of the robots' ids."""
        self._gather()
        return [pilot.vehicle for pilot in self.pilots.values()]

    def vehicle(self, name: str) -> Vehicle:
        """Return the vehicle of the robot called `name`; raises UnknownNameError."""
        return self._named(name).vehicle

    def _named(self, name: str) -> VehiclePilot:
        self._gather()
        for pilot in self.pilots.values():
            if pilot.vehicle.agent.name == name:
                return pilot
        raise unknown_name("vehicle", name, [str(pilot.vehicle.agent.name) for pilot in self.pilots.values()])

    def _gather(self) -> None:
        """Look who is there, whenever something was spawned or removed; what cannot be a vehicle is left out.

        Nothing is raised: peers spawn what they like, and that must not end the run.
        """
        world = self._world
        if self._version == world.version:
            return
        self._version = world.version
        present: dict[int, VehiclePilot] = {}
        known_as: dict[str, Vehicle] = {}
        unfit: dict[int, str] = {}
        for agent in sorted(world_agents(world), key=lambda agent: agent.object_id):
            known = self.pilots.get(agent.row)
            # The row may be of another robot by now.
            if known is not None and known.vehicle.agent == agent:
                pilot = known
            elif (fleet := self._fleet_of(agent)) is not None:
                index, settings = fleet
                vehicle = Vehicle(agent, settings, _serial(agent, settings))
                pilot = VehiclePilot(vehicle, self.context, self._offers[index])
            else:
                continue
            if is_steered(agent.world, agent.row):
                unfit[agent.object_id] = (
                    f"{agent.name!r} is steered like a car, which leaves the edges of an order at each corner; "
                    "keep it out by vda5050: {enabled: false} in its entry"
                )
                continue
            other = known_as.setdefault(pilot.vehicle.identity.prefix, pilot.vehicle)
            if other is not pilot.vehicle:
                unfit[agent.object_id] = (
                    f"robots {other.agent.name!r} and {agent.name!r} have one address, {other.identity.prefix!r}: "
                    "both would answer to each message; give them different serial_numbers"
                )
            else:
                present[agent.row] = pilot
        self.pilots = present
        for number in unfit.keys() - self._unfit.keys():
            logger.warning("VDA 5050: no vehicle: %s", unfit[number])
        self._unfit = unfit

    def check(self) -> None:
        """Raise InvalidValueError where a robot of the fleets cannot be a vehicle; later ones are left out."""
        self._gather()
        for reason in self._unfit.values():
            raise InvalidValueError(reason)

    def _fleet_of(self, agent: Any) -> tuple[int, VehicleFleetSettings] | None:
        """Return the first fleet of the settings that a robot belongs to, with its number; None if it is in none."""
        if not agent.can_move or (self._table.present[agent.row] and not self._table.enabled[agent.row]):
            return None
        for index, fleet in enumerate(self.settings.fleets):
            named = [fleet.robots] if isinstance(fleet.robots, str) else fleet.robots
            if fleet.robots == "all" or any(fnmatchcase(agent.name or "", name) for name in named):
                return index, fleet
        return None

    def offer_of(self, vehicle: Vehicle) -> ActionOffer:
        """Return what a vehicle can do."""
        return self._offers[self.settings.fleets.index(vehicle.settings)]

    # ---- messages ----------------------------------------------------------------------------------------------------

    def receive(self, command: VehicleMessage) -> CommandAck:
        """Carry out a VehicleMessage; a refused one is counted, and reported by its vehicle."""
        pilot = self._named(command.name)
        vehicle, topic = pilot.vehicle, command.topic
        rejected: dict[str, str] = {}
        if vehicle.silent:
            self.refused[f"{topic}: does not reach the vehicle"] += 1
            return command.ack(self._world.clock.time, (), {command.name: "nothing reaches the vehicle"})
        try:
            values = self._read(vehicle, topic, command.text)
            if topic == "order":
                pilot.take(order_of(values))
            elif topic == "instantActions":
                for item in values["actions"]:
                    pilot.worker.take_instant(action_of(item))
            elif topic == "zoneSet":
                self._add_zones(vehicle, values["zoneSet"])
            else:
                for item in values["responses"]:
                    pilot.zones.answer(item, command.received)
            self.taken[topic] += 1
        except (Refused, MalformedMessage) as error:
            kind = "malformed" if topic == "order" else "malformed_instant"
            fault = error.fault if isinstance(error, Refused) else Refused(kind, str(error), topic=topic).fault
            self.refused[f"{topic}: {fault.kind}"] += 1
            vehicle.report(fault)
            vehicle.changed = True
            rejected[command.name] = str(error)
        names = () if rejected else (command.name,)
        return command.ack(self._world.clock.time, names, rejected)

    def _add_zones(self, vehicle: Vehicle, values: dict[str, Any]) -> None:
        zones, state = zone_set_of(values), vehicle.state
        if any(item.zone_set_id == zones.zone_set_id for item in state.zone_sets):
            raise Refused("duplicate_zone_set", "the vehicle has a zone set of this id", zoneSetId=zones.zone_set_id)
        if len(state.zone_sets) >= MOST_ZONE_SETS:
            raise Refused("zone_set", f"the vehicle has {MOST_ZONE_SETS} zone sets already; delete one of them")
        state.zone_sets.append(zones)
        vehicle.changed = True

    def _read(self, vehicle: Vehicle, topic: str, text: str) -> dict[str, Any]:
        """Return the checked values of a message; raises MalformedMessage."""
        shape = vehicle.version.incoming.get(topic)
        if shape is None:
            raise MalformedMessage("", f"vehicles of version {vehicle.version.number} do not listen to {brief(topic)}")
        try:
            values = shape.read(read_json(text, topic))
        except MalformedMessage:
            raise
        except InvalidValueError as error:
            raise MalformedMessage("", str(error)) from error
        if not vehicle.version.accepts(values["version"]):
            raise MalformedMessage("version", f"expected {vehicle.version.number}, got {values['version']!r}")
        expected = vehicle.settings.manufacturer, vehicle.serial
        if (values["manufacturer"], values["serialNumber"]) != expected:
            raise MalformedMessage("serialNumber", f"the message is for another vehicle, this one is {expected}")
        return values

    # ---- the step ----------------------------------------------------------------------------------------------------

    def run(self, dt: float) -> None:
        """Let vehicles go on that have something to do."""
        self._gather()
        self._look_at_conditions()
        self._measure()
        self._wake_driving()
        for row, pilot in self.pilots.items():
            if pilot.vehicle.awake and self._world.alive[row]:
                pilot.step(dt)
        self._note_driving()

    def _look_at_conditions(self) -> None:
        """Let vehicles tell what disturbs their robots now."""
        conditions = conditions_of(self._world)
        if conditions is None or (conditions.version, self._version) == self._told:
            return
        self._told = conditions.version, self._version
        for row, pilot in self.pilots.items():
            if conditions.present[row]:
                pilot.look_at_conditions(conditions)

    def _measure(self) -> None:
        """Measure how far vehicles drive, those that were moved since the last step."""
        places = self._world.position[list(self.pilots), :2]
        if len(places) != len(self._places):
            self._places = np.full(places.shape, np.nan)
        moved_mask = (places != self._places).any(axis=1)
        self._places = places
        vehicles = [pilot.vehicle for pilot in self.pilots.values()]
        for index in np.flatnonzero(moved_mask).tolist():
            vehicles[index].measure()

    def _wake_driving(self) -> None:
        """Wake vehicles that passed a waypoint, arrived or were stopped; others cost nothing."""
        motion, rows = self._world.motion, self._driving
        if not len(rows):
            return
        moved_mask = (motion.waypoint[rows] != self._seen) | motion.reached[rows] | (motion.control[rows] != POSE)
        for row in rows[moved_mask].tolist():
            if row in self.pilots:
                self.pilots[row].vehicle.awake = True

    def _note_driving(self) -> None:
        legs = [row for row, pilot in self.pilots.items() if pilot.vehicle.state.leg is not None]
        self._driving = np.array(legs, np.int64)
        self._seen = self._world.motion.waypoint[self._driving].copy()

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the states of all vehicles by object id."""
        self._gather()
        for pilot in self.pilots.values():
            pilot.vehicle.measure()
        return {pilot.vehicle.agent.object_id: copy.deepcopy(pilot.vehicle.state) for pilot in self.pilots.values()}

    def restore(self, saved: dict[int, VehicleState]) -> None:
        """Restore what `save` returned."""
        # Handles of robots that live again are others.
        self.pilots, self._version, self._told = {}, -1, (-1, -1)
        self._gather()
        for pilot in self.pilots.values():
            state = saved.get(pilot.vehicle.agent.object_id)
            if state is not None:
                pilot.vehicle.state = copy.deepcopy(state)
            pilot.vehicle.wake()

    def figures(self) -> dict[str, Any]:
        """Return what came in: messages carried out by topic, and refused ones by reason; with `link_figures`."""
        own = {"vehicles": len(self.pilots), "taken": dict(self.taken), "refused": dict(self.refused)}
        return {**own, **self.link_figures()}


def world_agents(world: Any) -> list[Any]:
    """Return the robots of a world."""
    return [handle for row in world.rows.tolist() if hasattr(handle := world.handles[row], "can_move")]


def _serial(agent: Any, settings: VehicleFleetSettings) -> str:
    """Return a robot's serial number, or its name as one: other characters than may stand there become dots."""
    name = agent.name or f"robot_{agent.object_id}"
    if name in settings.serial_numbers:
        return settings.serial_numbers[name]
    return "".join(char if char.isascii() and (char.isalnum() or char in "_.:-") else "." for char in name)[:100]


# The entry point of the feature, which `setup.cfg` declares: robots that a master control drives.


NAME = "vda5050"


class VehicleBooth:
    """The place of the desk in a simulation, there before the desk itself: robots are spawned first."""

    def __init__(self) -> None:
        self.desk: VehicleDesk | None = None

    def receive(self, command: VehicleMessage) -> CommandAck:
        """Carry out a VehicleMessage; raises StateError where no section has opened a desk."""
        if self.desk is None:
            raise StateError(
                "no vehicle listens here; add a section 'vda5050' to the scenario, or --vda5050 to the run"
            )
        return self.desk.receive(command)


class VehicleFeature(Feature[Vda5050RobotSettings, VehicleColumns]):
    """What the entry of a robot says about its vehicle; the section of the scenario does all else."""

    doc = "What a master control knows it by."
    settings = Vda5050RobotSettings
    table = VehicleColumns

    def start(self, host: FeatureHost, table: VehicleColumns) -> VehicleBooth:
        """Take in messages; the section adds the rest."""
        booth = VehicleBooth()
        host.dispatcher.handle(VehicleMessage, booth.receive)
        return booth

    def orders(self, part: VehicleBooth, table: VehicleColumns, rows: Rows) -> Sequence[str]:
        """Return the ids of the orders of the master control, kept until it sends the next one, as in its states."""
        if part.desk is None:
            return ()
        pilots = part.desk.pilots
        return [pilots[row].vehicle.state.order_id if row in pilots else "" for row in rows.tolist()]


FEATURE = VehicleFeature()


# The section `vda5050` of a scenario.


def offer_vehicles(sim: MultiRobotSimulationCore, settings: Vda5050Settings | None = None) -> VehicleDesk:
    """Let a master control drive robots of `sim`; returns the VehicleDesk, which is also the manager "vda5050".

    Raises StateError where there is one already, and InvalidValueError for two vehicles with one address.
    """
    if any(system.name == NAME for system in sim.pipeline.systems):
        raise StateError("this simulation has vehicles already: sim.get_manager('vda5050')")
    booth: VehicleBooth = sim.features.use(NAME)
    table = sim.features.table(NAME)
    assert isinstance(table, VehicleColumns)
    desk = VehicleDesk(sim, table, Vda5050Settings() if settings is None else settings)
    desk.check()

    def leave() -> None:
        sim.pipeline.remove(NAME)
        booth.desk = None

    until_cleared(sim, desk, NAME, leave)
    sim.checkpoints.register_late(NAME, desk)
    # Before the actions and the traffic: what a message says takes effect in the step that takes it.
    sim.pipeline.add(System(NAME, Phase.UPDATE, desk.run), before="actions")
    booth.desk = desk

    return desk


SECTION: SettingsSection[MultiRobotSimulationCore] = SettingsSection(
    NAME,
    Vda5050Settings,
    lambda sim, settings, source: offer_vehicles(sim, settings),
    "Which robots a master control drives by VDA 5050, and what they tell it. `--vda5050` names the broker.",
)
