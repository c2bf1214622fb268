"""Orders in ROS: submitted, cancelled and asked for by another process, which hears of every change."""

from __future__ import annotations

import math
from pathlib import Path

import yaml
from depot import MAP, ROBOT
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from node_program import Client, running
from pod_floor import scenario as floor_with_pods
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

from fleet_sim.warehouse.orders.ros import order_from_msg
from fleet_sim_msgs.msg import CommandResult, Order, OrderStatus
from fleet_sim_msgs.srv import CancelOrders, GetOrders, SubmitOrders

ORDERS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def scenario(folder: Path, **robot: object) -> Path:
    """Write a depot with one robot and no orders."""
    (folder / "depot.yaml").write_text(MAP)
    content = {
        "simulation": {"timestep": 0.1, "target_rtf": 20.0},
        "site": "depot.yaml",
        "robots": [{**ROBOT, "pose": [5.5, 3.5, 0.15], **robot}],
        "orders": {},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def submit(client: Client, *orders: Order) -> CommandResult:
    """Submit orders; return who was accepted."""
    return client.call(SubmitOrders, "/fleet/orders/submit", SubmitOrders.Request(orders=list(orders))).result


def status(client: Client, *ids: str) -> GetOrders.Response:
    """Ask for orders, or for all."""
    return client.call(GetOrders, "/fleet/orders/status", GetOrders.Request(ids=list(ids)))


def submit_good_and_bad(client: Client) -> None:
    """Submit orders that are accepted, and others that are rejected, each with its reason."""
    good = Order(id="first", stops=["shelf_a", "dock"], load=5.0, pick_time=1.0, drop_time=1.0)
    result = submit(
        client,
        good,
        Order(id="lost", stops=["shelf_a", "dok"]),
        Order(stops=["shelf_a", "dock"], release=math.nan),
        Order(id="long", stops=["x" * 5000, "dock"]),
        Order(id="late", stops=["shelf_b", "gate"], release=1e6),
        Order(id="items", skus=["tea"], quantities=[2]),
        Order(id="half", skus=["tea", "nuts"], quantities=[2]),
    )
    assert (list(result.accepted), result.error) == (["first", "late"], "")
    assert list(result.rejected) == ["lost", "orders[2]", "long", "items", "half"]
    assert "unknown station 'dok'. Did you mean 'dock'" in result.reasons[0]
    assert "release: must be a number" in result.reasons[1]
    assert len(result.reasons[2]) < 1000
    assert "has lines, and there are no pods" in result.reasons[3]
    assert "nuts: must be a whole number" in result.reasons[4]
    assert "there is an order 'first' already" in submit(client, good).reasons[0]
    assert "expected at most 1000" in submit(client, *[Order(stops=["shelf_a", "dock"])] * 1001).error


def test_orders_of_another_process(tmp_path: Path) -> None:
    with running(tmp_path / "node.log", "-p", f"config:={scenario(tmp_path)}") as (_, client):
        client.patience = 60.0
        heard = client.listen(OrderStatus, "/fleet/orders")

        submit_good_and_bad(client)
        client.until(lambda: any(one.id == "late" for one in heard), "news of the order that waits")
        client.until(lambda: any(one.state == OrderStatus.DONE for one in heard), "the order to be done")
        assert [one.state for one in heard if one.id == "first"][-1] == OrderStatus.DONE
        done = heard[-1]
        assert (done.robot, list(done.stops)) == ("amr", ["shelf_a", "dock"])
        assert done.released < done.picked < done.ended
        assert math.isnan(done.due)

        assert [one.id for one in status(client).orders] == ["first", "late"]
        assert not status(client, "nobody").success and "unknown order 'nobody'" in status(client, "nobody").message

        request = CancelOrders.Request(ids=["late", "first", "nobody"], reason="not wanted")
        result = client.call(CancelOrders, "/fleet/orders/cancel", request).result
        assert list(result.accepted) == ["late"]
        assert list(result.rejected) == ["first", "nobody"]
        assert "an order that is done cannot cancel" in result.reasons[0]
        (late,) = status(client, "late").orders
        assert (late.state, late.reason) == (OrderStatus.CANCELLED, "not wanted")


def test_who_subscribes_late_hears_of_all_open_orders(tmp_path: Path) -> None:
    with running(tmp_path / "node.log", "-p", f"config:={scenario(tmp_path)}") as (_, client):
        client.patience = 60.0
        # More than are published in one step.
        names = [f"late_{number}" for number in range(450)]
        submit(client, *(Order(id=name, stops=["shelf_b", "gate"], release=1e6) for name in names))
        client.call(CancelOrders, "/fleet/orders/cancel", CancelOrders.Request(ids=["late_7"]))
        waiting = set(names) - {"late_7"}
        for name in ("first_reader", "second_reader"):
            reader = Client(name, client.patience)
            heard = reader.listen(OrderStatus, "/fleet/orders", ORDERS)
            reader.until(lambda heard=heard: len(heard) >= len(waiting), "news of all orders that wait")
            assert {one.id for one in heard} == waiting
            assert {one.state for one in heard} == {OrderStatus.WAITING}
            reader.close()
        heard = client.listen(OrderStatus, "/fleet/orders", ORDERS)
        client.until(lambda: {one.id for one in heard} == waiting, "news of all orders that wait")
        submit(client, Order(id="new", stops=["shelf_b", "gate"], release=1e6))
        client.until(lambda: heard[-1].id == "new", "news of a new order")
        # After a reset there are no orders; the next ones are news again.
        client.call(Trigger, "/sim/reset")
        submit(client, Order(id="again", stops=["shelf_b", "gate"], release=1e6))
        client.until(lambda: heard[-1].id == "again", "news of an order after a reset")


def test_a_robot_without_energy_is_a_warning(tmp_path: Path) -> None:
    path = scenario(tmp_path, battery={"level": 0.0})
    with running(tmp_path / "node.log", "-p", f"config:={path}") as (_, client):
        client.patience = 60.0
        heard = client.listen(DiagnosticArray, "/diagnostics")

        def warning() -> DiagnosticStatus | None:
            found = [status for message in heard for status in message.status if status.name == "fleet_sim: orders"]
            return next((status for status in found if status.level == DiagnosticStatus.WARN), None)

        status = client.until(warning, "a warning")
        assert status.message == "no energy: amr"
        assert {value.key: value.value for value in status.values}["robots_without_energy"] == "1"


def test_orders_of_lines_in_messages_are_those_of_pods(tmp_path: Path) -> None:
    shelf = {"at": [4.5, 2.5], "stock": {"tea": 5, "nuts": 5}}
    with floor_with_pods(tmp_path, {"list": [shelf]}) as sim:
        orders = sim.get_manager("orders")
        message = Order(id="a", stops=["left"], skus=["tea", "nuts"], quantities=[2, 1], priority=3)
        orders.submit(order_from_msg(message))
        orders.submit(order_from_msg(Order(id="b", skus=["tea"], quantities=[1])))
        kept = [(order.lines, order.drop, order.priority) for order in orders.book.orders]
        assert kept == [((("tea", 2), ("nuts", 1)), "left", 3), ((("tea", 1),), None, 0)]
