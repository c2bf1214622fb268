"""The figures of orders, computed again from the poses of the robots and the changes of the orders."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.warehouse.orders import OrderRun, OrderState
from fleet_sim.warehouse.sites import Warehouse, write_site

STEP = 0.05
END = 110.0
FINAL = ("done", "cancelled", "failed")


class Seen(NamedTuple):
    """What a run of orders did, step by step."""

    sim: fs.MultiRobotSimulationCore
    run: OrderRun
    times: np.ndarray
    """When (T,) each step ended; how far (T, N) each robot came in it, and turned; and which had a load at its end."""
    ways: np.ndarray
    turns: np.ndarray
    loaded: np.ndarray
    changes: list[tuple[float, str, str, str]]
    """When each order changed, its state from then on, and its robot."""
    looks: dict[float, dict[str, Any]]
    """The figures at some times of the run."""

    def when(self, order: str, state: str, before: float = np.inf) -> float:
        """Return when an order last came into a state."""
        return max((time for time, name, to, _ in self.changes if name == order and to == state and time <= before))

    def state(self, order: str, time: float) -> str:
        """Return the state of an order at a time."""
        return next((to for at, name, to, _ in reversed(self.changes) if name == order and at <= time), "waiting")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A hall turned by 0.7 rad: too few robots, orders that come late, two for later, two cancelled, batteries."""
    folder = tmp_path_factory.mktemp("orders")
    write_site(Warehouse(rows=2, columns=2, chargers=2).site(), folder / "hall.yaml")
    listed = [
        {"id": f"later_{index}", "pick": "shelf_0", "drop": "workstation_0", "release": release, "due": release + 31.0}
        for index, release in enumerate((40.0, 45.0, 300.0, 400.0))
    ]
    scenario = {
        "simulation": {"gui": False, "target_rtf": 0, "timestep": STEP, "seed": 4},
        "site": {"map": "hall.yaml"},
        "robots": [
            {
                "name": "amr",
                "at": {"site": "free", "count": 5, "seed": 1},
                "shape": {"shape_type": "cylinder", "radius": 0.3},
                "controller": {"type": "differential", "max_linear_vel": 1.7, "max_angular_vel": 2.3},
                "orders": {"max_load": 70, "loaded_speed": 0.6},
                "battery": {"capacity_wh": 300, "level": 0.9, "idle_power": 13, "drive_energy": 41, "load_energy": 1.3},
            }
        ],
        "traffic": {"planner": "pibt"},
        "orders": {
            "list": listed,
            "arrivals": [{"per_hour": [900], "due_after": 37.0, "load": [3, 50]}],
            "service": {"pick_time": 2.35, "drop_time": 3.1, "at_once": 9},
            "sample_period": 7.0,
        },
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        orders = sim.get_manager("orders")
        run = OrderRun(sim, orders)
        changes: list[tuple[float, str, str, str]] = []
        sim.events.on(
            "order_changed",
            lambda order, before, state, robot: changes.append((sim.sim_time, order, state.value, robot)),
        )
        names = [agent.name for agent in sim.agents]
        looks, times, ways, turns, loaded = {}, [], [], [], []
        before = poses(sim)
        while sim.sim_time < END:
            sim.step_once()
            now = poses(sim)
            times.append(sim.sim_time)
            ways.append(np.hypot(*(now[:, :2] - before[:, :2]).T))
            turns.append(np.abs((now[:, 2] - before[:, 2] + np.pi) % (2 * np.pi) - np.pi))
            having = {orders.status(name).robot for name in orders.names if has_load(orders.status(name))}
            loaded.append([name in having for name in names])
            before = now
            if len(times) in (905, 1500):
                looks[sim.sim_time] = {**orders.figures(), "run": run.figures()}
            if len(times) == 300:
                orders.cancel(next(name for name in orders.names if orders.status(name).state is OrderState.WAITING))
                orders.cancel("later_3")
        looks[sim.sim_time] = {**orders.figures(), "run": run.figures()}
        yield Seen(sim, run, np.array(times), np.array(ways), np.array(turns), np.array(loaded), changes, looks)


def poses(sim: fs.MultiRobotSimulationCore) -> np.ndarray:
    """Return x, y and yaw (N, 3) of all robots."""
    return np.array([(*agent.get_pose().position[:2], agent.get_pose().yaw) for agent in sim.agents])


def has_load(status: Any) -> bool:
    """Return whether the robot of an order has its load."""
    return status.state.value in ("carrying", "dropping")


def percentile(values: list[float], percent: float) -> float:
    """Return a percentile as it is usually interpolated: between the two values around its rank."""
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100.0
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


@holds(
    "report:orders.orders.*",
    "report:orders.lateness_s.late",
    "report:orders.lateness_s.done_late",
    "report:orders.lateness_s.overdue",
    "report:orders.lateness_s.with_due",
    "report:orders_*",
    "report:tasks_done",
    fault=(
        "warehouse/orders/orders.py: late is without the open orders past their due time; "
        "waiting has those not released"
    ),
)
def test_orders_are_counted_by_what_became_of_them_at_any_time(seen: Seen) -> None:
    orders = seen.sim.get_manager("orders")
    for time, told in seen.looks.items():
        known = [orders.status(name) for name in orders.names]
        known = [one for one in known if one.released <= time or one.id.startswith("later")]
        states = {one.id: seen.state(one.id, time) for one in known}
        released = [one for one in known if one.released <= time]
        waiting = [one for one in released if states[one.id] == "waiting"]
        unreleased = [one for one in known if one.released > time and states[one.id] == "waiting"]
        done = [one for one in known if states[one.id] == "done"]
        late = [one for one in done if seen.when(one.id, "done") > one.due]
        overdue = [one for one in known if states[one.id] not in FINAL and one.due < time]
        expected = {"submitted": len(known), "refused": 0, "unreleased": len(unreleased), "waiting": len(waiting)}
        for state in ("assigned", "driving", "picking", "carrying", "dropping", *FINAL):
            expected[state] = list(states.values()).count(state)
        assert told["orders"] == expected
        lateness = {name: told["lateness_s"][name] for name in ("with_due", "late", "done_late", "overdue")}
        assert lateness == {
            "with_due": len(done),
            "late": len(late) + len(overdue),
            "done_late": len(late),
            "overdue": len(overdue),
        }
        for name in ("submitted", "refused", "cancelled", "failed", "unreleased", "waiting"):
            assert told["run"][f"orders_{name}"] == expected[name]
        for name in ("late", "done_late", "overdue"):
            assert told["run"][f"orders_{name}"] == lateness[name]
        assert told["run"]["orders_with_due"] == told["run"]["tasks_done"] == len(done)
    # Each of them was seen.
    assert len(done) > 5 and late and overdue and waiting and unreleased and expected["cancelled"] == 2


@holds(
    "report:levels.*",
    "report:orders.history.*",
    fault="warehouse/orders/orders.py: waiting has those not released, so that the figure and its plot differ",
)
def test_what_is_kept_over_time_is_what_was_at_that_time(seen: Seen) -> None:
    orders = seen.sim.get_manager("orders")
    history = orders.history()
    known = [orders.status(name) for name in orders.names]
    # A sample is taken before what comes in its step.
    assert np.allclose(history["time"], np.arange(len(history["time"])) * 7.0)
    run = seen.run.run("", {})
    lengths = np.diff(run.times, prepend=0.0)
    stretches = np.searchsorted(run.times, seen.times - 1e-9)
    sums = {"orders_waiting": np.zeros(len(run.times)), "orders_open": np.zeros(len(run.times))}
    for time, stretch in zip(seen.times, stretches, strict=True):
        states = [seen.state(one.id, time - 1e-9) for one in known if one.released <= time - STEP + 1e-9]
        sums["orders_waiting"][stretch] += states.count("waiting") * STEP
        sums["orders_open"][stretch] += sum(state not in FINAL for state in states) * STEP
    for name, expected in sums.items():
        assert run.levels[name] / lengths == pytest.approx(expected / lengths, abs=0.26), name
    last = run.levels["orders_waiting"][-1] / lengths[-1]
    assert last == pytest.approx(seen.looks[seen.times[-1]]["orders"]["waiting"])
    assert history["orders_unreleased"][0] == 4 and history["orders_waiting"][0] == 0


@holds(
    "report:orders.flow_time_s.*",
    "report:orders.waiting_time_s.*",
    "report:orders.fetching_time_s.*",
    "report:orders.carrying_time_s.*",
    "report:orders.lateness_s.*",
    "report:orders.throughput_per_hour.*",
    "report:flow_time_s_*",
    "report:waiting_time_s_mean",
    "report:fetching_time_s_mean",
    "report:carrying_time_s_mean",
    "report:lateness_s_*",
    "report:throughput_per_*",
    fault="warehouse/orders/orders.py: fetching is counted from the release",
)
def test_the_times_of_orders_are_those_between_their_changes(seen: Seen) -> None:
    orders = seen.sim.get_manager("orders")
    for end, told in seen.looks.items():
        found: dict[str, list[float]] = {
            name: [] for name in ("flow_time_s", "waiting_time_s", "fetching_time_s", "carrying_time_s", "lateness_s")
        }
        for name in orders.names:
            if seen.state(name, end) != "done":
                continue
            status = orders.status(name)
            assigned, picked, done = (seen.when(name, state) for state in ("assigned", "carrying", "done"))
            assert (status.assigned, status.picked, status.ended) == pytest.approx((assigned, picked, done))
            found["flow_time_s"].append(done - status.released)
            found["waiting_time_s"].append(assigned - status.released)
            found["fetching_time_s"].append(picked - assigned)
            found["carrying_time_s"].append(done - picked)
            found["lateness_s"].append(max(done - status.due, 0.0))
        count = len(found["flow_time_s"])
        parts = sum(sum(found[f"{name}_time_s"]) for name in ("waiting", "fetching", "carrying"))
        assert parts == pytest.approx(sum(found["flow_time_s"]))
        for name, values in found.items():
            expected = {"mean": sum(values) / count, "max": max(values)}
            expected |= {f"p{percent}": percentile(values, percent) for percent in (50, 90, 99)}
            assert {key: told[name][key] for key in expected} == pytest.approx(expected), name
            run = {key: told["run"][f"{name}_{key}"] for key in expected if f"{name}_{key}" in told["run"]}
            assert run and run == pytest.approx({key: expected[key] for key in run}), name
        rate = count / end * 3600.0
        assert told["throughput_per_hour"] == pytest.approx({"mean": rate, "last_hour": rate})
        assert told["run"]["throughput_per_h"] == pytest.approx(rate)
        assert told["run"]["throughput_per_s"] == pytest.approx(count / end)


@holds(
    "report:orders.robots.driven_m",
    "report:orders.robots.driven_loaded_m",
    "report:driven_m",
    "report:driven_loaded_m",
    "report:driven_per_task_m",
    "report:speed_mean",
    "report:speed_max",
    "report:orders.robots.energy_j",
    "report:orders.robots.stood_driving_s",
    "report:energy_wh",
    fault="warehouse/orders/transport.py: ways are speeds at the ends of steps times their length",
)
def test_robots_drove_as_far_as_their_poses_say(seen: Seen) -> None:
    for end, told in seen.looks.items():
        steps = round(end / STEP)
        ways, loaded = seen.ways[:steps], seen.loaded[:steps]
        whole = ways.sum()
        assert told["robots"]["driven_m"] == pytest.approx(whole, rel=1e-9)
        assert told["robots"]["driven_loaded_m"] == pytest.approx(ways[loaded].sum(), rel=1e-9)
        run = told["run"]
        assert run["driven_m"] == pytest.approx(whole, rel=1e-9)
        assert run["driven_loaded_m"] == pytest.approx(ways[loaded].sum(), rel=1e-9)
        assert run["driven_per_task_m"] == pytest.approx(whole / run["tasks_done"])
        assert run["speed_mean"] == pytest.approx(whole / (5 * end))
        # The fastest of all steps, but for the speeding up within one.
        assert run["speed_max"] == pytest.approx(ways.max() / STEP, abs=0.1) and run["speed_max"] <= 1.7
    # Nobody charges: what is gone from the batteries was used.
    used = sum(0.9 * 300 * 3600 - agent.feature("battery").energy for agent in seen.sim.agents)
    assert told["robots"]["energy_j"] == pytest.approx(used) and run["energy_wh"] == pytest.approx(used / 3600)
    waits = run["share_waiting"] + run["share_blocked"]
    turns = ((seen.ways <= 1e-3 * STEP) & (seen.turns > 1e-3 * STEP)).sum() * STEP
    # To stand on the way is to wait, or to turn.
    stood = told["robots"]["stood_driving_s"]
    assert waits * 5 * end <= stood + 1e-6 and stood <= waits * 5 * end + turns + 1e-6


@holds(
    "report:share_*",
    "report:orders.robots.time_s.*",
    "report:orders.robots.share.*",
    fault="warehouse/orders/run_figures.py: what moves is told by the speeds at the ends of steps",
)
def test_robots_drive_for_as_long_as_they_move(seen: Seen) -> None:
    told = seen.looks[seen.times[-1]]
    run, whole = told["run"], seen.times[-1] * 5
    moves = (seen.ways > 1e-3 * STEP) | (seen.turns > 1e-3 * STEP)
    assert run["share_driving_loaded"] == pytest.approx((moves & seen.loaded).sum() * STEP / whole)
    assert run["share_driving_empty"] == pytest.approx((moves & ~seen.loaded).sum() * STEP / whole)
    assert sum(share for name, share in run.items() if name.startswith("share_")) == pytest.approx(1.0)
    shares, seconds = told["robots"]["share"], told["robots"]["time_s"]
    assert shares == pytest.approx({state: time / whole for state, time in seconds.items()})
    serving = loaded = 0.0
    for name in {name for _, name, _, _ in seen.changes}:
        own = [(time, state) for time, other, state, _ in seen.changes if other == name] + [(seen.times[-1], "")]
        for (begin, state), (end, _) in pairwise(own):
            serving += (end - begin) * (state in ("picking", "dropping"))
            loaded += (end - begin) * (state == "carrying")
    assert seconds["serving"] == pytest.approx(serving) and seconds["loaded"] == pytest.approx(loaded)
    assert run["share_serving"] == pytest.approx(serving / whole)


@holds(
    "report:order_*_s_mean",
    "report:tables.orders.*",
    "report:tables.stations.*",
    "report:tables.robots.*",
    fault="warehouse/orders/transport.py: standing for others on the way counts as driving",
)
def test_the_parts_of_an_order_add_up_to_its_time(seen: Seen) -> None:
    orders, run = seen.sim.get_manager("orders"), seen.looks[seen.times[-1]]["run"]
    names = [agent.name for agent in seen.sim.agents]
    still = (seen.ways <= 1e-3 * STEP) & (seen.turns <= 1e-3 * STEP)
    done = [orders.status(name) for name in orders.names if orders.status(name).state is OrderState.DONE]
    spent = dict.fromkeys(("assignment", "driving_empty", "driving_loaded", "traffic", "service"), 0.0)
    visits: dict[str, list[float]] = {}
    for order in (orders.status(name) for name in orders.names):
        changes = [(time, state, robot) for time, name, state, robot in seen.changes if name == order.id]
        for (begin, state, robot), (end, *_) in pairwise([*changes, (seen.times[-1], "", "")]):
            if state in ("picking", "dropping") and end < seen.times[-1]:
                visits.setdefault(order.stops[state == "dropping"], []).append(end - begin)
            if order not in done:
                continue
            if state in ("driving", "carrying"):
                steps = (seen.times > begin + 1e-9) & (seen.times <= end + 1e-9)
                stood = still[steps, names.index(robot)].sum() * STEP
                spent["traffic"] += stood
                spent["driving_empty" if state == "driving" else "driving_loaded"] += end - begin - stood
            elif state in ("picking", "dropping"):
                spent["service"] += end - begin
        if order in done:
            spent["assignment"] += next(time for time, state, _ in changes if state == "driving") - order.released
    told = {part: run[f"order_{part}_s_mean"] for part in spent}
    # A robot begins to stand, or to drive, within a step.
    assert told == pytest.approx({part: seconds / len(done) for part, seconds in spent.items()}, abs=STEP)
    assert sum(told.values()) == pytest.approx(run["flow_time_s_mean"]) and told["traffic"] > 0.5
    assert run["order_queue_s_mean"] == run["order_disturbance_s_mean"] == 0.0
    tables = {table.heading: table for table in seen.run.run("", {}).tables}
    shown = {row[0]: dict(zip(tables["Stations"].columns, row, strict=True)) for row in tables["Stations"].rows}
    assert {name: row["visits"] for name, row in shown.items()} == {name: len(ends) for name, ends in visits.items()}
    for name, ends in visits.items():
        assert shown[name]["service, mean s"] == pytest.approx(sum(ends) / len(ends), abs=0.01)
        assert shown[name]["in use, %"] == pytest.approx(100.0 * sum(ends) / seen.times[-1], abs=0.01)
    robots = {row[0]: row for row in tables["Robots"].rows}
    assert {name: row[1] for name, row in robots.items()} == {
        name: sum(order.robot == name for order in done) for name in names
    }
    assert [robots[name][2] for name in names] == pytest.approx(seen.ways.sum(axis=0), abs=0.01)
    assert tables["Kinds of robots"].rows[0][:3] == ("amr", 5, len(done))
