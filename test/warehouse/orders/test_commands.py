"""Orders by commands: from other threads, and from a log that is played again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from depot import depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.warehouse.orders import CancelOrders, OrderState, SetStationsOpen, SubmitOrders
from fleet_sim.world.commands import Command

GOOD = {"id": "first", "pick": "shelf_a", "drop": "dock"}


def apply(sim: fs.MultiRobotSimulationCore, command: Command) -> Any:
    """Put a command in the inbox and make a step; returns the acknowledgement."""
    answer = sim.inbox.put(command)
    sim.step_once()
    return answer.result()


def test_orders_are_submitted_and_cancelled_by_commands(tmp_path: Path) -> None:
    with depot(tmp_path) as sim:
        orders = orders_of(sim)
        wrong: list[Any] = [{**GOOD, "id": "lost", "drop": "dok"}, {"pick": "shelf_a", "drop": "dock", "load": -1}, 7]
        ack = apply(sim, SubmitOrders(orders=(GOOD, *wrong, GOOD), command_id="mine"))
        assert (ack.accepted_names, ack.command_id) == (("first",), "mine")
        assert list(ack.rejected) == ["lost", "orders[2]", "orders[3]", "first"]
        assert "there is an order 'first' already" in ack.rejected["first"]
        assert orders.refused == 4
        ack = apply(sim, CancelOrders(ids=("first", "nobody"), reason="not wanted"))
        assert ack.accepted_names == ("first",)
        assert "unknown order 'nobody'" in ack.rejected["nobody"]
        assert orders.status("first").reason == "not wanted"
        with pytest.raises(fs.InvalidValueError, match="reason: must be a text of at most 200 letters"):
            apply(sim, CancelOrders(ids=("first",), reason="x" * 1000))


def test_stations_are_closed_and_opened_by_commands(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [GOOD]}) as sim:
        orders = orders_of(sim)
        ack = apply(sim, SetStationsOpen(stations=("dock", "dok"), open=False))
        assert (ack.accepted_names, list(ack.rejected)) == (("dock",), ["dok"])
        sim.run_simulation(duration=3.0)
        assert orders.status("first").state is OrderState.WAITING
        apply(sim, SetStationsOpen(stations=("dock",)))
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)


def test_commands_without_a_site_are_refused_with_the_reason() -> None:
    with fs.MultiRobotSimulationCore() as sim:
        answer = sim.inbox.put(SubmitOrders(orders=(GOOD,)))
        sim.step_once()
        with pytest.raises(fs.StateError, match="there are no orders without stations"):
            answer.result()


def test_commands_are_written_and_read_as_plain_data() -> None:
    for command in (
        SubmitOrders(orders=(GOOD,)),
        CancelOrders(ids=("first",), reason="late"),
        SetStationsOpen(stations=("dock",), open=False),
    ):
        assert Command.from_dict(command.to_dict()) == command
