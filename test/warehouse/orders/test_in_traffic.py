"""Robots that serve orders in the traffic of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from depot import orders_of, run_until

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderState
from fleet_sim.warehouse.sites import Warehouse, write_site

ROBOT = {
    "name": "amr",
    "motion_mode": "differential",
    "max_linear_vel": 2.0,
    "max_linear_accel": 2.0,
    "max_angular_vel": 3.0,
    "max_angular_accel": 6.0,
    "shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3},
    "at": {"site": "free", "count": 16, "seed": 4},
    "pose": [0.0, 0.0, 0.15],
}


def warehouse(folder: Path, orders: dict[str, Any], *names: str) -> fs.MultiRobotSimulationCore:
    """Return a warehouse with 16 robots in traffic, its sections in the order of `names`."""
    site = Warehouse(rows=3, columns=2, shelf_length=5, margin=2, aisle=2, cross_aisle=2, workstations=4, chargers=2)
    write_site(site.site("hall"), folder / "hall.yaml")
    sections = {"traffic": {"planner": "pibt"}, "orders": orders}
    content = {
        "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0, "seed": 2},
        "site": "hall.yaml",
        "robots": [ROBOT],
        **{name: sections[name] for name in names or sections},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return fs.MultiRobotSimulationCore.from_yaml(path)


@pytest.mark.parametrize("names", [("traffic", "orders"), ("orders", "traffic")], ids="-".join)
def test_a_crowd_serves_orders_without_touching(tmp_path: Path, names: tuple[str, ...]) -> None:
    entries = [{"pick": f"shelf_{7 * n % 60}", "drop": f"workstation_{n % 4}"} for n in range(40)]
    with warehouse(tmp_path, {"list": entries, "allocation": {"type": "hungarian"}}, *names) as sim:
        orders, touched = orders_of(sim), []
        sim.events.on("collision_started", lambda **pair: touched.append(pair))
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 40, 900.0)
        assert touched == []
        assert sim.get_manager("traffic").figures()["refusals"] == 0
        # Every robot had a part in it.
        assert len({orders.status(name).robot for name in orders.names}) > 8


def test_who_leaves_the_traffic_goes_on_by_itself(tmp_path: Path) -> None:
    with warehouse(tmp_path, {"list": [{"id": "a", "pick": "shelf_3", "drop": "workstation_1"}]}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.status("a").state is OrderState.CARRYING)
        robot = sim.get_object(orders.status("a").robot)
        sim.run_simulation(duration=1.0)
        sim.get_manager("traffic").leave(robot)
        run_until(sim, lambda: orders.status("a").state is OrderState.DONE)
        assert orders.status("a").robot == robot.name


def test_a_crowd_charges_without_touching_and_one_that_runs_empty_goes_on_later(tmp_path: Path) -> None:
    entries = [{"pick": f"shelf_{7 * n % 60}", "drop": f"workstation_{n % 4}"} for n in range(40)]
    section = {"list": entries, "charging": {"policy": "opportunity", "options": {"low": 0.35}, "period": 1.0}}
    with warehouse(tmp_path, section) as sim:
        orders, touched, out = orders_of(sim), [], []
        sim.events.on("collision_started", lambda **pair: touched.append(pair))
        sim.events.on("robot_out_of_energy", lambda agent: out.append(agent.name))
        rows = np.array([robot.row for robot in sim.agents])
        sim.features.give("battery", rows, {"capacity_wh": 2.0, "level": 0.8, "charge_power": 300.0})
        # One that is empty before it gets anywhere.
        sim.agents[0].feature("battery").battery_soc = 1e-3
        run_until(sim, lambda: len(out) > 0)
        assert out[0] == "amr_0"
        place = sim.agents[0].get_pose().position
        sim.run_simulation(duration=20.0)
        assert sim.agents[0].get_pose().position == place
        sim.agents[0].feature("battery").battery_soc = 1.0
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 40, 1500.0)
        assert touched == []
        assert orders.figures()["robots"]["time_s"]["charging"] > 10.0
