"""`ros2 param`."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

import yaml

from ... import rclpy
from ...interfaces.classes import message_class
from ...rclpy.node import Node
from ...rclpy.parameter import get_parameter_value, parameter_dict_from_yaml_file, parameter_value_to_python
from ...rclpy.parameter_client import AsyncParameterClient
from ..listing import absolute_name
from ..node import add_node_arguments, cli_node, is_hidden, look_around, wait_until
from ..verbs import Verbs, add_verb, add_verbs, read_values

SERVICE_SECONDS = 5.0
TYPE_NAMES = (
    "not set",
    "boolean",
    "integer",
    "double",
    "string",
    "byte array",
    "boolean array",
    "integer array",
    "double array",
    "string array",
)
"""Of a parameter, by its number in ParameterType."""
_LABELS = (
    "Parameter not set.",
    "Boolean value is:",
    "Integer value is:",
    "Double value is:",
    "String value is:",
    "Byte values are:",
    "Boolean values are:",
    "Integer values are:",
    "Double values are:",
    "String values are:",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 param`."""
    verbs = add_verbs(parser)
    delete = _node_verb(verbs, "delete", _delete, "Delete parameter")
    delete.add_argument("parameter_name", help="Name of the parameter")
    describe = _node_verb(
        verbs, "describe", _describe, "Show descriptive information about declared parameters"
    )
    describe.add_argument("parameter_names", nargs="+", help="Names of the parameters")
    _node_verb(verbs, "dump", _dump, "Show all of the parameters of a node in a YAML file format")
    get = _node_verb(verbs, "get", _get, "Get parameter")
    get.add_argument("parameter_name", help="Name of the parameter")
    get.add_argument("--hide-type", action="store_true", help="Hide the type information")
    listing = _node_verb(verbs, "list", _list, "Output a list of available parameters", nargs="?")
    listing.add_argument("--filter", help="Only parameters matching the regex expression will be shown")
    listing.add_argument(
        "--param-prefixes", nargs="+", default=[], help="Only list parameters with the prefixes"
    )
    listing.add_argument(
        "--param-type", action="store_true", help="Print parameter types with parameter names"
    )
    load = _node_verb(verbs, "load", _load, "Load parameter file for a node")
    load.add_argument("parameter_file", help="Parameter file")
    load.add_argument("--no-use-wildcard", action="store_true", help="Do not load parameters of '/**'")
    set_ = _node_verb(verbs, "set", _set, "Set parameter")
    set_.add_argument("parameter_name", help="Name of the parameter")
    set_.add_argument("value", help="Value of the parameter")


def _node_verb(verbs: Verbs, name: str, main: Any, text: str, **options: Any) -> argparse.ArgumentParser:
    parser = add_verb(verbs, name, main, text)
    parser.add_argument("node_name", help="Name of the ROS node", **options)
    parser.add_argument("--include-hidden-nodes", action="store_true", help="Consider hidden nodes as well")
    parser.add_argument("--timeout", metavar="N", type=float, default=3, help="Seconds to wait for the node")
    add_node_arguments(parser)
    return parser


class _Remote:
    """The parameter services of a node. Raises RuntimeError for one that is not there or does not answer."""

    def __init__(self, node: Node, args: argparse.Namespace, name: str | None = None) -> None:
        self.name = absolute_name(name or args.node_name)
        if not wait_until(node, lambda: self.name in node.get_fully_qualified_node_names(), args.timeout):
            raise RuntimeError("Node not found")
        self._node = node
        self.client = AsyncParameterClient(node, self.name)
        if not self.client.wait_for_services(SERVICE_SECONDS):
            raise RuntimeError(
                f"Wait for service timed out waiting for parameter services for node {self.name}"
            )

    def ask(self, future: Any) -> Any:
        """The answer of a service."""
        rclpy.spin_until_future_complete(self._node, future)
        if not future.done() or future.result() is None:
            raise RuntimeError(f"Exception while calling service of node {self.name}: {future.exception()}")
        return future.result()

    def names(self, prefixes: list[str] | None = None) -> list[str]:
        """The names of its parameters, sorted."""
        return sorted(self.ask(self.client.list_parameters(prefixes=prefixes)).result.names)

    def values(self, names: list[str]) -> list[Any]:
        """Parameter values, as messages."""
        return list(self.ask(self.client.get_parameters(names)).values)


def _list(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        if args.node_name is None:
            look_around(node, args)
            found = sorted(set(node.get_fully_qualified_node_names()))
            nodes = [name for name in found if args.include_hidden_nodes or not is_hidden(name)]
        else:
            nodes = [absolute_name(args.node_name)]
        for name in nodes:
            try:
                _list_of(_Remote(node, args, name), args)
            except RuntimeError as error:
                if args.node_name is not None:
                    return str(error)
                print(error, file=sys.stderr)
    return None


def _list_of(remote: _Remote, args: argparse.Namespace) -> None:
    names = remote.names(args.param_prefixes)
    if args.filter:
        names = [name for name in names if re.match(args.filter, name)]
    if args.node_name is None and names:
        print(f"{remote.name}:")
    types: dict[str, str] = {}
    if args.param_type and names:
        descriptors = remote.ask(remote.client.describe_parameters(names)).descriptors
        types = {d.name: f" (type: {TYPE_NAMES[d.type]})" for d in descriptors}
    for name in names:
        print(f"  {name}{types.get(name, '')}")


def _get(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        values = _Remote(node, args).values([args.parameter_name])
    if not values:
        return "Parameter not set"
    value = parameter_value_to_python(values[0])
    if args.hide_type:
        print(value)
    else:
        print(_LABELS[values[0].type], *([] if value is None else [value]))
    return None


def _parameter(name: str, value: Any) -> Any:
    return message_class("rcl_interfaces/msg/Parameter")(name=name, value=value)


def _set(args: argparse.Namespace) -> None:
    parameter = _parameter(args.parameter_name, get_parameter_value(args.value))
    with cli_node(args) as node:
        remote = _Remote(node, args)
        (result,) = remote.ask(remote.client.set_parameters([parameter])).results
    reason = f": {result.reason}" if result.reason else ""
    if result.successful:
        print(f"Set parameter successful{reason}")
    else:
        print(f"Setting parameter failed{reason}", file=sys.stderr)


def _delete(args: argparse.Namespace) -> str | None:
    unset = message_class("rcl_interfaces/msg/ParameterValue")()
    with cli_node(args) as node:
        remote = _Remote(node, args)
        (result,) = remote.ask(remote.client.set_parameters([_parameter(args.parameter_name, unset)])).results
    if not result.successful:
        return f"Deleting parameter failed: {result.reason}" if result.reason else "Deleting parameter failed"
    print("Deleted parameter successfully")
    return None


def _describe(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        remote = _Remote(node, args)
        descriptors = remote.ask(remote.client.describe_parameters(args.parameter_names)).descriptors
    for descriptor in descriptors:
        print(f"Parameter name: {descriptor.name}")
        print(f"  Type: {TYPE_NAMES[descriptor.type]}")
        if descriptor.description:
            print(f"  Description: {descriptor.description}")
        print("  Constraints:")
        if descriptor.read_only:
            print("    Read only: true")
        for limits in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
            print(f"    Min value: {limits.from_value}")
            print(f"    Max value: {limits.to_value}")
            if limits.step:
                print(f"    Step: {limits.step}")
        if descriptor.additional_constraints:
            print(f"    Additional constraints: {descriptor.additional_constraints}")


def _dump(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        remote = _Remote(node, args)
        names = remote.names()
        values = remote.values(names) if names else []
    tree: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        *path, last = name.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = parameter_value_to_python(value)
    print(yaml.safe_dump({remote.name: {"ros__parameters": tree}}, default_flow_style=False))


def _load(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        remote = _Remote(node, args)
        parameters = parameter_dict_from_yaml_file(
            args.parameter_file,
            use_wildcard=not args.no_use_wildcard,
            target_nodes=_sections(args, remote.name),
        )
        results = remote.ask(remote.client.set_parameters(list(parameters.values()))).results
    for name, result in zip(parameters, results, strict=True):
        outcome = "successful" if result.successful else "failed"
        reason = f": {result.reason}" if result.reason else ""
        print(f"Set parameter {name} {outcome}{reason}", file=sys.stdout if result.successful else sys.stderr)


def _sections(args: argparse.Namespace, node_name: str) -> list[str]:
    """The keys of a parameter file that are for the node: its full name, with or without the slash."""
    with open(args.parameter_file) as stream:
        content = read_values(stream.read()) or {}
    if not isinstance(content, dict):
        raise RuntimeError(f"Param file {args.parameter_file} names no nodes, it holds {content!r}")
    found = [key for key in (node_name, node_name.lstrip("/")) if key in content]
    if not found and (args.no_use_wildcard or "/**" not in content):
        raise RuntimeError(
            f"Param file does not contain selected parameters: none for {node_name}, only for {list(content)}"
        )
    return found
