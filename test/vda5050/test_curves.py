"""Edges with trajectories: vehicles follow a curve, and refuse what is none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from master_control import line
from vehicle_bench import VehicleBench, scenario


def test_an_omnidirectional_vehicle_holds_its_heading_on_an_edge_and_follows_a_curve() -> None:
    bench = VehicleBench(scenario(drive={"type": "omni"}))
    curve = {
        "degree": 2,
        "knotVector": [0, 0, 0, 1, 1, 1],
        "controlPoints": [{"x": 2.0, "y": 0.0}, {"x": 4.0, "y": 0.0, "weight": math.sqrt(0.5)}, {"x": 4.0, "y": 2.0}],
    }
    order = line("o", [(0.0, 0.0), (2.0, 0.0), (4.0, 2.0)])
    order["edges"][0] |= {"orientation": math.pi / 2.0}
    order["edges"][1] |= {"trajectory": curve}
    bench.order(order)
    bench.run(lambda state: state["agvPosition"]["x"] > 1.0)
    assert bench.vehicle.heading == pytest.approx(math.pi / 2.0, abs=1e-3)
    off = 0.0
    while not bench.vehicle.is_idle:
        bench.sim.step_once()
        if bench.state()["lastNodeId"] == "n1":
            # The quarter of a circle about (2, 2): what this curve is exactly.
            off = max(off, abs(math.dist(bench.vehicle.place, (2.0, 2.0)) - 2.0))
    assert 0.0 < off < 0.03
    assert bench.place == (4.0, 2.0)


def test_a_differential_vehicle_follows_a_curve() -> None:
    bench = VehicleBench(scenario())
    points = [{"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 0.0}, {"x": 2.0, "y": 2.0}]
    order = line("o", [(0.0, 0.0), (2.0, 2.0)])
    order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": points}
    bench.order(order)
    bench.arrive("n1")
    assert bench.place == (2.0, 2.0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"knotVector": [0, 0, 0, 1, 1]}, "knotVector"),
        ({"knotVector": [0, 0, 1, 0, 1, 1]}, "knotVector"),
        ({"controlPoints": [{"x": 0.0, "y": 0.0}]}, "controlPoints"),
        ({"degree": 0}, "degree"),
        ({"degree": 3}, "knotVector"),
        ({"controlPoints": [{"x": 0.0, "y": 0.0, "weight": -1.0}] * 3}, "weight"),
        ({"controlPoints": [{"x": 0.0, "y": math.inf}] * 3}, "controlPoints"),
    ],
)
def test_a_curve_that_is_none_is_refused_and_moves_nothing(changed: dict[str, Any], said: str) -> None:
    bench = VehicleBench(scenario())
    points = [{"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 0.0}, {"x": 2.0, "y": 2.0}]
    order = line("o", [(0.0, 0.0), (2.0, 2.0)])
    order["edges"][0]["trajectory"] = {"degree": 2, "knotVector": [0, 0, 0, 1, 1, 1], "controlPoints": points} | changed
    assert said in bench.order(order)["a"]
    for _ in range(5):
        bench.sim.step_once()
    assert bench.place == (0.0, 0.0)
    assert bench.state()["orderId"] == ""
    assert bench.state()["errors"]
    assert sum(bench.desk.refused.values()) == 1
