"""Tab completion of `ros2`, by argcomplete (the extra `terminal`)."""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import Any

from ..rclpy.node import Node
from .command import command_module

DISCOVERY_SECONDS = 0.3
"""How long names of the graph are collected for: somebody waits at a keyboard."""


def answer(commands: dict[str, str]) -> None:
    """Print the completions of what the shell has so far, and exit."""
    import argcomplete

    argcomplete.autocomplete(make_parser(commands, os.environ.get("COMP_LINE", "").split()))


def make_parser(commands: dict[str, str], words: list[str]) -> argparse.ArgumentParser:
    """The whole command line as one parser; only the command that the words name is imported."""
    parser = argparse.ArgumentParser(prog="ros2")
    below = parser.add_subparsers()
    for name, text in commands.items():
        command = below.add_parser(name, help=text)
        if name in words[1:]:
            command_module(name).add_arguments(command)
            _add_completers(command)
    return parser


def _add_completers(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _add_completers(below)
        elif action.dest in _COMPLETERS:
            # Where argcomplete looks for it.
            action.completer = _Completer(_COMPLETERS[action.dest])  # type: ignore[attr-defined]


class _Completer:
    """What argcomplete calls: names that begin with what was typed."""

    def __init__(self, names: Callable[[Namespace], Iterable[str]]) -> None:
        self._names = names

    def __call__(self, prefix: str, parsed_args: Namespace, **about: Any) -> list[str]:
        return sorted(name for name in self._names(parsed_args) if name.startswith(prefix))


def _in_graph(ask: Callable[[Node], list[str]]) -> Callable[[Namespace], list[str]]:
    """Names that a node which looked around for a moment knows of."""

    def names(args: Namespace) -> list[str]:
        from .node import cli_node, look_around

        with cli_node(args) as node:
            look_around(node, Namespace(spin_time=DISCOVERY_SECONDS))
            return ask(node)

    return names


def _nodes(node: Node) -> list[str]:
    from .node import is_hidden

    found = node.get_node_names_and_namespaces()
    return [f"{space.rstrip('/')}/{name}" for name, space in found if not is_hidden(name)]


def _actions(node: Node) -> list[str]:
    from ..rclpy.action.goals import get_action_names_and_types

    return [name for name, _ in get_action_names_and_types(node)]


def _packages(args: Namespace) -> Iterable[str]:
    from ..ament_index_python import get_packages_with_prefixes

    return get_packages_with_prefixes()


def _executables(args: Namespace) -> list[str]:
    from ..ament_index_python import PackageNotFoundError
    from ..executables import get_executable_paths

    try:
        paths = get_executable_paths(package_name=args.package_name)
    except PackageNotFoundError:
        return []
    return [os.path.basename(path) for path in paths]


def _interfaces(kind: str) -> Callable[[Namespace], list[str]]:
    def names(args: Namespace) -> list[str]:
        from ..rosidl_runtime_py import get_action_interfaces, get_message_interfaces, get_service_interfaces

        getters = {
            "msg": get_message_interfaces,
            "srv": get_service_interfaces,
            "action": get_action_interfaces,
        }
        found = getters[kind]()
        return [f"{package}/{name}" for package, names in found.items() for name in names]

    return names


_COMPLETERS: dict[str, Callable[[Namespace], Iterable[str]]] = {
    "node_name": _in_graph(_nodes),
    "topic_name": _in_graph(lambda node: [name for name, _ in node.get_topic_names_and_types()]),
    "service_name": _in_graph(lambda node: [name for name, _ in node.get_service_names_and_types()]),
    "action_name": _in_graph(_actions),
    "package_name": _packages,
    "executable_name": _executables,
    "message_type": _interfaces("msg"),
    "service_type": _interfaces("srv"),
    "action_type": _interfaces("action"),
}
"""By the names that the verbs give their arguments."""
