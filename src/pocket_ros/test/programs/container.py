"""Answers as a container of ROS 2 does, prints what it is asked, and refuses the class Broken."""

import contextlib
import json

import rclpy
from composition_interfaces.srv import LoadNode
from rosidl_runtime_py import message_to_ordereddict


def load(request: LoadNode.Request, response: LoadNode.Response) -> LoadNode.Response:
    print(json.dumps(message_to_ordereddict(request)), flush=True)
    response.success = request.plugin_name != "demo::Broken"
    response.error_message = "" if response.success else "it is broken"
    response.full_node_name = f"{request.node_namespace}/{request.node_name}" if response.success else ""
    return response


with contextlib.suppress(KeyboardInterrupt), rclpy.init():
    node = rclpy.create_node("container")
    node.create_service(LoadNode, "~/_container/load_node", load)
    rclpy.spin(node)
