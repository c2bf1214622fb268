"""Answers as a container of ROS 2 does, prints what it is asked to load, and refuses the class Broken."""

import contextlib
import json

import rclpy
from composition_interfaces.srv import ListNodes, LoadNode, UnloadNode
from rosidl_runtime_py import message_to_ordereddict

loaded: dict[int, str] = {}


def load(request: LoadNode.Request, response: LoadNode.Response) -> LoadNode.Response:
    print(json.dumps(message_to_ordereddict(request)), flush=True)
    response.success = request.plugin_name != "demo::Broken"
    if not response.success:
        response.error_message = "it is broken"
        return response
    response.full_node_name = f"{request.node_namespace}/{request.node_name}"
    response.unique_id = max(loaded, default=0) + 1
    loaded[response.unique_id] = response.full_node_name
    return response


def unload(request: UnloadNode.Request, response: UnloadNode.Response) -> UnloadNode.Response:
    response.success = loaded.pop(request.unique_id, None) is not None
    response.error_message = "" if response.success else f"no node has the number {request.unique_id}"
    return response


def tell(request: ListNodes.Request, response: ListNodes.Response) -> ListNodes.Response:
    response.unique_ids, response.full_node_names = list(loaded), list(loaded.values())
    return response


with contextlib.suppress(KeyboardInterrupt), rclpy.init():
    node = rclpy.create_node("container")
    node.create_service(LoadNode, "~/_container/load_node", load)
    node.create_service(UnloadNode, "~/_container/unload_node", unload)
    node.create_service(ListNodes, "~/_container/list_nodes", tell)
    print("ready", flush=True)
    rclpy.spin(node)
