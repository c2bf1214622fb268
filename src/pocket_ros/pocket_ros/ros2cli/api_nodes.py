"""Nodes: their names, and what each publishes, subscribes to, serves and asks."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import rclpy
from ..ament_index_python import get_resource, get_resources
from ..interfaces.classes import message_class, service_class
from ..rclpy.action import goals as graph
from ..rclpy.parameter import (
    Parameter,
    get_parameter_value,
    parameter_dict_from_yaml_file,
    parameter_value_to_python,
)
from ..rclpy.parameter_client import AsyncParameterClient
from .command import param
from .node import DirectNode, NodeStrategy, is_hidden
from .verbs import wait_for

INFO_NONUNIQUE_WARNING_TEMPLATE = (
    'There are {num_nodes} nodes in the graph with the exact name "{node_name}". '
    "You are seeing information about only one of them."
)


class NodeName(NamedTuple):
    """A node as the graph has it."""

    name: str
    namespace: str
    full_name: str


class TopicInfo(NamedTuple):
    """A topic, service or action with its types."""

    name: str
    types: list[str]


def get_absolute_node_name(node_name: str | None) -> str | None:
    """The name below the root; None for none."""
    return f"/{node_name.removeprefix('/')}" if node_name else None


def parse_node_name(node_name: str) -> NodeName:
    """The parts of a full name."""
    full_name = f"/{node_name.removeprefix('/')}"
    namespace, _, name = full_name.rpartition("/")
    return NodeName(name, namespace or "/", full_name)


def has_duplicates(values: Sequence[Hashable]) -> bool:
    """Whether a value is there twice."""
    return len(set(values)) < len(values)


def get_node_names(*, node: Any, include_hidden_nodes: bool = False) -> list[NodeName]:
    """The nodes of the graph; hidden are those whose own name begins with an underscore."""
    return [
        NodeName(name, namespace, f"{namespace.rstrip('/')}/{name}")
        for name, namespace in node.get_node_names_and_namespaces()
        if include_hidden_nodes or (name and not name.startswith("_"))
    ]


def wait_for_node(
    node: Any, node_name: str, include_hidden_nodes: bool = False, timeout: float = 1.0
) -> bool:
    """Wait for a node, by its full name; whether it is there."""

    def is_there() -> bool:
        return node_name in [
            n.full_name for n in get_node_names(node=node, include_hidden_nodes=include_hidden_nodes)
        ]

    return wait_for(is_there, timeout)


def get_topics(
    remote_node_name: str, func: Callable[[str, str], Any], *, include_hidden_topics: bool = False
) -> list[TopicInfo]:
    """What `func`, given a node's name and namespace, finds of it, by name."""
    of = parse_node_name(remote_node_name)
    found = sorted(func(of.name, of.namespace))
    return [TopicInfo(name, types) for name, types in found if include_hidden_topics or not is_hidden(name)]


def get_subscriber_info(*, node: Any, remote_node_name: str, include_hidden: bool = False) -> list[TopicInfo]:
    """The topics a node subscribes to."""
    ask = node.get_subscriber_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_publisher_info(*, node: Any, remote_node_name: str, include_hidden: bool = False) -> list[TopicInfo]:
    """The topics a node publishes."""
    ask = node.get_publisher_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_service_client_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The services a node asks."""
    ask = node.get_client_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_service_server_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The services a node has."""
    ask = node.get_service_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_action_server_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The actions a node serves."""

    def ask(name: str, namespace: str) -> Any:
        return graph.get_action_server_names_and_types_by_node(node, name, namespace)

    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_action_client_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The actions a node has clients of."""

    def ask(name: str, namespace: str) -> Any:
        return graph.get_action_client_names_and_types_by_node(node, name, namespace)

    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


class NodeNameCompleter:
    """Completes names of nodes."""

    def __init__(self, *, include_hidden_nodes_key: str | None = None) -> None:
        self.include_hidden_nodes_key = include_hidden_nodes_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        key = self.include_hidden_nodes_key
        include = bool(key and getattr(parsed_args, key, False))
        with NodeStrategy(parsed_args) as node:
            return [found.full_name for found in get_node_names(node=node, include_hidden_nodes=include)]


# What containers hold, and loading into them: asked by the services of any container on the network.


COMPONENTS_RESOURCE_TYPE = "rclcpp_components"
_SECONDS = 5.0
_SERVICES = {"load_node": "LoadNode", "unload_node": "UnloadNode", "list_nodes": "ListNodes"}


class ComponentInfo(NamedTuple):
    """A node in a container: its number there, and its full name."""

    uid: int
    name: str


def get_package_names_with_component_types() -> list[str]:
    """The packages that register classes of nodes, sorted."""
    return sorted(get_resources(COMPONENTS_RESOURCE_TYPE))


def get_package_component_types(*, package_name: str | None = None) -> list[str]:
    """The classes that a package registers; none where it registers nothing."""
    if package_name not in get_package_names_with_component_types():
        return []
    content, _ = get_resource(COMPONENTS_RESOURCE_TYPE, package_name)
    return [line.partition(";")[0] for line in content.splitlines()]


def get_registered_component_types() -> list[tuple[str, list[str]]]:
    """Packages with what they register."""
    names = get_package_names_with_component_types()
    return [(name, get_package_component_types(package_name=name)) for name in names]


def find_container_node_names(*, node: Any, node_names: Iterable[Any]) -> list[Any]:
    """Those nodes that have all services of a container."""
    services = dict(node.get_service_names_and_types())

    def is_container(name: str) -> bool:
        return all(
            f"composition_interfaces/srv/{kind}" in services.get(f"{name}/_container/{service}", ())
            for service, kind in _SERVICES.items()
        )

    return [name for name in node_names if is_container(name.full_name)]


def container_node_name_completer(prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
    """The names of the containers that are seen, for completion."""
    from .node import NodeStrategy

    with NodeStrategy(parsed_args) as node:
        found = find_container_node_names(node=node, node_names=get_node_names(node=node))
    return [name.full_name for name in found]


def _call(node: Any, container: str, service: str, requests: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The answer to each request. Raises RuntimeError where there is no service, or no answer."""
    kind = service_class(f"composition_interfaces/srv/{_SERVICES[service]}")
    client = node.create_client(kind, f"{container}/_container/{service}")
    try:
        if not client.wait_for_service(timeout_sec=_SECONDS):
            raise RuntimeError(f"No '{service}' service found for '{container}' container")
        for request in requests:
            future = client.call_async(kind.Request(**request))
            rclpy.spin_until_future_complete(node, future, timeout_sec=_SECONDS)
            if not future.done():
                raise RuntimeError(f"No '{service}' service response from '{container}' container")
            yield future.result()
    finally:
        node.destroy_client(client)


def get_components_in_container(
    *, node: Any, remote_container_node_name: str
) -> tuple[bool, list[ComponentInfo] | str]:
    """True and the nodes in a container, or false and the reason."""
    try:
        (answer,) = _call(node, remote_container_node_name, "list_nodes", [{}])
    except RuntimeError as error:
        return False, str(error)
    pairs = zip(answer.unique_ids, answer.full_node_names, strict=True)
    return True, [ComponentInfo(uid, name) for uid, name in pairs]


def get_components_in_containers(
    *, node: Any, remote_containers_node_names: Iterable[str]
) -> dict[str, tuple[bool, list[ComponentInfo] | str]]:
    """The same of several, by name."""
    return {
        name: get_components_in_container(node=node, remote_container_node_name=name)
        for name in remote_containers_node_names
    }


def load_component_into_container(
    *,
    node: Any,
    remote_container_node_name: str,
    package_name: str,
    plugin_name: str,
    node_name: str | None = None,
    node_namespace: str | None = None,
    log_level: int | str | None = None,
    remap_rules: Iterable[str] | None = None,
    parameters: Iterable[str] | None = None,
    extra_arguments: Iterable[str] | None = None,
) -> tuple[int, str]:
    """The number and the name of the node that was loaded; parameters as `name:=value`, in YAML.

    Raises RuntimeError where the container refuses or does not answer, ValueError for what is no parameter.
    """
    request = {
        "package_name": package_name,
        "plugin_name": plugin_name,
        "node_name": node_name or "",
        "node_namespace": node_namespace or "",
        "log_level": int(log_level or 0),
        "remap_rules": list(remap_rules or ()),
        "parameters": [_parameter(text) for text in parameters or ()],
        "extra_arguments": [_parameter(text) for text in extra_arguments or ()],
    }
    (answer,) = _call(node, remote_container_node_name, "load_node", [request])
    if not answer.success:
        raise RuntimeError(f"Failed to load component: {answer.error_message.capitalize()}")
    return answer.unique_id, answer.full_node_name


def _parameter(text: str) -> Any:
    name, assigned, value = text.partition(":=")
    if not assigned or not name:
        raise ValueError(f"'{text}' is no parameter; write name:=value")
    message = Parameter(name).to_parameter_msg()
    message.value = get_parameter_value(string_value=value)
    return message


def unload_component_from_container(
    *, node: Any, remote_container_node_name: str, component_uids: Iterable[int]
) -> Iterator[tuple[int, bool, str]]:
    """For each number whether it failed, and the reason. Raises RuntimeError where nobody answers."""
    uids = list(component_uids)
    answers = _call(node, remote_container_node_name, "unload_node", [{"unique_id": uid} for uid in uids])
    for uid, answer in zip(uids, answers, strict=True):
        yield uid, not answer.success, answer.error_message


# The states and transitions of nodes with a lifecycle.


def get_managed_node_names(*, node: Any, include_hidden_nodes: bool = False) -> list[NodeName]:
    """The nodes with a lifecycle."""
    kind = "lifecycle_msgs/srv/GetState"
    with_state = {name for name, types in node.get_service_names_and_types() if kind in types}
    found = get_node_names(node=node, include_hidden_nodes=include_hidden_nodes)
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


# The parameters of other nodes.


def get_value(*, parameter_value: Any) -> Any:
    """What a ParameterValue message holds, as Python has it."""
    return parameter_value_to_python(parameter_value)


def get_parameter_type_string(parameter_type: int) -> str:
    """The name of a type by its number in ParameterType. Raises IndexError for none."""
    return param.TYPE_NAMES[parameter_type]


def _client(node: Any, node_name: str) -> AsyncParameterClient:
    client = AsyncParameterClient(node, node_name)
    if not client.wait_for_services(param.SERVICE_SECONDS):
        raise RuntimeError(f"Wait for service timed out waiting for parameter services for node {node_name}")
    return client


def _answer(node: Any, node_name: str, future: Any) -> Any:
    rclpy.spin_until_future_complete(node, future)
    if future.result() is None:
        raise RuntimeError(f"Exception while calling service of node {node_name}: {future.exception()}")
    return future.result()


def load_parameter_file(*, node: Any, node_name: str, parameter_file: str, use_wildcard: bool) -> None:
    """Set what a file says, and print how it went. Raises RuntimeError as the calls below do."""
    client = _client(node, node_name)
    names = list(parameter_dict_from_yaml_file(parameter_file, use_wildcard))
    response = _answer(node, node_name, client.load_parameter_file(parameter_file, use_wildcard))
    for name, result in zip(names, response.results, strict=True):
        outcome = "successful" if result.successful else "failed"
        reason = f": {result.reason}" if result.reason else ""
        print(f"Set parameter {name} {outcome}{reason}", file=sys.stdout if result.successful else sys.stderr)


def call_describe_parameters(*, node: Any, node_name: str, parameter_names: list[str] | None = None) -> Any:
    """The response of `describe_parameters`. Raises RuntimeError for a node that does not answer."""
    return _answer(node, node_name, _client(node, node_name).describe_parameters(parameter_names or []))


def call_get_parameters(*, node: Any, node_name: str, parameter_names: list[str]) -> Any:
    """The response of `get_parameters`. Raises RuntimeError for a node that does not answer."""
    return _answer(node, node_name, _client(node, node_name).get_parameters(parameter_names))


def call_set_parameters(*, node: Any, node_name: str, parameters: list[Any]) -> Any:
    """The response of `set_parameters`. Raises RuntimeError for a node that does not answer."""
    return _answer(node, node_name, _client(node, node_name).set_parameters(parameters))


def call_list_parameters(*, node: Any, node_name: str, prefixes: list[str] | None = None) -> Any:
    """The future of `list_parameters`, done; None for a node that has no parameter services."""
    client = AsyncParameterClient(node, node_name)
    if not client.wait_for_services(param.SERVICE_SECONDS):
        return None
    future = client.list_parameters(prefixes=prefixes)
    rclpy.spin_until_future_complete(node, future)
    return future


class ParameterNameCompleter:
    """Completes the parameters of the node that was named."""

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        with DirectNode(parsed_args) as node:
            found = call_list_parameters(node=node, node_name=parsed_args.node_name)
        names = [] if found is None else found.result().result.names
        return [name for name in names if name.startswith(prefix or "")]
