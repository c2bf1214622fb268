"""The figures of orders and robots."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from depot import depot, orders_of, run_until

from fleet_sim.orders import OrderState

ENTRIES = [
    {"id": str(number), "pick": f"shelf_{'abc'[number % 3]}", "drop": "dock", "due": 30.0 + 40.0 * number}
    for number in range(4)
]


def test_figures_are_those_of_the_orders(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": ENTRIES, "sample_period": 10.0}, battery={"idle_power": 10.0}) as sim:
        orders, robot = orders_of(sim), sim.agents[0]
        assert orders.figures()["throughput_per_hour"] == {"mean": None, "last_hour": None}
        assert orders.figures()["flow_time_s"]["p50"] is None
        driven, place = 0.0, np.array(robot.get_pose().position)
        while orders.counts[OrderState.DONE] < 4:
            sim.step_once()
            driven += float(np.linalg.norm(robot.get_pose().position - place))
            place = np.array(robot.get_pose().position)
        figures, states = orders.figures(), [orders.status(str(number)) for number in range(4)]
        flow = [status.ended - status.released for status in states]
        late = [max(status.ended - status.due, 0.0) for status in states]
        assert figures["orders"]["done"] == figures["orders"]["submitted"] == 4
        assert figures["flow_time_s"]["mean"] == pytest.approx(np.mean(flow))
        assert figures["flow_time_s"]["p90"] == pytest.approx(np.percentile(flow, 90))
        assert figures["lateness_s"]["with_due"] == 4
        assert figures["lateness_s"]["late"] == sum(time > 0 for time in late)
        assert figures["lateness_s"]["max"] == pytest.approx(max(late))
        hours = sim.clock.time / 3600.0
        assert figures["throughput_per_hour"]["mean"] == pytest.approx(4 / hours)
        robots = figures["robots"]
        assert robots["driven_m"] == pytest.approx(driven, rel=0.02)
        assert 0.0 < robots["driven_loaded_m"] < robots["driven_m"]
        assert sum(robots["time_s"].values()) == pytest.approx(sim.clock.time)
        assert sum(robots["share"].values()) == pytest.approx(1.0)
        assert robots["energy_j"] == pytest.approx(10.0 * sim.clock.time + 50.0 * robots["driven_m"], rel=1e-3)
        history = orders.history()
        assert history["time"].tolist() == pytest.approx(np.arange(0.0, sim.clock.time, 10.0))
        assert (np.diff(history["orders_done"]) >= 0).all()
        assert sum(history[f"robots_{name}"][0] for name in robots["time_s"]) == 1


def test_what_a_removed_robot_did_still_counts(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": ENTRIES}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 1)
        before = orders.figures()["robots"]
        sim.remove_object(sim.agents[0])
        after = orders.figures()["robots"]
        assert after["count"] == 0
        assert after["driven_m"] == before["driven_m"] > 5.0
        assert after["time_s"] == pytest.approx(before["time_s"])


def test_tables_are_written_as_csv(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": ENTRIES}) as sim:
        orders = orders_of(sim)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 2)
        orders.write_csv(tmp_path / "orders.csv")
        orders.write_history(tmp_path / "history.csv")
        with (tmp_path / "orders.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert [line["id"] for line in lines] == ["0", "1", "2", "3"]
        assert [line["state"] for line in lines][:2] == ["done", "done"]
        assert lines[0]["stops"] == "shelf_a|dock"
        assert float(lines[0]["ended"]) == orders.status("0").ended
        assert lines[3]["ended"] == ""
        with (tmp_path / "history.csv").open() as file:
            assert next(csv.DictReader(file))["orders_waiting"] == "4.0"
