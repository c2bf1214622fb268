"""Serves `add`, and `slow_add` by a coroutine that waits for another service."""

import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

rclpy.init()
node = Node("adder")
group = ReentrantCallbackGroup()
client = node.create_client(AddTwoInts, "add", callback_group=group)


def add(request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
    response.sum = request.a + request.b
    return response


async def relay(request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
    answer = await client.call_async(request)
    response.sum = answer.sum
    return response


node.create_service(AddTwoInts, "add", add, callback_group=group)
node.create_service(AddTwoInts, "slow_add", relay, callback_group=group)
print("ready", flush=True)
rclpy.spin(node)
