"""What a program waits on by classes of its own, and handles."""

from typing import Any

import pytest
import rclpy
from rclpy._rclpy_pybind11 import Subscription
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import RCLError
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor, await_or_execute
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rclpy.timer import Timer
from rclpy.waitable import NumberOfEntities, Waitable
from std_msgs.msg import String


class Watch(Waitable):
    """Notes what a guard condition, a timer and a subscription bring, until all have."""

    def __init__(self, node: Node, room: NumberOfEntities) -> None:
        super().__init__(ReentrantCallbackGroup())
        self.guard = GuardCondition(None, None, context=node.context)
        self.timer = Timer(
            None, None, 10_000_000, Clock(clock_type=ClockType.STEADY_TIME), context=node.context
        )
        self.subscription = Subscription(
            node.handle, String, "watched", QoSProfile(depth=10).get_c_qos_profile()
        )
        self.room = room
        self.brought: list[str] = []
        self.done: Future[bool] = Future()
        self.entered = 0

    def __enter__(self) -> None:
        self.entered += 1

    def __exit__(self, *_: object) -> None:
        self.entered -= 1

    def get_num_entities(self) -> NumberOfEntities:
        return self.room

    def add_to_wait_set(self, wait_set: Any) -> None:
        self.indices = {
            "guard_condition": wait_set.add_guard_condition(self.guard.handle),
            "timer": wait_set.add_timer(self.timer.handle),
            "subscription": wait_set.add_subscription(self.subscription),
        }

    def is_ready(self, wait_set: Any) -> bool:
        assert self.entered == 1
        self.ready = [kind for kind, index in self.indices.items() if wait_set.is_ready(kind, index)]
        return bool(self.ready)

    def take_data(self) -> list[str]:
        if "timer" in self.ready:
            self.timer.take()
        if "subscription" in self.ready:
            return [*self.ready, self.subscription.take_message(String, False)[0].data]
        return self.ready

    async def execute(self, taken_data: list[str]) -> None:
        self.brought += taken_data
        if {"guard_condition", "timer", "subscription"} <= set(self.brought):
            self.done.set_result(True)


@pytest.mark.parametrize("kind", [SingleThreadedExecutor, MultiThreadedExecutor])
def test_a_waitable_of_ones_own_is_run_when_its_entities_are_ready(ros: None, kind: Any) -> None:
    node = Node("waiting")
    watch = Watch(node, NumberOfEntities(1, 1, 1))
    node.add_waitable(watch)
    assert list(node.waitables) == [watch]
    publisher = node.create_publisher(String, "watched", 10)
    with kind() as executor:
        executor.add_node(node)
        publisher.publish(String(data="hello"))
        watch.guard.trigger()
        executor.spin_until_future_complete(watch.done, timeout_sec=10)
        assert watch.done.done()
        assert watch.brought.count("guard_condition") == 1 and "hello" in watch.brought
        node.remove_waitable(watch)
    assert not list(node.waitables) and watch.entered == 0


def test_a_waitable_that_adds_more_than_it_announced_is_refused(ros: None) -> None:
    node = Node("waiting")
    node.add_waitable(Watch(node, NumberOfEntities(1, 1, 0)))
    with pytest.raises(RCLError, match="no room for another timer"):
        rclpy.spin_once(node, timeout_sec=0)
    assert next(node.waitables).entered == 0
    with pytest.raises(TypeError, match=r"takes a rclpy\.waitable\.Waitable"):
        node.add_waitable(object())


def test_numbers_of_entities_add_up() -> None:
    total = NumberOfEntities(1, 2, 3) + NumberOfEntities(num_services=4)
    assert (total.num_subscriptions, total.num_guard_conditions, total.num_timers) == (1, 2, 3)
    assert (total.num_clients, total.num_services, total.num_events) == (0, 4, 0)


def test_the_end_of_a_block_with_a_handle_ends_nothing(ros: None) -> None:
    node = Node("held")
    publisher, timer = node.create_publisher(String, "x", 1), node.create_timer(60, lambda: None)
    with node.handle, publisher.handle, timer.handle, node.context.handle, node.get_clock().handle:
        assert node.handle == node.handle
    assert node.get_name() == "held" and node.context.ok() and not timer.is_canceled()
    publisher.publish(String())


def test_functions_and_coroutine_functions_are_called_alike(ros: None) -> None:
    async def later(a: int) -> int:
        return a + 1

    with SingleThreadedExecutor() as executor:
        tasks = [executor.create_task(await_or_execute, f, 1) for f in (later, lambda a: a + 2)]
        for task in tasks:
            executor.spin_until_future_complete(task, timeout_sec=10)
    assert [task.result() for task in tasks] == [2, 3]
