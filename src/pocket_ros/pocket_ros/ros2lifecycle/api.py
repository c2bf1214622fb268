"""The states and transitions of nodes with a lifecycle."""

from __future__ import annotations

from typing import Any

from .. import rclpy
from ..interfaces.classes import message_class, service_class
from ..ros2node import api as nodes


def get_node_names(*, node: Any, include_hidden_nodes: bool = False) -> list[nodes.NodeName]:
    """The nodes with a lifecycle."""
    kind = "lifecycle_msgs/srv/GetState"
    with_state = {name for name, types in node.get_service_names_and_types() if kind in types}
    found = nodes.get_node_names(node=node, include_hidden_nodes=include_hidden_nodes)
    return [name for name in found if f"{name.full_name}/get_state" in with_state]


def _ask_all(node: Any, service: str, kind: str, requests: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The response or the exception of each node, waiting for as long as their services take to appear."""
    service_type = service_class(f"lifecycle_msgs/srv/{kind}")
    clients = {name: node.create_client(service_type, f"{name}/{service}") for name in requests}
    answers = {}
    for name, client in clients.items():
        client.wait_for_service()
        future = client.call_async(service_type.Request(**requests[name]))
        rclpy.spin_until_future_complete(node, future)
        answers[name] = future.result() if future.exception() is None else future.exception()
    return answers


def call_get_states(*, node: Any, node_names: list[str]) -> dict[str, Any]:
    """Name to the current state, or to the exception of the call."""
    answers = _ask_all(node, "get_state", "GetState", {name: {} for name in node_names})
    return {name: getattr(answer, "current_state", answer) for name, answer in answers.items()}


def call_get_available_transitions(*, node: Any, states: dict[str, Any]) -> dict[str, Any]:
    """Name to the transitions out of the current state, or to the exception of the call."""
    return _transitions(node, "get_available_transitions", states)


def call_get_transition_graph(*, node: Any, states: dict[str, Any]) -> dict[str, Any]:
    """Name to all transitions, or to the exception of the call."""
    return _transitions(node, "get_transition_graph", states)


def _transitions(node: Any, service: str, states: dict[str, Any]) -> dict[str, Any]:
    answers = _ask_all(node, service, "GetAvailableTransitions", {name: {} for name in states})
    return {name: getattr(answer, "available_transitions", answer) for name, answer in answers.items()}


def call_change_states(*, node: Any, transitions: dict[str, Any]) -> dict[str, Any]:
    """Name to whether its transition succeeded, or to the exception; a transition is a message or a label."""

    def as_message(wanted: Any) -> Any:
        return (
            message_class("lifecycle_msgs/msg/Transition")(label=wanted)
            if isinstance(wanted, str)
            else wanted
        )

    requests = {name: {"transition": as_message(wanted)} for name, wanted in transitions.items()}
    answers = _ask_all(node, "change_state", "ChangeState", requests)
    return {name: getattr(answer, "success", answer) for name, answer in answers.items()}
