"""Each setting of vehicles, changed: something else comes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from master_control import action, node, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.vda5050.reports import VehicleBody, VehicleOutbox


def sent(seconds: float, **fleet: Any) -> list[VehicleBody]:
    """What a vehicle that stands sends in a time."""
    bench, found = VehicleBench(scenario(fleet=fleet)), list[VehicleBody]()
    outbox = VehicleOutbox(bench.desk, bench.sim.world, found.extend)
    for _ in range(round(seconds / bench.sim.clock.dt)):
        bench.sim.step_once()
        outbox.publish(bench.sim.clock.dt)
    for body in found:
        json.loads("{" + body.text)
    return found


def count(found: list[VehicleBody], topic: str) -> int:
    return sum(body.topic == topic for body in found)


def prefix(**fleet: Any) -> str:
    return VehicleBench(scenario(fleet=fleet)).vehicle.identity.prefix


def test_addresses() -> None:
    assert prefix() == "uagv/v2/fleet_sim/a"
    given = {"interface_name": "cell1", "manufacturer": 3.0, "serial_numbers": {"a": 17}, "version": 3.0}
    assert prefix(**given) == "cell1/v3/3/17"
    with pytest.raises(ConfigError, match="one address"):
        VehicleBench(scenario(robots=2, fleet={"serial_numbers": {"a": "b"}}))
    for wrong in (
        {"manufacturer": "a/b"},
        {"interface_name": "$SYS"},
        {"version": "1.1"},
        {"serial_numbers": {"a": "+"}},
    ):
        with pytest.raises(ConfigError):
            VehicleBench(scenario(fleet=wrong))


def test_rates() -> None:
    assert count(sent(4.0), "state") == 1
    assert count(sent(4.0, state_interval=0.5), "state") == 8
    assert count(sent(4.0), "visualization") == 0
    assert count(sent(4.0, visualization_rate=5.0), "visualization") == 20


def test_times_and_reach() -> None:
    load = {"name": "box", "pose": [0.5, 0.0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}}
    ends = []
    for fleet in ({}, {"pick_time": 2.0}, {"drop_time": 2.0}, {"reach": 0.2}):
        bench = VehicleBench(scenario(objects=[load], fleet=fleet))
        place = node(0, 0.0, 0.0, actions=[action("pick", "p"), action("drop", "d")])
        bench.order({"orderId": "o", "orderUpdateId": 0, "nodes": [place], "edges": []})
        state = bench.run(lambda state: status(state, "d") in ("FINISHED", "FAILED"))
        ends.append((round(bench.sim.sim_time, 1), status(state, "p")))
    (usual, done), (slow_pick, _), (slow_drop, _), (_, failed) = ends
    assert (done, failed) == ("FINISHED", "FAILED")
    assert slow_pick == slow_drop == pytest.approx(usual + 1.5)


def test_who_takes_part() -> None:
    def names(robots: Any) -> list[str | None]:
        bench = VehicleBench(scenario(robots=3, fleet={"robots": robots}))
        return [vehicle.agent.name for vehicle in bench.desk.vehicles]

    assert names("all") == ["a", "b", "c"]
    assert names(["a", "[bc]"]) == ["a", "b", "c"]
    assert names(["c"]) == ["c"]
    given = scenario(robots=2)
    given["robots"][1]["vda5050"] = {"enabled": False}
    assert [vehicle.agent.name for vehicle in VehicleBench(given).desk.vehicles] == ["a"]
    bench = VehicleBench(scenario())
    bench.sim.population.spawn_robots([{**scenario()["robots"][0], "name": "later", "pose": [9.0, 9.0, 0.1]}])
    bench.sim.step_once()
    assert [vehicle.agent.name for vehicle in bench.desk.vehicles] == ["a", "later"]
