"""Stations: how long they serve whom, in which order, and who waits where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of, run_until
from scipy import stats

from fleet_sim.base.errors import ConfigError
from fleet_sim.robots.agent import Agent
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.orders import OrderState
from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, write_site

# ---- service times ---------------------------------------------------------------------------------------------------


def served(folder: Path, service: dict[str, Any], count: int, timestep: float = 0.1) -> dict[str, list[float]]:
    """Return how long each order was picked and dropped, by the events of a run, in the order of the orders."""
    entries = [{"id": str(number), "pick": "shelf_c", "drop": ("dock", "desk")[number % 2]} for number in range(count)]
    times: dict[str, dict[str, float]] = {"picking": {}, "dropping": {}}
    with depot(folder, {"list": entries, "service": service}, timestep=timestep) as sim:
        orders = orders_of(sim)

        def note(order: str, before: OrderState, state: OrderState, robot: str) -> None:
            for name, by_order in times.items():
                if state.value == name:
                    by_order[order] = -sim.clock.time
                if before.value == name:
                    by_order[order] += sim.clock.time

        sim.events.on("order_changed", note)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == count, most=100.0 * count)
    return {name: [by_order[entry["id"]] for entry in entries] for name, by_order in times.items()}


def test_stations_have_service_times_of_their_own(tmp_path: Path) -> None:
    stations = {"workstation": {"drop_time": 3, "pick_time": 9}, "drop": {"drop_time": 7}, "dock": {"drop_time": 1.5}}
    found = served(tmp_path, {"pick_time": 2, "stations": stations}, 4)
    assert found["picking"] == pytest.approx([2.0] * 4)
    assert found["dropping"] == pytest.approx([1.5, 3.0] * 2)


def test_service_times_are_drawn_by_order(tmp_path: Path) -> None:
    given = {"pick_time": {"exponential": 4}, "drop_time": {"lognormal": [6, 2]}}
    found = served(tmp_path, given, 60, timestep=0.05)
    # To a step.
    assert stats.kstest(found["picking"], stats.expon(scale=4).cdf).pvalue > 0.01
    assert np.mean(found["dropping"]) == pytest.approx(6.0, rel=0.15)
    # Another service time at the first stop draws no other at the last one.
    again = served(tmp_path, {**given, "pick_time": 1}, 6, timestep=0.05)
    assert again["dropping"] == pytest.approx(found["dropping"][:6], abs=0.051)
    # Two stops of an order are two draws.
    alike = served(tmp_path, {"pick_time": {"exponential": 4}, "drop_time": {"exponential": 4}}, 6, timestep=0.05)
    assert (np.abs(np.subtract(alike["picking"], alike["dropping"])) > 0.1).sum() > 3


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        ({"pick_time": {"uniform": [2, 1]}}, r"orders\.service\.pick_time: uniform"),
        ({"stations": {"dok": {"at_once": 2}}}, r"orders\.service\.stations\.dok.*Did you mean 'dock'"),
        ({"stations": {"dock": {"at_once": 0}}}, r"orders\.service\.stations\.dock\.at_once"),
        ({"stations": {"dock": {"atonce": 1}}}, r"stations\.dock\.atonce: unknown key"),
    ],
)
def test_bad_service_is_refused(tmp_path: Path, service: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        depot(tmp_path, {"service": service})


# ---- queues ----------------------------------------------------------------------------------------------------------

ROBOT = {"shape_type": "box", "half_extents": [0.3, 0.25, 0.15]}
DRIVE = {"type": "differential", "max_angular_vel": 2.5, "max_angular_accel": 5.0}
SHELVES = 8


def packing_hall(folder: Path, robots: int, rate: float, seconds: float, **desk: Any) -> dict[str, Any]:
    """Return a hall of 24 x 14 m with shelves along one wall and two packing desks of 6 s at the other."""
    stations = [Station(f"shelf_{i}", StationKind.PICK, 2.5 + 2.5 * i, 12.5) for i in range(SHELVES)]
    stations += [Station(f"desk_{i}", StationKind.DROP, x, 1.5) for i, x in enumerate((8.5, 20.5))]
    free = np.zeros((14, 24), bool)
    free[1:-1, 1:-1] = True
    write_site(Site("hall", Grid(free, cell=1.0), stations=tuple(stations)), folder / "hall.yaml")
    random = np.random.default_rng(4)
    times = np.cumsum(random.exponential(3600.0 / rate, round(rate * seconds / 3600.0)))
    entries = [
        {"id": str(i), "pick": f"shelf_{random.integers(SHELVES)}", "drop": f"desk_{i % 2}", "release": round(time, 1)}
        for i, time in enumerate(times)
    ]
    robot = {"name": "amr", "at": {"site": "free", "count": robots, "clearance": 0.5}, "shape": ROBOT}
    robot |= {"pose": [0.0, 0.0, 0.15], "controller": {**DRIVE, "max_linear_vel": 1.8, "max_linear_accel": 1.5}}
    service = {"pick_time": 1, "drop_time": 6, "stations": {"drop": {"queue": 4, **desk}}}
    return {
        "simulation": {"gui": False, "monitor": False, "timestep": 0.25, "target_rtf": 0},
        "site": str(folder / "hall.yaml"),
        "robots": [robot],
        "traffic": {"planner": "pibt", "radius": 0.45, "time_limit": 600},
        "orders": {"list": entries, "service": service},
    }


class Desks:
    """Who came to each desk when, was served and left, by the events of a run."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self.came: dict[str, list[tuple[float, str]]] = {"desk_0": [], "desk_1": []}
        self.begun: dict[str, list[tuple[float, str]]] = {"desk_0": [], "desk_1": []}
        self.ended: dict[str, list[float]] = {"desk_0": [], "desk_1": []}
        self._sim, self._orders = sim, orders_of(sim)
        sim.events.on("queue_joined", self._join)
        sim.events.on("order_changed", self._change)

    def _join(self, agent: Agent, station: str, length: int) -> None:
        self.came[station].append((self._sim.clock.time, str(agent.name)))

    def _change(self, order: str, before: OrderState, state: OrderState, robot: str) -> None:
        desk = self._orders.status(order).stops[-1]
        if state is OrderState.DROPPING:
            self.begun[desk].append((self._sim.clock.time, robot))
        elif before is OrderState.DROPPING:
            self.ended[desk].append(self._sim.clock.time)

    def arrivals(self, desk: str) -> list[float]:
        """Return when each robot that was served came, in the order in which they were served."""
        left = list(self.came[desk])
        return [left.pop([name for _, name in left].index(robot))[0] for _, robot in self.begun[desk]]


def test_waits_are_those_of_a_queue(tmp_path: Path) -> None:
    # More than two desks of 6 s and no time between robots would serve: 1,200 an hour.
    with MultiRobotSimulationCore.from_dict(packing_hall(tmp_path, 24, 1300.0, 600.0)) as sim:
        desks, orders = Desks(sim), orders_of(sim)
        while sim.clock.time < 600.0:
            sim.step_once()
        visits = orders.fleet.times.visits
        seen = {name: visits[orders.places.number(name)] for name in desks.came}
        done, early = orders.delivered, sum(sum(end < 150.0 for end in ends) for ends in desks.ended.values())
        assert sim.collisions.count == 0
    # A change of robots takes 3 s at most, so the desks serve 800 an hour.
    assert (done - early) / 450.0 * 3600.0 >= 800.0
    for desk in ("desk_0", "desk_1"):
        came, begun, ended = desks.arrivals(desk), [time for time, _ in desks.begun[desk]], desks.ended[desk]
        assert begun == sorted(begun) and len(begun) > 40
        changes = [
            after - end for end, after, known in zip(ended, begun[1:], came[1:], strict=False) if known < end - 15
        ]
        assert np.mean(changes) <= 3.0
        # A queue of one desk that serves in the order of arrival, with the same arrivals: it shares no code.
        waits, free = [], 0.0
        for time in came:
            start = max(time + (begun[0] - came[0]), free)
            waits.append(start - time)
            free = start + 6.0 + float(np.mean(changes))
        assert np.mean([b - c for b, c in zip(begun, came, strict=True)]) == pytest.approx(np.mean(waits), rel=0.2)
        # What is booked as waiting there is from when a robot came to its turn, but for those that found nobody.
        booked = sum(b - c for b, c in zip(begun, came, strict=True))
        assert seen[desk].waited == pytest.approx(booked, rel=0.1) and seen[desk].robots == len(ended)


def test_stations_admit_orders_in_the_order_of_their_release(tmp_path: Path) -> None:
    scenario = packing_hall(tmp_path, 12, 2000.0, 100.0, admit=2)
    with MultiRobotSimulationCore.from_dict(scenario) as sim:
        orders, begun = orders_of(sim), []
        sim.events.on(
            "order_changed",
            lambda order, before, state, robot: begun.append(order) if robot and before.value == "waiting" else None,
        )
        while sim.clock.time < 150.0:
            sim.step_once()
            for desk in ("desk_0", "desk_1"):
                names = [name for name in orders.names if orders.status(name).stops[-1] == desk]
                states = [orders.status(name).state for name in names]
                assert sum(state not in (OrderState.WAITING, OrderState.DONE) for state in states) <= 2
        assert [name for name in begun if int(name) % 2 == 0] == sorted((n for n in begun if int(n) % 2 == 0), key=int)
        assert len(begun) > 8
        waiting = next(name for name in orders.names if orders.status(name).state is OrderState.WAITING)
        assert "as many orders as it admits" in orders.status(waiting).reason


def test_a_run_with_queues_goes_on_from_a_file(tmp_path: Path) -> None:
    scenario = packing_hall(tmp_path, 16, 1300.0, 200.0)
    ends = []
    with MultiRobotSimulationCore.from_dict(scenario) as sim, MultiRobotSimulationCore.from_dict(scenario) as other:
        while sim.clock.time < 40.0:
            sim.step_once()
        sim.save_state(tmp_path / "state")
        other.load_state(tmp_path / "state")
        for each in (sim, other):
            while each.clock.time < 55.0:
                each.step_once()
            ends.append(([agent.get_pose() for agent in each.agents], orders_of(each).delivered))
    assert ends[0] == ends[1] and ends[0][1] > 0


@pytest.mark.parametrize(
    ("desk", "reason"),
    [
        ({"queue": -1}, r"stations\.drop\.queue"),
        ({"queue": 30}, r"no room for a straight queue of 30 before 'desk_0'"),
        ({"admit": 0}, r"stations\.drop\.admit"),
        ({"quue": 1}, r"stations\.drop\.quue: unknown key"),
    ],
)
def test_bad_queues_are_refused(tmp_path: Path, desk: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        MultiRobotSimulationCore.from_dict(packing_hall(tmp_path, 4, 600.0, 60.0, **desk))
