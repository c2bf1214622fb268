"""VehicleOutbox: turns what vehicles have to tell into bodies of messages, in the step, for whoever sends them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools
from fleet_sim.core.world import World
from fleet_sim.vda5050.desk import VehicleDesk
from fleet_sim.vda5050.factsheet import factsheet_values
from fleet_sim.vda5050.reports import needs_base, state_values
from fleet_sim.vda5050.vehicle import Vehicle, VehicleIdentity
from fleet_sim.vda5050.wire.versions import VERSIONS

MOVES_SQUARED = 1e-6
"""Squared speed above which a vehicle counts as driving."""


class VehicleBody(NamedTuple):
    """The body of a message: JSON without the opening brace and the header."""

    identity: VehicleIdentity
    topic: str
    text: str


Sink = Callable[[list[VehicleBody]], object]


class VehicleOutbox:
    """Looks at all vehicles at the end of a step, and hands their messages to `sink`.

    States are sent on changes and at the latest after `state_interval`; visualizations at their rate, spread over the
    vehicles. Times are simulated ones; whoever sends the messages adds wall time.
    """

    def __init__(self, desk: VehicleDesk, world: World, sink: Sink) -> None:
        self._desk, self._world, self._sink = desk, world, sink
        self._bodies = {name: version.body("state") for name, version in VERSIONS.items()}
        self._factsheets = {name: version.body("factsheet") for name, version in VERSIONS.items()}
        self._due: dict[str, int] = {}
        self._moved: Bools = np.empty(0, bool)

    def publish(self, dt: float) -> None:
        """Hand over the messages of this step."""
        vehicles = self._desk.vehicles
        self._note_changes(vehicles)
        tick, found = self._world.clock.tick, list[VehicleBody]()
        for index, vehicle in enumerate(vehicles):
            key = vehicle.identity.prefix
            if vehicle.changed or tick >= self._due.get(key, 0):
                # First: what changes while it is written belongs to the next one.
                vehicle.changed = False
                self._due[key] = tick + vehicle.steps_of(vehicle.settings.state_interval)
                found.append(self._state(vehicle))
            if vehicle.wants_factsheet:
                vehicle.wants_factsheet = False
                shape = self._factsheets[vehicle.identity.version]
                found.append(_body(vehicle, "factsheet", shape.write(factsheet_values(vehicle, self._desk))))
            if vehicle.settings.visualization_rate > 0.0:
                self._visualize(vehicle, index, tick, found)
        if found:
            self._sink(found)

    def _note_changes(self, vehicles: list[Vehicle]) -> None:
        """Mark vehicles that began to drive or stopped, or that need more of their order."""
        world, rows = self._world, np.array([vehicle.row for vehicle in vehicles], np.int64)
        velocity, spin = world.velocity[rows], world.angular_velocity[rows, 2]
        moved_mask: Bools = velocity[:, 0] ** 2 + velocity[:, 1] ** 2 > MOVES_SQUARED
        moved_mask |= np.abs(spin) > 1e-3
        if len(moved_mask) != len(self._moved):
            self._moved = np.zeros(len(moved_mask), bool)
        for index in np.flatnonzero(moved_mask != self._moved).tolist():
            vehicles[index].changed = True
        self._moved = moved_mask
        for vehicle in vehicles:
            state = vehicle.state
            if state.leg is not None and state.nodes and not state.nodes[-1].released:
                wanted = needs_base(vehicle)
                vehicle.changed |= wanted != vehicle.asked_for_base
                vehicle.asked_for_base = wanted

    def _state(self, vehicle: Vehicle) -> VehicleBody:
        shape = self._bodies[vehicle.identity.version]
        return _body(vehicle, "state", shape.write(state_values(vehicle, self._desk.context)))

    def _visualize(self, vehicle: Vehicle, index: int, tick: int, found: list[VehicleBody]) -> None:
        period = vehicle.steps_of(1.0 / vehicle.settings.visualization_rate)
        # Not all vehicles in one step: a broker likes an even load.
        if (tick + index) % period:
            return
        found.append(VehicleBody(vehicle.identity, "visualization", _visualization(vehicle)))


def _body(vehicle: Vehicle, topic: str, message: dict[str, object]) -> VehicleBody:
    return VehicleBody(vehicle.identity, topic, json.dumps(message, separators=(",", ":"))[1:])


def _visualization(vehicle: Vehicle) -> str:
    """Return the body of a visualization; written by hand, as it is by far the most frequent message."""
    x, y = vehicle.place
    vx, vy, omega = vehicle.velocity
    third = vehicle.version.is_third
    state = vehicle.state
    return (
        f'"{"mobileRobotPosition" if third else "agvPosition"}":'
        f'{{"x":{x:.4f},"y":{y:.4f},"theta":{vehicle.heading:.5f},'
        f'"mapId":{json.dumps(state.map_id)},"{"localized" if third else "positionInitialized"}":'
        f'{"true" if state.map_id else "false"}}},"velocity":{{"vx":{vx:.4f},"vy":{vy:.4f},"omega":{omega:.5f}}}}}'
    )
