"""Vehicles without a broker: messages as commands, states as the vehicle would send them, in simulated time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from master_control import header
from standard_schemas import check_message

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.warehouse.vda5050 import Vehicle, VehicleDesk
from fleet_sim.warehouse.vda5050.messages import VERSIONS, WireMany, WireNumber, WireShape
from fleet_sim.warehouse.vda5050.order import VehicleMessage
from fleet_sim.warehouse.vda5050.reports import state_values

BODY = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}
DRIVE = {"type": "differential", "max_linear_vel": 1.0, "max_linear_accel": 1.0, "max_angular_vel": 3.0}


def scenario(
    version: str = "2.1", *, robots: int = 1, drive: dict[str, Any] | None = None, **other: Any
) -> dict[str, Any]:
    """A scenario with robots a, b, ... at (0, 0), (0, 5), ... that look to the east; `fleet` are settings of theirs."""
    fleet = {"version": version, "pick_time": 0.5, "drop_time": 0.5, **other.pop("fleet", {})}
    return {
        "simulation": {"timestep": 0.1, "monitor": False, "gui": False, "target_rtf": 0, **other.pop("simulation", {})},
        "robots": [
            {
                "name": chr(97 + index),
                "pose": [0.0, 5.0 * index, 0.1],
                "shape": BODY,
                "controller": {**DRIVE, **(drive or {})},
                **other.get("robot", {}),
            }
            for index in range(robots)
        ],
        **{key: value for key, value in other.items() if key != "robot"},
        "vda5050": {"fleets": [fleet]},
    }


class VehicleBench:
    """A simulation of a scenario, and its first vehicle."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.sim = MultiRobotSimulationCore.from_dict(given)
        self.desk: VehicleDesk = self.sim.get_manager("vda5050")
        self.vehicle: Vehicle = self.desk.vehicles[0]

    def send(self, topic: str, body: dict[str, Any] | str, name: str = "a") -> dict[str, str]:
        """Send a message and make a step; return why it was refused, by robot."""
        text = body if isinstance(body, str) else json.dumps(_header(self.desk.vehicle(name)) | body)
        future = self.sim.inbox.put(VehicleMessage(name=name, topic=topic, text=text))
        self.sim.step_once()
        return dict(future.result().rejected)

    def order(self, body: dict[str, Any], name: str = "a") -> dict[str, str]:
        """Send an order."""
        return self.send("order", body, name)

    def instant(self, kind: str, action_id: str, **parameters: Any) -> dict[str, str]:
        """Send an instant action."""
        given = [{"key": key, "value": value} for key, value in parameters.items()]
        entry = {"actionType": kind, "actionId": action_id, "blockingType": "NONE", "actionParameters": given}
        return self.send("instantActions", {"actions": [entry]})

    def state(self, name: str = "a") -> dict[str, Any]:
        """The state that a vehicle would send now, without its header."""
        vehicle = self.desk.vehicle(name)
        state = vehicle.version.body("state").write(state_values(vehicle, self.desk.context))
        check_message(vehicle.version.number, "state", _header(vehicle) | state)
        return state

    def run(self, wanted: Callable[[dict[str, Any]], object], limit: float = 60.0) -> dict[str, Any]:
        """Step until a state is wanted; return it."""
        end = self.sim.sim_time + limit
        while self.sim.sim_time < end:
            state = self.state()
            if wanted(state):
                return state
            self.sim.step_once()
        raise AssertionError(f"not within {limit:g} s: {self.state()}")

    def arrive(self, node: str) -> dict[str, Any]:
        """Step until a node was passed and nothing is left to do."""
        return self.run(lambda state: state["lastNodeId"] == node and self.vehicle.is_idle)

    @property
    def place(self) -> tuple[float, float]:
        """Where the vehicle is, rounded."""
        x, y = self.vehicle.place
        return round(x, 6), round(y, 6)


def _header(vehicle: Vehicle) -> dict[str, Any]:
    return header(vehicle.version.number, vehicle.identity.manufacturer, vehicle.serial)


def message_numbers(*topics: str) -> list[str]:
    """Return all numbers in messages that vehicles send to `topics`, as oracles name them."""
    found = []
    for version in VERSIONS.values():
        for topic in topics:
            shape = version.connection if topic == "connection" else version.body(topic)
            found += [f"vda5050:{topic}.{path}" for path in _numbers(shape)]
    return sorted(set(found))


def _numbers(kind: object, path: str = "") -> Iterator[str]:
    """Yield the paths of the numbers in a shape."""
    if isinstance(kind, WireNumber):
        yield path
    elif isinstance(kind, WireMany):
        yield from _numbers(kind.kind, path)
    elif isinstance(kind, WireShape):
        for name, item in kind.fields.items():
            yield from _numbers(item.kind, f"{path}.{item.wire or name}".lstrip("."))
