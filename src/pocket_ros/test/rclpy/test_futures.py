"""Futures, coroutines and tasks of executors."""

import asyncio
from typing import Any

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String


def test_coroutines_wait_without_blocking_others(ros: None) -> None:
    node = Node("here")
    order: list[str] = []
    gate: Future[str] = Future()

    async def waits(message: String) -> None:
        order.append("waiting")
        order.append(await gate)

    async def opens(message: String) -> None:
        order.append("opening")
        gate.set_result("opened")

    groups = [ReentrantCallbackGroup() for _ in range(2)]
    node.create_subscription(String, "first", waits, 10, callback_group=groups[0])
    node.create_subscription(String, "second", opens, 10, callback_group=groups[1])
    node.create_publisher(String, "first", 10).publish(String())
    while not order:
        rclpy.spin_once(node, timeout_sec=1)
    node.create_publisher(String, "second", 10).publish(String())
    while len(order) < 3:
        rclpy.spin_once(node, timeout_sec=1)
    assert order == ["waiting", "opening", "opened"]


def test_a_coroutine_calls_a_service_of_its_own_node(ros: None) -> None:
    node = Node("here")
    group = ReentrantCallbackGroup()
    client = node.create_client(AddTwoInts, "add", callback_group=group)

    def add(request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        response.sum = request.a + request.b
        return response

    node.create_service(AddTwoInts, "add", add, callback_group=group)
    assert client.wait_for_service(timeout_sec=10)

    async def ask() -> int:
        answer = await client.call_async(AddTwoInts.Request(a=1, b=2))
        return int(answer.sum)

    executor = SingleThreadedExecutor()
    executor.add_node(node)
    task = executor.create_task(ask)
    executor.spin_until_future_complete(task, timeout_sec=10)
    assert task.result() == 3


def test_tasks_and_callbacks_share_the_executor(ros: None) -> None:
    node, executor = Node("here"), SingleThreadedExecutor()
    executor.add_node(node)
    ticks: list[int] = []

    async def busy() -> int:
        while len(ticks) < 3:
            await executor.create_task(lambda: None)
        return len(ticks)

    node.create_timer(0.001, lambda: ticks.append(1))
    task = executor.create_task(busy)
    executor.spin_until_future_complete(task, timeout_sec=10)
    assert task.result() >= 3


def test_asyncio_can_await_futures_while_the_node_spins(ros: None) -> None:
    server, node = Node("server"), Node("here")
    server.create_service(AddTwoInts, "add", lambda request, response: AddTwoInts.Response(sum=request.a))
    client = node.create_client(AddTwoInts, "add")
    executor = SingleThreadedExecutor()
    executor.add_node(server)
    executor.add_node(node)

    async def spin() -> None:
        while True:
            executor.spin_once(timeout_sec=0.01)
            await asyncio.sleep(0)

    async def ask() -> int:
        spinning = asyncio.ensure_future(spin())
        assert client.wait_for_service(timeout_sec=10)
        response = await client.call_async(AddTwoInts.Request(a=7))
        spinning.cancel()
        return int(response.sum)

    assert asyncio.run(asyncio.wait_for(ask(), 10)) == 7
    executor.shutdown()


def test_futures() -> None:
    future: Future[int] = Future()
    seen: list[Any] = []
    future.add_done_callback(lambda f: seen.append(f.result()))
    assert not future.done()
    future.set_result(3)
    future.add_done_callback(lambda f: seen.append(f.result() + 1))
    assert seen == [3, 4]
    failed: Future[int] = Future()
    failed.set_exception(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        failed.result()
    cancelled: Future[int] = Future()
    cancelled.cancel()
    assert cancelled.cancelled()
    assert cancelled.done()
