"""Chargers of orders: each robot has one place in a queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from depot import depot
from oracle_rows import holds

from fleet_sim.warehouse.orders import OrderState

OPEN = ("assigned", "picking")


@holds(
    "report:orders.robots.time_s.charging",
    fault="warehouse/orders/charging.py: a robot that is gone stays in the queue for a charger",
)
def test_a_robot_that_gives_up_its_place_is_not_waited_for(tmp_path: Path) -> None:
    battery = {"capacity_wh": 1.0, "idle_power": 0.0, "charge_power": 200.0, "level": 0.2, "low_level": 0.1}
    places = [[0.5, 0.5], [5.5, 2.5], [9.5, 5.5], [12.5, 2.5]]
    with depot(tmp_path, {"charging": {"period": 1.0}}, places, timestep=0.05, battery=battery) as sim:
        robots, table, seconds = sim.agents, sim.features.table("orders"), 0.0
        while not (sim.sim_time > 3.0 and any(robot.feature("battery").is_charging for robot in robots)):
            sim.step_once()
            seconds += 0.05 * any(robot.feature("battery").is_charging for robot in robots)
        waiting = [robot for robot in robots if not robot.feature("battery").is_charging]
        assert len(waiting) == 3
        # One is removed, and one is empty while it waits.
        sim.remove_object(waiting[0])
        waiting[1].feature("battery").battery_soc = 0.0
        left = [robot for robot in robots if robot is not waiting[0]]
        charged = set()
        while sim.sim_time < 120.0:
            sim.step_once()
            at = [robot.name for robot in left if robot.feature("battery").is_charging]
            # A robot has the only charger to itself, and nobody has it who is not there.
            assert len(at) <= 1
            charged.update(at)
            seconds += 0.05 * len(at)
        assert waiting[2].name in charged and waiting[2].feature("battery").battery_soc > 0.9
        assert waiting[1].name not in charged
        told = sim.get_manager("orders").figures()["robots"]["time_s"]["charging"]
        assert told == pytest.approx(seconds, abs=0.3)
        assert int(table.order[waiting[2].row]) == -1 and sim.get_manager("orders").counts[OrderState.FAILED] == 0
