"""Stations: how long they serve whom, in which order, and who waits where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of, run_until
from scipy import stats

from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.orders import OrderState

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
