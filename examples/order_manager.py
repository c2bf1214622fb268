"""A small fleet manager for sites with orders: keeps a few orders open, and cancels those that nobody takes in time.

Run `ros2 run fleet_sim fleet_sim_node --ros-args -p config:=sites/warehouse.yaml`, and beside it this file with names
of stations of that site: `python examples/order_manager.py --from shelf_1 shelf_2 --to workstation_1 --orders 20`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import time

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future

from fleet_sim_msgs.msg import FleetState, Order, OrderStatus
from fleet_sim_msgs.srv import CancelOrders, SubmitOrders

NOT_BEGUN = (OrderStatus.WAITING, OrderStatus.ASSIGNED)
OUTCOMES = {OrderStatus.DONE: "done", OrderStatus.CANCELLED: "cancelled", OrderStatus.FAILED: "failed"}


class OrderManager(Node):
    """Submits `total` orders, `at_once` open at a time; those that still wait after `patience` s are cancelled."""

    def __init__(
        self, stations: tuple[list[str], list[str]], total: int, at_once: int, patience: float, name: str
    ) -> None:
        super().__init__("order_manager")
        self.ended = Future()
        self.outcomes: dict[str, int] = {}
        self._stations, self._left, self._at_once, self._patience = stations, total, at_once, patience
        self._open: set[str] = set()
        # Orders that no robot has begun, and when they were sent.
        self._waiting: dict[str, float] = {}
        self._name, self._made = name, 0
        self._chance = random.Random(1)
        self._submit = self.create_client(SubmitOrders, "fleet/orders/submit")
        self._cancel = self.create_client(CancelOrders, "fleet/orders/cancel")
        self.create_subscription(OrderStatus, "fleet/orders", self._on_order, 1000)
        self.create_subscription(FleetState, "fleet/states", self._on_states, 10)

    def _on_states(self, fleet: FleetState) -> None:
        """Look after the orders, as often as the fleet tells where it is; its stamps are simulation time."""
        now = fleet.header.stamp.sec + 1e-9 * fleet.header.stamp.nanosec
        new = min(self._at_once - len(self._open), self._left)
        if new > 0 and self._submit.service_is_ready():
            self._send(new, now)
        late = [name for name, since in self._waiting.items() if now - since > self._patience]
        if late:
            for name in late:
                del self._waiting[name]
            self._cancel.call_async(CancelOrders.Request(ids=late, reason="nobody came in time"))

    def _send(self, count: int, now: float) -> None:
        pickups, drops = self._stations
        names = [f"{self._name}_{self._made + number}" for number in range(count)]
        orders = [
            Order(id=name, stops=[self._chance.choice(pickups), self._chance.choice(drops)], load=5.0, priority=10)
            for name in names
        ]
        self._made, self._left = self._made + count, self._left - count
        self._open.update(names)
        self._waiting.update(dict.fromkeys(names, now))
        self._submit.call_async(SubmitOrders.Request(orders=orders)).add_done_callback(self._on_answer)

    def _on_answer(self, answer: Future) -> None:
        result = answer.result().result
        for name, reason in zip(result.rejected, result.reasons, strict=True):
            self.get_logger().error(f"{name}: {reason}")
            self._close(name, "refused")

    def _on_order(self, order: OrderStatus) -> None:
        if order.id not in self._open:
            return
        if order.state not in NOT_BEGUN:
            self._waiting.pop(order.id, None)
        if order.state in OUTCOMES:
            self._close(order.id, OUTCOMES[order.state])

    def _close(self, name: str, outcome: str) -> None:
        self._open.discard(name)
        self._waiting.pop(name, None)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if not self._open and not self._left and not self.ended.done():
            self.ended.set_result(None)


def main() -> int:
    """Manage orders until all have ended; returns 0 if none was refused or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="pickups", nargs="+", required=True, help="stations to take loads from")
    parser.add_argument("--to", dest="drops", nargs="+", required=True, help="stations to bring them to")
    parser.add_argument("--orders", type=int, default=20, help="how many orders")
    parser.add_argument("--at-once", type=int, default=5, help="orders that are open at a time")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that an order may wait for a robot")
    parser.add_argument("--name", default="managed", help="how ids of the orders begin; an id is given once in a run")
    args = parser.parse_args()
    rclpy.init()
    manager = OrderManager((args.pickups, args.drops), args.orders, args.at_once, args.patience, args.name)
    begin = time.monotonic()
    # Ctrl-C shuts rclpy down, which ends the spin.
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin_until_future_complete(manager, manager.ended)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(manager.outcomes.items()))
    print(f"{args.orders} orders in {time.monotonic() - begin:.1f} s: {outcomes or 'none ended'}", flush=True)
    rclpy.try_shutdown()
    return 0 if not {"refused", "failed"} & manager.outcomes.keys() and manager.ended.done() else 1


if __name__ == "__main__":
    sys.exit(main())
