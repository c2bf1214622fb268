"""The figures of orders and robots."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from depot import depot, orders_of, run_until

from fleet_sim.warehouse.orders import OrderState

ENTRIES = [
    {"id": str(number), "pick": f"shelf_{'abc'[number % 3]}", "drop": "dock", "due": 30.0 + 40.0 * number}
    for number in range(4)
]


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
