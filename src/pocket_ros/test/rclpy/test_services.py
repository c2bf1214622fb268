"""Services and clients."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

Start = Callable[..., Any]


def ask(node: Node, service: str, a: int, b: int) -> int:
    client = node.create_client(AddTwoInts, service)
    assert client.wait_for_service(timeout_sec=10)
    future = client.call_async(AddTwoInts.Request(a=a, b=b))
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    result = future.result()
    assert result is not None
    node.destroy_client(client)
    return int(result.sum)


@pytest.mark.parametrize("service", ["add", "slow_add"])
def test_a_server_in_another_process_answers(ros: None, start: Start, service: str) -> None:
    start("adder").wait_for("ready")
    node = Node("here")
    assert [ask(node, service, i, 2) for i in range(5)] == [2, 3, 4, 5, 6]


def test_many_clients_get_their_own_answers(ros: None, start: Start) -> None:
    start("adder").wait_for("ready")
    node = Node("here")
    clients = [node.create_client(AddTwoInts, "add") for _ in range(5)]
    futures = []
    for i, client in enumerate(clients):
        assert client.wait_for_service(timeout_sec=10)
        futures += [client.call_async(AddTwoInts.Request(a=i, b=100 * j)) for j in range(2)]
    for future in futures:
        rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert [f.result().sum for f in futures] == [i + 100 * j for i in range(5) for j in range(2)]


def test_an_answer_is_not_lost_where_others_ask_much(ros: None, start: Start) -> None:
    start("adder").wait_for("ready")
    node, other = Node("here"), Node("other")
    client, busy = node.create_client(AddTwoInts, "add"), other.create_client(AddTwoInts, "add")
    assert client.wait_for_service(timeout_sec=10) and busy.wait_for_service(timeout_sec=10)
    mine = client.call_async(AddTwoInts.Request(a=1, b=2))
    # All their answers come to both clients, and the first does not look at them meanwhile.
    for i in range(50):
        future = busy.call_async(AddTwoInts.Request(a=i, b=100))
        rclpy.spin_until_future_complete(other, future, timeout_sec=10)
        assert future.result().sum == i + 100
    rclpy.spin_until_future_complete(node, mine, timeout_sec=10)
    assert mine.result().sum == 3


def test_a_blocking_call_works_while_another_thread_spins(ros: None, start: Start) -> None:
    # A name of its own: servers that other tests have killed are known until their lease ends.
    start("adder", "--ros-args", "-r", "add:=add_at_once").wait_for("ready")
    node, executor = Node("here"), SingleThreadedExecutor()
    executor.add_node(node)
    spinning = threading.Thread(target=lambda: executor.spin_until_future_complete(done))
    done: rclpy.Future[bool] = rclpy.Future()
    spinning.start()
    client = node.create_client(AddTwoInts, "add_at_once")
    assert client.wait_for_service(timeout_sec=10)
    assert client.call(AddTwoInts.Request(a=40, b=2)).sum == 42
    done.set_result(True)
    spinning.join()


def test_without_a_server_there_is_no_service(ros: None) -> None:
    client = Node("here").create_client(AddTwoInts, "nowhere")
    assert not client.service_is_ready()
    assert not client.wait_for_service(timeout_sec=0.05)


def test_only_requests_and_responses_of_the_type_are_taken(ros: None) -> None:
    node = Node("here")
    with pytest.raises(TypeError):
        node.create_client(AddTwoInts, "add").call_async(AddTwoInts.Response())
    node.create_service(AddTwoInts, "add", lambda request, response: None)
    client = node.create_client(AddTwoInts, "add")
    assert client.wait_for_service(timeout_sec=10)
    client.call_async(AddTwoInts.Request())
    with pytest.raises(TypeError, match="AddTwoInts_Response"):
        rclpy.spin_once(node, timeout_sec=5)
