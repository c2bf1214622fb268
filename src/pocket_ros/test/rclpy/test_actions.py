"""Actions between processes."""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer, get_action_names_and_types
from rclpy.exceptions import RCLError
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node

Start = Callable[..., Any]


@pytest.fixture
def node(ros: None, start: Start) -> Node:
    start("fibonacci_server").wait_for("ready")
    return Node("here")


@pytest.fixture
def client(node: Node) -> ActionClient:
    client = ActionClient(node, Fibonacci, "fibonacci")
    assert client.wait_for_server(timeout_sec=10)
    return client


def result_of(node: Node, future: Any) -> Any:
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.done()
    return future.result()


def test_a_goal_gives_feedback_and_a_result(node: Node, client: ActionClient) -> None:
    feedback: list[list[int]] = []
    goal = Fibonacci.Goal(order=6)
    handle = result_of(
        node,
        client.send_goal_async(goal, feedback_callback=lambda m: feedback.append(list(m.feedback.sequence))),
    )
    assert handle.accepted
    result = result_of(node, handle.get_result_async())
    assert result.status == GoalStatus.STATUS_SUCCEEDED
    assert list(result.result.sequence) == [0, 1, 1, 2, 3, 5, 8]
    assert feedback == [[0, 1, 1, 2, 3, 5, 8][:n] for n in range(3, 8)]
    again = result_of(node, handle.get_result_async())
    assert again == result, "results are kept"


def test_goals_are_rejected(node: Node, client: ActionClient) -> None:
    assert not result_of(node, client.send_goal_async(Fibonacci.Goal(order=51))).accepted


def test_goals_are_cancelled(node: Node, client: ActionClient) -> None:
    handle = result_of(node, client.send_goal_async(Fibonacci.Goal(order=40)))
    cancelled = result_of(node, handle.cancel_goal_async())
    assert [g.goal_id for g in cancelled.goals_canceling] == [handle.goal_id]
    assert result_of(node, handle.get_result_async()).status == GoalStatus.STATUS_CANCELED
    late = result_of(node, handle.cancel_goal_async())
    assert late.return_code == late.ERROR_GOAL_TERMINATED


def test_a_server_that_refuses_to_cancel_says_so_by_naming_no_goal(ros: None) -> None:
    node = Node("here")
    handle_of_server: list[Any] = []
    server = ActionServer(
        node,
        Fibonacci,
        "stubborn",
        lambda goal_handle: Fibonacci.Result(),
        handle_accepted_callback=handle_of_server.append,
    )
    client = ActionClient(node, Fibonacci, "stubborn")
    assert client.wait_for_server(timeout_sec=10)
    handle = result_of(node, client.send_goal_async(Fibonacci.Goal(order=2)))
    answer = result_of(node, handle.cancel_goal_async())
    assert answer.return_code == answer.ERROR_NONE
    assert answer.goals_canceling == []
    server.destroy()
    client.destroy()


def test_an_exception_aborts_the_goal_and_the_server_goes_on(node: Node, client: ActionClient) -> None:
    handle = result_of(node, client.send_goal_async(Fibonacci.Goal(order=13)))
    assert result_of(node, handle.get_result_async()).status == GoalStatus.STATUS_ABORTED
    handle = result_of(node, client.send_goal_async(Fibonacci.Goal(order=2)))
    assert result_of(node, handle.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED


def test_many_goals_run_at_once(node: Node, client: ActionClient) -> None:
    sent = [client.send_goal_async(Fibonacci.Goal(order=5)) for _ in range(10)]
    handles = [result_of(node, future) for future in sent]
    results = [result_of(node, future) for future in [h.get_result_async() for h in handles]]
    assert [list(r.result.sequence) for r in results] == [[0, 1, 1, 2, 3, 5]] * 10


def test_actions_are_in_the_graph(node: Node, client: ActionClient) -> None:
    assert get_action_names_and_types(node) == [("/fibonacci", ["example_interfaces/action/Fibonacci"])]


def test_a_newer_goal_can_preempt_the_older(ros: None) -> None:
    node = Node("here")
    current: list[Any] = []

    def accepted(goal_handle: Any) -> None:
        if current and current[0].is_active:
            current[0].abort()
        current[:] = [goal_handle]
        goal_handle.execute()

    async def execute(goal_handle: Any) -> Fibonacci.Result:
        while goal_handle.is_active and goal_handle.request.order > 1:
            await node.executor.create_task(lambda: None)
        if goal_handle.is_active:
            goal_handle.succeed()
        return Fibonacci.Result(sequence=[goal_handle.request.order])

    server = ActionServer(node, Fibonacci, "preempt", execute, handle_accepted_callback=accepted)
    client = ActionClient(node, Fibonacci, "preempt")
    assert client.wait_for_server(timeout_sec=10)
    first = result_of(node, client.send_goal_async(Fibonacci.Goal(order=9)))
    second = result_of(node, client.send_goal_async(Fibonacci.Goal(order=1)))
    assert result_of(node, first.get_result_async()).status == GoalStatus.STATUS_ABORTED
    assert result_of(node, second.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED
    server.destroy()
    client.destroy()


def test_nothing_is_left_of_a_server_that_there_is_no_room_for(
    ros: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node("full")
    before = sorted(node.get_service_names_and_types_by_node("full", "/"))
    make = node._ros_create_publisher

    def refuse(kind: Any, topic: str, *arguments: Any) -> Any:
        if topic.endswith("status"):
            raise RCLError("no room")
        return make(kind, topic, *arguments)

    monkeypatch.setattr(node, "_ros_create_publisher", refuse)
    with pytest.raises(RCLError, match="no room"):
        ActionServer(node, Fibonacci, "count", lambda goal: Fibonacci.Result())
    assert sorted(node.get_service_names_and_types_by_node("full", "/")) == before
    assert not node.count_publishers("count/_action/feedback")


def test_a_goal_may_be_executed_between_two_turns(ros: None) -> None:
    """The program's own loop executes what a callback has accepted, while nothing spins."""
    node, accepted = Node("here"), list[Any]()

    def execute(goal_handle: Any) -> Fibonacci.Result:
        goal_handle.succeed()
        return Fibonacci.Result(sequence=[goal_handle.request.order])

    server = ActionServer(node, Fibonacci, "later", execute, handle_accepted_callback=accepted.append)
    client = ActionClient(node, Fibonacci, "later")
    assert client.wait_for_server(timeout_sec=10)
    handle = result_of(node, client.send_goal_async(Fibonacci.Goal(order=7)))
    accepted.pop().execute()
    answer = result_of(node, handle.get_result_async())
    assert (answer.status, list(answer.result.sequence)) == (GoalStatus.STATUS_SUCCEEDED, [7])
    server.destroy()
    client.destroy()


def test_feedback_is_told_that_is_read_after_the_result(ros: None) -> None:
    context = rclpy.Context()
    rclpy.init(context=context)
    away, here = Node("away", context=context), Node("here")
    served = SingleThreadedExecutor(context=context)
    served.add_node(away)

    def execute(goal_handle: Any) -> Fibonacci.Result:
        for number in range(5):
            goal_handle.publish_feedback(Fibonacci.Feedback(sequence=[number]))
        goal_handle.succeed()
        return Fibonacci.Result()

    server = ActionServer(away, Fibonacci, "fast", execute)
    client, told = ActionClient(here, Fibonacci, "fast"), list[int]()
    spinning = threading.Thread(target=_spin_until_shutdown, args=(served,))
    spinning.start()
    try:
        assert client.wait_for_server(timeout_sec=10)
        for _ in range(20):
            told.clear()
            goal = client.send_goal_async(Fibonacci.Goal(), lambda one: told.extend(one.feedback.sequence))
            result_of(here, result_of(here, goal).get_result_async())
            deadline = time.monotonic() + 10
            while len(told) < 5 and time.monotonic() < deadline:
                rclpy.spin_once(here, timeout_sec=0.1)
            assert told == [0, 1, 2, 3, 4]
    finally:
        rclpy.shutdown(context=context)
        spinning.join(10)
        server.destroy()


@pytest.mark.slow
def test_what_a_callback_of_feedback_holds_is_free_some_time_after_the_result(ros: None) -> None:
    node = Node("here")

    def execute(goal_handle: Any) -> Fibonacci.Result:
        goal_handle.succeed()
        return Fibonacci.Result()

    server = ActionServer(node, Fibonacci, "fast", execute)
    client = ActionClient(node, Fibonacci, "fast")

    class Callback:
        def __call__(self, message: Any) -> None: ...

    def ends(callback: Callback | None) -> None:
        goal = client.send_goal_async(Fibonacci.Goal(), callback)
        result_of(node, result_of(node, goal).get_result_async())

    try:
        assert client.wait_for_server(timeout_sec=10)
        callback = Callback()
        held = weakref.ref(callback)
        ends(callback)
        del callback
        deadline = time.monotonic() + 30
        while held() is not None and time.monotonic() < deadline:
            ends(None)
        assert held() is None
    finally:
        client.destroy()
        server.destroy()


def test_feedback_after_shutdown_ends_the_callback(ros: None) -> None:
    node, started, ended = Node("here"), threading.Event(), threading.Event()

    def execute(goal_handle: Any) -> Fibonacci.Result:
        try:
            while True:
                goal_handle.publish_feedback(Fibonacci.Feedback())
                started.set()
        except RCLError:
            ended.set()
            raise

    server = ActionServer(node, Fibonacci, "endless", execute)
    client = ActionClient(node, Fibonacci, "endless")
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    spinning = threading.Thread(target=_spin_until_shutdown, args=(executor,))
    spinning.start()
    assert client.wait_for_server(timeout_sec=10)
    client.send_goal_async(Fibonacci.Goal())
    assert started.wait(10)
    rclpy.shutdown()
    assert ended.wait(10)
    spinning.join(10)
    assert not spinning.is_alive()
    server.destroy()


def _spin_until_shutdown(executor: SingleThreadedExecutor | MultiThreadedExecutor) -> None:
    with contextlib.suppress(ExternalShutdownException):
        executor.spin()
