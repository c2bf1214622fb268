"""Figures of reports in scenes that reports were wrong in, and a list of all that there are."""

from __future__ import annotations

import ast
import fnmatch
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from depot import depot
from oracle_rows import holds
from pod_floor import scenario

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.reports.page import KNOWN
from fleet_sim.base.files import data_file
from fleet_sim.warehouse.orders import OrderRun, OrderState


def places(sim: fs.MultiRobotSimulationCore) -> np.ndarray:
    """Return x and y (N, 2) of all robots."""
    return np.array([agent.get_pose().position[:2] for agent in sim.agents])


@holds(
    "report:driven_m",
    "report:orders.robots.driven_m",
    fault=(
        "warehouse/orders/run_figures.py: a ride with the lift is a drive from storey to storey "
        "on the chart of the report"
    ),
)
def test_a_ride_with_the_lift_is_no_drive() -> None:
    scenario = {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": 0.1},
        "building": {
            "map": str(data_file("config", "sites/maps/two_floors.building.yaml")),
            "robots": False,
            "items": False,
            "automatic": 1.5,
        },
        "robots": [
            {
                "name": "porter",
                "pose": [2.0, 4.0, 0.2],
                "shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.4},
                "controller": {"type": "differential", "max_linear_vel": 1.3, "max_linear_accel": 1.7},
                "orders": {},
            }
        ],
        "orders": {"list": [{"id": "up", "pick": "pantry", "drop": "kitchen"}], "service": {"pick_time": 1.0}},
    }
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        orders = sim.get_manager("orders")
        run = OrderRun(sim, orders)
        way, before = 0.0, places(sim)
        while orders.status("up").state is not OrderState.DONE and sim.sim_time < 200.0:
            sim.step_once()
            way, before = way + np.hypot(*(places(sim) - before)[0]), places(sim)
        assert sim.agents[0].get_pose().z > 4.0 and way > 10.0
        assert run.figures()["driven_m"] == pytest.approx(way)
        assert orders.figures()["robots"]["driven_m"] == pytest.approx(way)


CORRIDOR = """
site: corridor
cell: 1.0
rows: |
  @@@@@@.@@@@@@
  .............
stations:
  - {name: left, kind: pick, at: [1.5, 0.5]}
  - {name: right, kind: drop, at: [11.5, 0.5]}
"""


@holds(
    "report:share_driving_empty",
    "report:share_idle",
    fault="warehouse/orders/run_figures.py: robots without an order that give way are idle while they move",
)
def test_a_robot_that_gives_way_drives(tmp_path: Path) -> None:
    (tmp_path / "corridor.yaml").write_text(CORRIDOR)
    robot = {
        "shape": {"shape_type": "cylinder", "radius": 0.3},
        "controller": {"type": "differential", "max_linear_vel": 1.3, "max_angular_vel": 2.1},
        "orders": {},
    }
    content = {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": 0.05},
        "site": "corridor.yaml",
        "robots": [{"name": name, "pose": [x, 0.5, 0.15], **robot} for name, x in (("amr", 0.5), ("idle", 7.5))],
        "traffic": {"planner": "pibt"},
        "orders": {"list": [{"id": "a", "pick": "left", "drop": "right"}], "service": {"pick_time": 1.1}},
    }
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(content))
    with fs.MultiRobotSimulationCore.from_yaml(tmp_path / "scenario.yaml") as sim:
        orders = sim.get_manager("orders")
        run = OrderRun(sim, orders)
        moved, idle, steps = np.zeros(2), 0.0, 0
        before = [agent.get_pose() for agent in sim.agents]
        while orders.delivered < 1 and sim.sim_time < 100.0:
            sim.step_once()
            now = [agent.get_pose() for agent in sim.agents]
            moves = [
                np.hypot(*(np.array(a.position) - b.position)[:2]) > 5e-5 or abs(a.yaw - b.yaw) > 5e-5
                for a, b in zip(now, before, strict=True)
            ]
            moved, before, steps = moved + moves, now, steps + 1
            # It has no order at any time.
            idle += not moves[1]
        assert moved[1] > 5 and orders.status("a").robot == "amr"
        shares = {name: share for name, share in run.figures().items() if name.startswith("share_driving")}
        assert sum(shares.values()) == pytest.approx(moved.sum() / (2 * steps))
        assert shares["share_driving_empty"] >= moved[1] / (2 * steps)
        # In the last step the other one is idle, too.
        assert run.figures()["share_idle"] == pytest.approx((idle + 1) / (2 * steps))


@holds(
    *(f"report:{name}" for name in ("lines_done", "items_picked", "pod_visits", "items_per_visit", "pod_fills")),
    *(f"report:{name}" for name in ("items_filled", "orders_short", "refused_for_stock", "storage_waits")),
    *("report:pods_stranded", "report:station_idle_share", "report:orders.pods.*"),
    fault="warehouse/orders/pods/crew.py: each fill counts as one item",
)
def test_pods_are_counted_by_where_they_are(tmp_path: Path) -> None:
    pods: dict[str, Any] = {
        "list": [
            {"id": "one", "at": [4.5, 2.5], "stock": {"tea": 5, "nuts": 4}},
            {"id": "two", "at": [6.5, 6.5], "stock": {"tea": 2, "salt": 6}},
        ],
        "capacity": 20,
        "go_on": False,
        "replenishment": {"type": "threshold", "options": {"below": 0.6}},
    }
    with scenario(tmp_path, pods) as sim:
        orders = sim.get_manager("orders")
        run = OrderRun(sim, orders)
        lines = [{"tea": 3, "nuts": 1}, {"salt": 4}, {"tea": 4}, {"nuts": 3, "salt": 1}]
        for number, wanted in enumerate(lines):
            orders.submit(lines=wanted, drop=("left", "right")[number % 2])
        with pytest.raises(fs.FleetSimError):
            orders.submit(lines={"sugar": 1})
        shelves = {name: sim.get_object(name) for name in ("one", "two")}
        carried, carries, visits, told = dict.fromkeys(shelves, False), 0, 0, {"fills": 0}
        while sim.sim_time < 300.0 and (told["fills"] < 2 or orders.delivered < 4 or any(carried.values())):
            sim.step_once()
            for name, shelf in shelves.items():
                carries += shelf.is_attached() and not carried[name]
                visits += carried[name] and not shelf.is_attached()
                carried[name] = shelf.is_attached()
            told = orders.figures()["pods"]
        run_told = run.figures()
        items = sum(sum(wanted.values()) for wanted in lines)
        assert told["lines_done"] == run_told["lines_done"] == sum(len(wanted) for wanted in lines)
        assert told["items_picked"] == run_told["items_picked"] == told["stock"]["picked"] == items
        # Each time that a pod is lifted and stored again is a visit to pick or to fill.
        assert carries == visits == told["visits"] + told["fills"] and told["fills"] > 0
        assert (run_told["pod_visits"], run_told["pod_fills"]) == (told["visits"], told["fills"])
        assert told["items_per_visit"] == run_told["items_per_visit"] == pytest.approx(items / told["visits"])
        came = told["stock"]["on_pods"] + told["stock"]["picked"] - 17
        assert told["items_filled"] == run_told["items_filled"] == came > 0
        assert told["orders_short"] == told["refused_for_stock"] == told["storage_waits"] == told["stranded"] == 0
        assert run_told["orders_refused"] == 1
        idle = told["station_idle_s"]
        assert told["station_idle_share"] == pytest.approx(sum(idle.values()) / (len(idle) * sim.sim_time))


@holds("report:robot.distance_m", fault="apps/cli/summary.py: distances are speeds at the ends of steps times dt")
def test_each_robot_drove_as_far_as_its_poses_say(tmp_path: Path) -> None:
    robot = {"controller": {"type": "omni", "max_linear_vel": 0.9, "max_linear_accel": 0.7}}
    goals = [{"type": "move_to", "target_pose": [x, y, 0.0]} for x, y in ((1.3, 0.4), (0.2, 2.1))]
    content = {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": 0.05, "duration": 3.35},
        "robots": [{"name": "drives", "actions": goals, **robot}, {"name": "rests", "pose": [5.0, 1.0, 0.0], **robot}],
    }
    file, out = tmp_path / "scenario.yaml", tmp_path / "run.json"
    file.write_text(yaml.safe_dump(content))
    assert main(["run", str(file), "--lenient", "--headless", "--json", str(out)]) == 0
    told = {line["robot"]: line["distance_m"] for line in json.loads(out.read_text())["runs"][0]["robots"]}
    with fs.MultiRobotSimulationCore.from_yaml(file) as sim:
        way, before = 0.0, places(sim)
        for _ in range(67):
            sim.step_once()
            way, before = way + np.hypot(*(places(sim) - before)[0]), places(sim)
    # It ends while it drives, where speeds at the ends of steps are off by half a step.
    assert told == pytest.approx({"drives": way, "rests": 0.0}) and way > 1.0


@pytest.mark.slow
@holds(
    "report:orders.throughput_per_hour.last_hour",
    fault="warehouse/orders/orders.py: the last hour has all orders that are done",
)
def test_the_last_hour_is_without_those_before(tmp_path: Path) -> None:
    orders = {"arrivals": [{"per_hour": [150]}], "service": {"pick_time": 1.3}}
    with depot(tmp_path, orders, [[5.5, 3.5], [9.5, 5.5]], timestep=0.7) as sim:
        ended: list[float] = []
        sim.events.on("order_changed", lambda state, **_: ended.append(sim.sim_time) if state.value == "done" else None)
        while sim.sim_time < 4100.0:
            sim.step_once()
        told = sim.get_manager("orders").figures()["throughput_per_hour"]
        late = sum(time > sim.sim_time - 3600.0 for time in ended)
        assert told["last_hour"] == late < len(ended)
        assert told["mean"] == pytest.approx(len(ended) / sim.sim_time * 3600.0)


def told_numbers() -> list[str]:
    """Return all figures that reports know by name, as oracles name them."""
    return [f"report:{figure.key}" for figures in KNOWN.values() for figure in figures]


ELSEWHERE = {
    "report:*_ms_*": "wall time of planners",
    "report:*plans": "counted by planners: test/warehouse/traffic",
    "report:wall_s": "wall time",
    "report:cpu_s": "time of the processor",
    "report:real_time_factor": "a ratio of wall time",
    "report:sum_of_costs": "of plans: test/warehouse/traffic",
    "report:makespan_s": "of plans: test/warehouse/traffic",
    "report:simulated_s": "the clock",
    "report:robots": "their number",
    "report:orders_done": "the figures of league files: test/warehouse/traffic",
    "report:orders_per_h": "the figures of league files: test/warehouse/traffic",
    "report:c*": "collisions and distances of all traffic: test_traffic.py",
    "report:deadlocks": "of all traffic: test_traffic.py",
    "report:stuck_robots": "of all traffic: test_traffic.py",
    "report:longest_wait_s": "of all traffic: test_traffic.py",
    "report:waiting_s_mean": "of all traffic: test_traffic.py",
}


def test_every_figure_is_held() -> None:
    held = list(ELSEWHERE)
    for file in Path(__file__).parent.glob("test_*.py"):
        texts = (node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant))
        held += [text for text in texts if isinstance(text, str) and text.startswith("report:")]
    # Names that are put together above.
    held += ["report:lines_done", "report:items_*", "report:pod_*", "report:orders_short", "report:refused_for_stock"]
    held += ["report:storage_waits"]
    missing = [name for name in told_numbers() if not any(fnmatch.fnmatch(name, known) for known in held)]
    assert missing == []
