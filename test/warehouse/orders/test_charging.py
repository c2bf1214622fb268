"""Robots that serve orders charge, queue at chargers, and say so when they run empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderState, RobotState
from fleet_sim.warehouse.orders.charging import ChargingRequest
from fleet_sim.warehouse.sites import Warehouse, write_site

BATTERY = {"capacity_wh": 1.0, "idle_power": 10.0, "drive_energy": 40.0, "charge_power": 100.0, "low_level": 0.1}
"""3600 J: a minute and a half of driving."""
STREAM = {"per_hour": [60.0], "drop": {"drop": 1.0}}
ONE = {"id": "first", "pick": "shelf_a", "drop": "dock"}


def states(sim: fs.MultiRobotSimulationCore) -> list[RobotState]:
    """What the robots do."""
    table = sim.features.table("orders")
    return [RobotState.from_code(int(table.state[robot.row])) for robot in sim.agents]


@pytest.mark.parametrize("policy", ["threshold", "opportunity"])
@pytest.mark.slow
def test_a_robot_charges_in_time_and_never_runs_empty(tmp_path: Path, policy: str) -> None:
    charging = {"policy": policy, "options": {"low": 0.4}, "period": 1.0}
    # Enough for an order and the way to the charger from the lowest level on.
    battery_entry = {**BATTERY, "capacity_wh": 2.0}
    with depot(tmp_path, {"arrivals": [STREAM], "charging": charging}, battery=battery_entry) as sim:
        orders, robot, emptied = orders_of(sim), sim.agents[0], []
        sim.events.on("robot_out_of_energy", lambda agent: emptied.append(agent.name))
        places = set()
        while sim.clock.time < 1200.0:
            sim.step_once()
            battery = robot.feature("battery")
            if battery.is_charging:
                places.add(tuple(np.round(robot.get_pose().position[:2], 3)))
                assert states(sim) == [RobotState.CHARGING]
        assert emptied == []
        assert places == {(0.5, 3.5)}
        figures = orders.figures()
        assert figures["robots"]["time_s"]["charging"] > 30.0
        assert figures["orders"]["done"] > 5


def test_robots_queue_for_a_charger_and_have_it_one_by_one(tmp_path: Path) -> None:
    battery = {**BATTERY, "level": 0.2, "idle_power": 0.0, "charge_power": 200.0}
    places = [[0.5, 0.5], [5.5, 3.5], [9.5, 5.5]]
    with depot(tmp_path, {"charging": {"period": 1.0}}, places, battery=battery) as sim:
        seen = set()
        run_until(sim, lambda: states(sim) != [RobotState.IDLE] * 3)
        while states(sim) != [RobotState.IDLE] * 3:
            sim.step_once()
            seen.add(tuple(sorted(state.value for state in states(sim))))
            assert sum(robot.feature("battery").is_charging for robot in sim.agents) <= 1
            assert sim.clock.time < 200.0
        assert ("charging", "waiting", "waiting") in seen
        assert all(robot.feature("battery").battery_soc >= 0.9 for robot in sim.agents)
        assert not any(robot.feature("battery").is_charging for robot in sim.agents)


def test_a_closed_charger_is_waited_for(tmp_path: Path) -> None:
    with depot(tmp_path, {"charging": {"period": 1.0}}, battery={**BATTERY, "level": 0.2, "idle_power": 0.0}) as sim:
        orders_of(sim).close_station("plug")
        sim.run_simulation(duration=5.0)
        assert states(sim) == [RobotState.WAITING]
        orders_of(sim).open_station("plug")
        run_until(sim, lambda: states(sim) == [RobotState.CHARGING])


def test_who_leaves_with_the_charger_or_for_good_makes_room(tmp_path: Path) -> None:
    battery = {**BATTERY, "level": 0.2, "idle_power": 0.0}
    with depot(tmp_path, {"charging": {"period": 1.0}}, [[0.5, 2.5], [5.5, 3.5]], battery=battery) as sim:
        run_until(sim, lambda: states(sim) == [RobotState.CHARGING, RobotState.WAITING])
        sim.remove_object(sim.agents[0])
        run_until(sim, lambda: states(sim) == [RobotState.CHARGING])


def test_an_empty_robot_gives_its_order_back_and_says_so(tmp_path: Path) -> None:
    battery = {**BATTERY, "level": 60.0 / 3600.0}
    heard = []
    with depot(tmp_path, {"list": [ONE], "charging": {"options": {"low": 0.0}}}, battery=battery) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        sim.events.on("robot_out_of_energy", lambda agent: heard.append(agent.name))
        run_until(sim, lambda: bool(heard))
        sim.step_once()
        place = robot.get_pose().position
        status = orders.status("first")
        assert (status.state, status.reason) == (OrderState.WAITING, "its robot has no energy")
        assert states(sim) == [RobotState.OUT]
        sim.run_simulation(duration=20.0)
        assert robot.get_pose().position == place
        assert heard == ["amr_0"]
        assert orders.figures()["robots"]["time_s"]["out_of_energy"] == pytest.approx(20.0, abs=0.5)
        robot.feature("battery").battery_soc = 1.0
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_an_empty_robot_keeps_its_load_until_it_has_energy_again(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE], "charging": {"options": {"low": 0.0}}}, battery=BATTERY) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        run_until(sim, lambda: orders.status("first").state is OrderState.CARRYING)
        sim.run_simulation(duration=1.0)
        robot.feature("battery").battery_soc = 1e-4
        run_until(sim, lambda: states(sim) == [RobotState.OUT])
        sim.run_simulation(duration=30.0)
        assert orders.status("first").state is OrderState.CARRYING
        assert len(robot.get_attached_objects()) == 1
        robot.feature("battery").battery_soc = 1.0
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_idle_robots_park_as_set(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [ONE], "idle": "park"}, [[5.5, 3.5], [0.5, 0.5]]) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        run_until(sim, lambda: states(sim) == [RobotState.IDLE] * 2)
        # There is one place to park that can be reached: one of them has it, the other one stays.
        assert [13.5, 3.5] in [np.round(robot.get_pose().position[:2], 3).tolist() for robot in sim.agents]
        following = orders.submit(pick="shelf_b", drop="gate")
        run_until(sim, lambda: orders.status(following).state is OrderState.DONE)


class Never:
    """A policy of somebody else that says nonsense."""

    def go(self, request: ChargingRequest) -> Any:
        """Return what has the wrong shape."""
        return [True]

    def leave(self, request: ChargingRequest) -> Any:
        """Return nobody."""
        return np.zeros(len(request.rows), bool)


def test_policies_are_found_and_checked(tmp_path: Path) -> None:
    two = [[5.5, 3.5], [0.5, 0.5]]
    with depot(tmp_path, {"charging": {"policy": f"{__name__}:Never"}}, two, battery=BATTERY) as sim:
        sim.run_simulation(duration=11.0)
        assert sum(count for what, count in sim.guard.counts.items() if "charging policy" in what) == 3
    for chosen, message in (
        ({"policy": "treshold"}, "unknown charging policy 'treshold'. Did you mean 'threshold'"),
        ({"options": {"low": 2.0}}, "low: expected"),
        ({"options": {"low": 0.9, "full": 0.5}}, "low: must be less than full"),
        ({"options": {"lowest": 1}}, "cannot be made with"),
    ):
        with pytest.raises(fs.ConfigError, match=f"scenario.yaml: orders: .*{message}"):
            depot(tmp_path, {"charging": chosen})


# ---- Robots that serve orders in the traffic of a site ---------------------------------------------------------------


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
