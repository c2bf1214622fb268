"""`ros2 component`."""

from __future__ import annotations

import argparse

from ...executables import get_package_names
from ...rclpy.node import Node
from .. import api_nodes as api
from ..api_nodes import get_node_names
from ..node import add_node_arguments, cli_node, look_around, wait_until
from ..verbs import add_verb, add_verbs, nonnegative_int

_LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 component`."""
    verbs = add_verbs(parser)
    listing = add_verb(verbs, "list", _list, "Output a list of running containers and components")
    listing.add_argument("container_node_name", nargs="?", help="Name of the container node")
    listing.add_argument("--containers-only", action="store_true", help="List found containers only")
    load = add_verb(verbs, "load", _load, "Load a component into a container node")
    unload = add_verb(verbs, "unload", _unload, "Unload a component from a container node")
    for verb in (load, unload):
        verb.add_argument("container_node_name", help="Name of the container node")
        verb.add_argument("-q", "--quiet", action="store_true", help="Only print numbers and names")
    alone = add_verb(verbs, "standalone", _standalone, "Run a component in a container of its own")
    alone.add_argument("-c", "--container-node-name", help="Name of the container node")
    for verb in (load, alone):
        _add_component_arguments(verb)
    unload.add_argument("component_uid", type=nonnegative_int, nargs="+", help="Number in the container")
    for verb in (listing, load, unload, alone):
        add_node_arguments(verb)
    types = add_verb(verbs, "types", _types, "Output a list of components registered in the ament index")
    types.add_argument("package_name", nargs="?", help="Only those of this package")


def _add_component_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("package_name", help="Name of the package of the component")
    verb.add_argument("plugin_name", help="Type name of the component")
    verb.add_argument("-n", "--node-name", help="Component node name")
    verb.add_argument("--node-namespace", help="Component node namespace")
    verb.add_argument("--log-level", choices=sorted(_LEVELS), help="Component node log level")
    for flag, name, text in (
        ("-r", "remap-rule", "Remapping rule as from:=to"),
        ("-p", "parameter", "Parameter as name:=value"),
        ("-e", "extra-argument", "Argument for the container as name:=value"),
    ):
        verb.add_argument(flag, f"--{name}", action="append", dest=f"{name.replace('-', '_')}s", help=text)


def _containers(node: Node) -> list[str]:
    found = api.find_container_node_names(node=node, node_names=get_node_names(node=node))
    return sorted(name.full_name for name in found)


def _require(node: Node, args: argparse.Namespace) -> None:
    if not wait_until(node, lambda: args.container_node_name in _containers(node)):
        raise RuntimeError(f"Unable to find container node '{args.container_node_name}'")


def _list(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        one = args.container_node_name
        if one is not None:
            _require(node, args)
        else:
            look_around(node, args)
        for name in [one] if one is not None else _containers(node):
            if one is None:
                print(name)
            if args.containers_only:
                continue
            is_answered, found = api.get_components_in_container(node=node, remote_container_node_name=name)
            if isinstance(found, str) or not is_answered:
                if one is not None:
                    return f"{found} when listing components in {one}"
                print(f"{found} when listing components")
                continue
            for component in found:
                print(f"{'' if one is not None else '  '}{component.uid}  {component.name}")
    return None


def _load(args: argparse.Namespace) -> None:
    with cli_node(args) as node:
        _require(node, args)
        uid, name = api.load_component_into_container(
            node=node,
            remote_container_node_name=args.container_node_name,
            package_name=args.package_name,
            plugin_name=args.plugin_name,
            node_name=args.node_name,
            node_namespace=args.node_namespace,
            log_level=_LEVELS.get(args.log_level),
            remap_rules=args.remap_rules,
            parameters=args.parameters,
            extra_arguments=args.extra_arguments,
        )
    container = args.container_node_name
    print(
        f"{uid}  {name}"
        if args.quiet
        else f"Loaded component {uid} into '{container}' container node as '{name}'"
    )


def _unload(args: argparse.Namespace) -> str | None:
    with cli_node(args) as node:
        _require(node, args)
        container = args.container_node_name
        for uid, failed, reason in api.unload_component_from_container(
            node=node, remote_container_node_name=container, component_uids=args.component_uid
        ):
            if failed:
                start = f"Failed to unload component {uid} from '{container}' container node"
                return f"{start}\n    {reason.capitalize()}"
            print(uid if args.quiet else f"Unloaded component {uid} from '{container}' container node")
    return None


def _types(args: argparse.Namespace) -> str | None:
    if args.package_name is None:
        for package, types in api.get_registered_component_types():
            print(package, *(f"  {name}" for name in types), sep="\n")
        return None
    if args.package_name not in get_package_names():
        return f"Unable to find package '{args.package_name}'"
    print(*api.get_package_component_types(package_name=args.package_name), sep="\n")
    return None


def _standalone(args: argparse.Namespace) -> None:
    raise NotImplementedError(
        "'ros2 component standalone' is not covered by pocket_ros, which has no container of its own; "
        "a full ROS 2 has it. Containers that run: ros2 component load"
    )
