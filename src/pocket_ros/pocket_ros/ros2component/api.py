"""What containers hold, and loading into them: asked by the services of any container on the network."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .. import rclpy
from ..ament_index_python import get_resource, get_resources
from ..interfaces.classes import service_class
from ..module_places import not_covered
from ..rclpy.parameter import Parameter, get_parameter_value

COMPONENTS_RESOURCE_TYPE = "rclcpp_components"
_SECONDS = 5.0
_SERVICES = {"load_node": "LoadNode", "unload_node": "UnloadNode", "list_nodes": "ListNodes"}

__getattr__ = not_covered("ros2component.api")


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
    from ..ros2cli.node.strategy import NodeStrategy
    from ..ros2node.api import get_node_names

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
