"""The tables of a report by station, charger, robot and kind of robots, from poses and what robots and orders did."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import yaml
from depot import MAP, ROBOT
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderRun, OrderState, RobotState

STEP = 0.1
ORDERS = 10
NAMES = ("amr_0", "amr_1", "tug_0")
DOCK, PLUG = (13.5, 0.5), (0.5, 3.5)
STOPS = {"shelf_a": (3.5, 5.5), "shelf_b": (9.5, 5.5), "shelf_c": (9.5, 3.5), "dock": DOCK}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Three robots of two kinds bring loads to one dock, charge at one plug, and one breaks down on its way."""
    folder = tmp_path_factory.mktemp("depot")
    (folder / "depot.yaml").write_text(MAP)
    battery = {"capacity_wh": 1.0, "level": 0.55, "idle_power": 7.0, "drive_energy": 33.0, "charge_power": 90.0}
    robots = [
        {**ROBOT, "name": "amr_0", "pose": [5.5, 3.5, 0.15], "battery": battery},
        {**ROBOT, "name": "amr_1", "pose": [9.7, 5.5, 0.15], "battery": battery},
        {**ROBOT, "name": "tug_0", "pose": [0.7, 0.5, 0.15], "max_linear_vel": 1.3},
    ]
    listed = [{"id": f"o{number}", "pick": f"shelf_{'abc'[number % 3]}", "drop": "dock"} for number in range(ORDERS)]
    service = {"pick_time": 1.7, "drop_time": 5.3, "at_once": 1}
    content = {
        "simulation": {"gui": False, "timestep": STEP, "target_rtf": 0, "collision_check_frequency": 0},
        "site": "depot.yaml",
        "robots": robots,
        "orders": {
            "list": listed,
            "service": service,
            "attempts": 100,
            "retry_after": 1.2,
            "charging": {"period": 1.0, "options": {"low": 0.4}},
        },
        "disturbances": [{"kind": "breakdown", "robots": "amr_1", "at": 5.0, "lasts": 6.5}],
    }
    (folder / "scenario.yaml").write_text(yaml.safe_dump(content))
    changes: list[tuple[float, str, str, str]] = []
    states, places, charges = [], [], []
    with fs.MultiRobotSimulationCore.from_yaml(folder / "scenario.yaml") as sim:
        orders = sim.get_manager("orders")
        run, table = OrderRun(sim, orders), sim.features.table("orders")
        sim.events.on(
            "order_changed",
            lambda order, before, state, robot: changes.append((sim.sim_time, order, state.value, robot)),
        )
        places.append([agent.get_pose().position[:2] for agent in sim.agents])
        while orders.counts[OrderState.DONE] < ORDERS or any(state is RobotState.CHARGING for state in states[-1]):
            sim.step_once()
            places.append([agent.get_pose().position[:2] for agent in sim.agents])
            states.append([RobotState.from_code(int(table.state[agent.row])) for agent in sim.agents])
            charges.append([agent.feature("battery").battery_soc for agent in sim.agents[:2]])
            assert sim.sim_time < 300.0, orders.counts
        whole = run.run("", {})
        tables = {found.heading: found for found in whole.tables}
        status = {name: orders.status(name) for name in orders.names}
        figures = run.figures()
    way = np.array(places)
    return {
        "changes": changes,
        "states": np.array([[state.value for state in line] for line in states]),
        "places": way[1:],
        "steps": np.hypot(*np.diff(way, axis=0).transpose(2, 0, 1)),
        "tables": {
            heading: {row[0]: dict(zip(found.columns, row, strict=True)) for row in found.rows}
            for heading, found in tables.items()
        },
        "status": status,
        "figures": figures,
        "charges": np.array(charges),
        "levels": (whole.times, whole.levels),
    }


def spells(seen: dict[str, Any], state: str, at: tuple[float, float]) -> list[float]:
    """Return for how long robots were in a state at a place, spell by spell."""
    there = np.hypot(*(seen["places"] - at).transpose(2, 0, 1)) < 0.05
    found = []
    for mask in ((seen["states"] == state) & there).T:
        edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
        found += [(end - begin) * STEP for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    return found


def visits(seen: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield where orders were served, for how long, and how long their robots waited there before."""
    times = (np.arange(len(seen["states"])) + 1) * STEP
    for name, order in seen["status"].items():
        changes = [(time, state, robot) for time, of, state, robot in seen["changes"] if of == name]
        waited = 0
        for (begin, state, robot), (end, *_) in pairwise(changes):
            stop = order.stops[state in ("carrying", "dropping")]
            if state in ("picking", "dropping"):
                yield stop, end - begin, waited * STEP
            steps, number = (times > begin + 1e-6) & (times <= end + 1e-6), NAMES.index(robot)
            there = np.hypot(*(seen["places"][steps, number] - STOPS[stop]).T) < 0.05
            waited = np.count_nonzero(there & (seen["states"][steps, number] == "waiting"))


@holds("report:tables.stations.*", fault="warehouse/orders/run_figures.py: the longest wait is the mean wait")
@pytest.mark.parametrize("heading", ["Stations", "Chargers"])
def test_stations_and_chargers_served_whom_they_served(seen: dict[str, Any], heading: str) -> None:
    if heading == "Chargers":
        expected: dict[str, tuple[list[float], list[float]]] = {
            "plug": (spells(seen, "charging", PLUG), spells(seen, "waiting", PLUG))
        }
    else:
        expected = {}
        for place, seconds, waited in visits(seen):
            times, waits = expected.setdefault(place, ([], []))
            times.append(seconds)
            waits.append(waited)
        assert max(expected["dock"][1][:-1]) > 1.0 + expected["dock"][1][-1], "they queue there"
    whole = len(seen["states"]) * STEP
    assert seen["tables"][heading].keys() == expected.keys()
    for place, (times, waits) in expected.items():
        count, row = len(times), seen["tables"][heading][place]
        assert row["visits"] == count > 1 and row["per hour"] == pytest.approx(3600.0 * count / whole, abs=0.01)
        assert row["service, mean s"] == pytest.approx(sum(times) / count, abs=0.01)
        assert row["in use, %"] == pytest.approx(100.0 * sum(times) / whole, abs=0.01)
        assert row["wait, mean s"] == pytest.approx(sum(waits) / count, abs=0.01)
        assert row["longest wait, s"] == pytest.approx(max(waits, default=0.0), abs=0.01)


@holds("report:tables.robots.*", fault="warehouse/orders/run_figures.py: the shares of a kind are of its first robot")
def test_robots_and_their_kinds_did_what_they_did(seen: dict[str, Any]) -> None:
    kinds = {"amr": [0, 1], "tug": [2]}
    done = [sum(order.robot == name for order in seen["status"].values()) for name in NAMES]
    still, driven = seen["steps"] < 1e-3 * STEP, seen["steps"].sum(axis=0)
    shares = {
        "charging, %": (seen["states"] == "charging") & still,
        "serving, %": (seen["states"] == "serving") & still,
        "driving loaded, %": (seen["states"] == "loaded") & ~still,
    }
    robots = {name: [number] for number, name in enumerate(NAMES)}
    for heading, groups in (("Robots", robots), ("Kinds of robots", kinds)):
        rows = seen["tables"][heading]
        assert rows.keys() == groups.keys()
        for name, members in groups.items():
            row = rows[name]
            assert row["orders done"] == sum(done[number] for number in members) > 0
            key = "driven, m" if heading == "Robots" else "driven each, m"
            assert row[key] == pytest.approx(driven[members].mean(), abs=0.01)
            for share, mask in shares.items():
                assert row[share] == pytest.approx(100.0 * mask[:, members].mean(), abs=0.5), share
            assert sum(value for share, value in row.items() if share.endswith("%")) == pytest.approx(100.0, abs=0.06)
    assert [seen["tables"]["Kinds of robots"][kind]["robots"] for kind in kinds] == [2, 1]


@holds(
    "report:order_*_s_mean", "report:tables.orders.*", fault="warehouse/orders/transport.py: a queue is a disturbance"
)
def test_orders_wait_in_queues_and_for_robots_that_broke_down(seen: dict[str, Any]) -> None:
    times = (np.arange(len(seen["states"])) + 1) * STEP
    spent = {"queue": 0.0, "disturbance": 0.0}
    for name, order in seen["status"].items():
        changes = [(time, state, robot) for time, of, state, robot in seen["changes"] if of == name]
        for (begin, state, robot), (end, *_) in pairwise(changes):
            if state not in ("driving", "carrying"):
                continue
            steps, number = (times > begin + 1e-6) & (times <= end + 1e-6), NAMES.index(robot)
            still = seen["steps"][steps, number] < 1e-3 * STEP
            stop = STOPS[order.stops[state == "carrying"]]
            there = np.hypot(*(seen["places"][steps, number] - stop).T) < 0.05
            spent["queue"] += np.count_nonzero(still & there) * STEP
            spent["disturbance"] += np.count_nonzero(still & ~there) * STEP
    told, shown = seen["figures"], seen["tables"]["What the time of an order went into"]
    means = {cause: seconds / ORDERS for cause, seconds in spent.items()}
    assert means["queue"] > 0.5 and 0.5 < means["disturbance"] < 2.0
    # At each of its two stops a robot stands for a step until it is served, or waits.
    assert {cause: told[f"order_{cause}_s_mean"] for cause in spent} == pytest.approx(means, abs=2.01 * STEP)
    assert told["order_traffic_s_mean"] <= 2.01 * STEP
    for cause, row in shown.items():
        seconds = told[f"order_{cause.replace(' ', '_')}_s_mean"]
        assert row["mean, s"] == pytest.approx(seconds, abs=0.006)
        assert row["share, %"] == pytest.approx(100.0 * seconds / told["flow_time_s_mean"], abs=0.006)


@holds("report:levels.battery_*", fault="warehouse/orders/run_figures.py: the least charge is the largest")
def test_charges_over_time_are_those_of_the_robots_that_have_batteries(seen: dict[str, Any]) -> None:
    ends, levels = seen["levels"]
    last = np.concatenate(([0], np.round(ends / STEP).astype(int)))
    percent = 100.0 * seen["charges"]
    assert np.ptp(percent.min(axis=1)) > 10.0 and np.abs(np.diff(percent, axis=1)).max() > 10.0
    for name, shown in (("mean", percent.mean(axis=1)), ("least", percent.min(axis=1))):
        sums = np.diff(np.concatenate(([0.0], np.cumsum(shown) * STEP))[last])
        assert levels[f"battery_{name}_percent"] == pytest.approx(sums, rel=2e-3), name
