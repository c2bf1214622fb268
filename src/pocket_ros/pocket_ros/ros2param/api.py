"""The parameters of other nodes."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from .. import rclpy
from ..rclpy.parameter import parameter_dict_from_yaml_file, parameter_value_to_python
from ..rclpy.parameter_client import AsyncParameterClient
from ..ros2cli.command import param
from ..ros2cli.node.direct import DirectNode


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
