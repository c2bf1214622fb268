"""Orders between the storeys of a building: robots take the load there with the lift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.orders import offer_orders

Sim = fs.MultiRobotSimulationCore
SITES = Path(fs.__file__).parents[2] / "config" / "sites"
PANTRY, KITCHEN = (5.0, 2.2, 0.0), (5.0, 1.5, 4.0)


def scenario(orders: dict[str, Any], count: int = 1, radius: float = 0.3, **building: Any) -> dict[str, Any]:
    """Return a building of two floors with robots on the lower one, and orders."""
    robot = {
        "shape": {"shape_type": "cylinder", "radius": radius, "height": 0.4},
        "controller": {"type": "differential", "max_linear_vel": 1.5, "max_linear_accel": 2.0},
        "block_on_collision": True,
        "orders": {"max_load": 30},
    }
    return {
        "simulation": {"gui": False, "target_rtf": 0, "monitor": False, "timestep": 0.1, "collision_margin": 0.0},
        "building": {
            "map": str(SITES / "maps" / "two_floors.building.yaml"),
            "robots": False,
            "items": False,
            "automatic": 1.5,
            **building,
        },
        "robots": [{"name": f"robot_{i}", "pose": [2.0, 4.0 + 2.5 * i, 0.2], **robot} for i in range(count)],
        "orders": {"service": {"pick_time": 2, "drop_time": 2}, **orders},
    }


def run(sim: Sim, seconds: float) -> None:
    orders = sim.get_manager("orders")
    while sim.sim_time < seconds and any(orders.status(name).state.value != "done" for name in orders.names):
        sim.step_once()


def test_an_order_to_another_storey_is_served_with_its_load_in_the_lift() -> None:
    up = {"id": "up", "pick": "pantry", "drop": "kitchen", "load": 5}
    with Sim.from_dict(scenario({"list": [up], "load": {"remain": 100}})) as sim:
        orders, robot = sim.get_manager("orders"), sim.get_object("robot_0")
        while orders.status("up").state.value != "carrying":
            sim.step_once()
        load = sim.get_object("load_up")
        assert robot.get_pose().position[:2] == pytest.approx(PANTRY[:2]) and robot.get_pose().z == 0.2
        above = load.get_pose().z - robot.get_pose().z
        rode = False
        while orders.status("up").state.value == "carrying":
            sim.step_once()
            assert load.get_pose().position[:2] == pytest.approx(robot.get_pose().position[:2], abs=1e-9)
            assert load.get_pose().z - robot.get_pose().z == pytest.approx(above, abs=1e-9)
            rode = rode or 1.0 < robot.get_pose().z < 3.0
        run(sim, 400.0)
        assert rode and orders.status("up").state.value == "done"
        assert robot.get_pose().position == pytest.approx((*KITCHEN[:2], 4.2), abs=1e-9)
        # On the floor of the upper storey.
        assert load.get_pose().z == pytest.approx(4.0 + 0.5 * orders.settings.load.size[2])
        assert not sim.collisions.count


@pytest.mark.slow
def test_the_shipped_robots_serve_both_ways() -> None:
    with Sim.from_yaml(SITES / "two_floors_orders.yaml") as sim:
        orders = sim.get_manager("orders")
        while sim.sim_time < 450.0:
            sim.step_once()
        figures = orders.figures()
        assert figures["orders"]["done"] >= 4 and not figures["orders"]["failed"]


def test_the_nearest_robot_is_the_one_on_the_storey_of_the_load() -> None:
    config = scenario({}, 2)
    # Straight above the pantry it is far from it.
    config["robots"][1]["pose"] = [5.0, 2.2, 4.2]
    with Sim.from_dict(config) as sim:
        orders = sim.get_manager("orders")
        orders.submit(id="low", pick="pantry", drop="porter_1_charger")
        orders.submit(id="high", pick="kitchen", drop="pantry")
        for _ in range(3):
            sim.step_once()
        assert (orders.status("low").robot, orders.status("high").robot) == ("robot_0", "robot_1")
        lengths = orders.places.lengths_from(np.array([[5.0, 2.2, 0.2], [5.0, 2.2, 4.2]]), [1])[:, 0]
        assert lengths[0] < 0.2 and 20.0 < lengths[1] < 40.0


@pytest.mark.parametrize(
    ("config", "order", "reason"),
    [
        (scenario({}, lifts=False), {"drop": "kitchen"}, "no lift takes a robot from 'L1' to 'L2'"),
        (scenario({}, radius=0.7), {"drop": "kitchen"}, "1.2 m of room, and the robot needs 1.4 m"),
        (scenario({}), {"drop": "kitchn"}, "kitchen"),
        (scenario({}), {"drop": [3.0, 3.0]}, "does not say on which storey"),
    ],
)
def test_what_cannot_be_brought_is_refused_with_the_reason(
    config: dict[str, Any], order: dict[str, Any], reason: str
) -> None:
    with Sim.from_dict(config) as sim, pytest.raises(fs.FleetSimError, match=reason):
        sim.get_manager("orders").submit(pick="pantry", **order)


@pytest.mark.parametrize("orders", [{"tasks": "tasks.csv"}, {"pods": {"storage": [[3, 1, 4, 3]], "skus": 2}}])
def test_what_is_for_one_storey_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], orders: Any) -> None:
    (tmp_path / "tasks.csv").write_text("1\n1,2\n")
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario(orders)))
    assert main(["check", str(path)]) == 1
    assert "for one storey" in capsys.readouterr().err


def test_orders_need_a_building_or_a_site() -> None:
    with Sim(fs.SimulationParams(gui=False)) as sim, pytest.raises(fs.InvalidValueError, match="'site' or 'building'"):
        offer_orders(sim)
