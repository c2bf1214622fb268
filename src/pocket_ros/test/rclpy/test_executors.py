"""Executors, callback groups, guard conditions."""

import threading
from typing import Any

import pytest
import rclpy
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    MultiThreadedExecutor,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String


def test_spin_once_returns_when_nothing_happens(ros: None) -> None:
    node, executor = Node("here", start_parameter_services=False), SingleThreadedExecutor()
    executor.add_node(node)
    executor.spin_once(timeout_sec=0)
    executor.spin_once(timeout_sec=0.01)
    assert executor.get_nodes() == [node]
    executor.remove_node(node)
    assert executor.get_nodes() == []


def test_exceptions_of_callbacks_end_the_spin(ros: None) -> None:
    node = Node("here")

    def fail() -> None:
        raise ValueError("on purpose")

    node.create_timer(0.001, fail)
    with pytest.raises(ValueError, match="on purpose"):
        rclpy.spin(node)
    executor = MultiThreadedExecutor()
    executor.add_node(node)
    with pytest.raises(ValueError, match="on purpose"):
        executor.spin()
    executor.shutdown()


def test_exclusive_callbacks_never_overlap_and_reentrant_ones_do(ros: None) -> None:
    node, executor = Node("here"), MultiThreadedExecutor(4)
    executor.add_node(node)
    exclusive, reentrant = MutuallyExclusiveCallbackGroup(), ReentrantCallbackGroup()
    both = threading.Barrier(2)
    met: Future[bool] = Future()
    running, overlaps = [0], []

    def meet() -> None:
        both.wait()
        met.set_result(True)

    def alone() -> None:
        running[0] += 1
        overlaps.append(running[0])
        met_event.wait(0.002)
        running[0] -= 1

    met_event = threading.Event()
    guards = [node.create_guard_condition(meet, reentrant) for _ in range(2)]
    for _ in range(3):
        node.create_timer(0.001, alone, exclusive)
    for guard in guards:
        guard.trigger()
    executor.spin_until_future_complete(met, timeout_sec=10)
    assert met.done(), "two reentrant callbacks ran at the same time"
    for _ in range(30):
        executor.spin_once(timeout_sec=1)
    executor.shutdown()
    assert set(overlaps) == {1}


def test_a_blocked_callback_runs_when_its_group_is_free(ros: None) -> None:
    node, executor = Node("here"), MultiThreadedExecutor(2)
    executor.add_node(node)
    group = MutuallyExclusiveCallbackGroup()
    entered, leave = threading.Event(), threading.Event()
    received: list[str] = []

    def occupy() -> None:
        entered.set()
        leave.wait(10)

    guard = node.create_guard_condition(occupy, group)
    node.create_subscription(String, "topic", lambda m: received.append(m.data), 10, callback_group=group)
    publisher = node.create_publisher(String, "topic", 10)
    guard.trigger()
    while not entered.is_set():
        executor.spin_once(timeout_sec=1)
    publisher.publish(String(data="later"))
    executor.spin_once(timeout_sec=0.05)
    assert received == []
    leave.set()
    while not received:
        executor.spin_once(timeout_sec=1)
    executor.shutdown()
    assert received == ["later"]


def test_what_is_in_a_group_that_runs_nothing_is_left_to_who_takes_it(ros: None) -> None:
    class Never(CallbackGroup):
        def can_execute(self, entity: object) -> bool:
            return False

        def beginning_execution(self, entity: object) -> bool:
            asked.append(entity)
            return False

    node, executor, ran, asked = Node("here"), SingleThreadedExecutor(), [], []
    first = node.create_subscription(String, "topic", ran.append, 10, callback_group=Never())
    executor.add_node(node)
    later = node.create_subscription(String, "topic", ran.append, 10, callback_group=Never())
    node.create_publisher(String, "topic", 10).publish(String(data="mine"))
    for _ in range(20):
        executor.spin_once(timeout_sec=0.01)
    assert not ran and not asked, "not even waited on"
    assert [one.handle.take_message(String, False)[0].data for one in (first, later)] == ["mine", "mine"]
    node.destroy_subscription(later)
    executor.shutdown()


def test_other_threads_create_and_destroy_while_it_spins(ros: None) -> None:
    node, executor = Node("here"), SingleThreadedExecutor()
    executor.add_node(node)
    done: Future[bool] = Future()
    spinning = threading.Thread(target=executor.spin_until_future_complete, args=(done,))
    spinning.start()
    arrived = threading.Event()
    publisher = node.create_publisher(String, "topic", 10)
    for _ in range(50):
        arrived.clear()
        subscription = node.create_subscription(String, "topic", lambda _: arrived.set(), 10)
        publisher.publish(String())
        assert arrived.wait(10)
        node.destroy_subscription(subscription)
    done.set_result(True)
    spinning.join()


def test_shutdown_ends_a_spin_in_another_thread(ros: None) -> None:
    node, executor = Node("here"), SingleThreadedExecutor()
    executor.add_node(node)
    ended: list[BaseException | None] = []

    def spin() -> None:
        try:
            executor.spin()
        except ExternalShutdownException as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=spin)
    thread.start()
    rclpy.shutdown()
    thread.join(10)
    assert not thread.is_alive()
    assert len(ended) == 1


def test_two_contexts_live_side_by_side() -> None:
    first, second = rclpy.Context(), rclpy.Context()
    first.init([])
    second.init([])
    sender, receiver = Node("sender", context=first), Node("receiver", context=second)
    received: list[str] = []
    receiver.create_subscription(String, "topic", lambda m: received.append(m.data), 10)
    publisher = sender.create_publisher(String, "topic", 10)
    with SingleThreadedExecutor(context=second) as executor:
        executor.add_node(receiver)
        while publisher.get_subscription_count() == 0:
            executor.spin_once(timeout_sec=0.01)
        publisher.publish(String(data="x"))
        while not received:
            executor.spin_once(timeout_sec=1)
    first.destroy()
    assert second.ok()
    second.destroy()


class _CountingExecutor(Executor):
    """An executor of one's own, as the examples of ROS 2 have them."""

    def __init__(self) -> None:
        super().__init__()
        self.run_for: list[tuple[str, str]] = []

    def spin_once(self, timeout_sec: float | None = None) -> None:
        try:
            handler, entity, node = self.wait_for_ready_callbacks(timeout_sec=timeout_sec)
        except TimeoutException:
            return
        self.run_for.append((type(entity).__name__, node.get_name()))
        handler()


def test_programs_can_have_executors_of_their_own(ros: None) -> None:
    node, executor = Node("here"), _CountingExecutor()
    executor.add_node(node)
    executor.spin_once(timeout_sec=0)
    received: list[str] = []
    node.create_subscription(String, "topic", lambda m: received.append(m.data), 10)
    node.create_publisher(String, "topic", 10).publish(String(data="x"))
    while not received:
        executor.spin_once(timeout_sec=1)
    assert ("Subscription", "here") in executor.run_for
    executor.shutdown()


def test_a_node_keeps_its_executor_between_two_turns(ros: None) -> None:
    node = Node("kept")
    rclpy.spin_once(node, timeout_sec=0)
    executor = node.executor
    assert executor is not None and node not in executor.get_nodes()
    task = executor.create_task(lambda: "done")
    heard = []
    timer = node.create_timer(0.0, lambda: heard.append(1))
    rclpy.spin_until_future_complete(node, task, timeout_sec=20)
    assert task.result() == "done"
    while not heard:
        rclpy.spin_once(node, timeout_sec=1)
    timer.destroy()
    other = SingleThreadedExecutor()
    other.add_node(node)
    assert node.executor is other


def test_only_publishers_of_the_program_are_listed(ros: None) -> None:
    assert [publisher.topic_name for publisher in Node("lister").publishers] == ["/parameter_events"]


def test_a_timer_that_is_always_due_keeps_nothing_waiting(ros: None) -> None:
    node, executor = Node("busy"), SingleThreadedExecutor()
    executor.add_node(node)
    heard: Future[Any] = Future()
    node.create_subscription(String, "chatter", heard.set_result, 10)
    publisher = node.create_publisher(String, "chatter", 10)
    node.create_timer(0.0, lambda: publisher.publish(String(data="hello")))
    task = executor.create_task(lambda: "done")
    executor.spin_until_future_complete(heard, 20)
    assert heard.result().data == "hello" and task.result() == "done"
