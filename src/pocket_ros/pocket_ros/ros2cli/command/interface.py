"""`ros2 interface`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any

from ...interfaces import catalog
from ...rosidl_runtime_py import utilities
from ...rosidl_runtime_py.convert import message_to_yaml
from ..verbs import add_verb, add_verbs

_TITLES = {"msg": "Messages", "srv": "Services", "action": "Actions"}
_FIELD = re.compile(r"^([A-Za-z]\w*(?:/\w+)*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]")
_PRIMITIVE = re.compile(r"^(bool|byte|char|wchar|float32|float64|u?int(8|16|32|64)|w?string)$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 interface`."""
    verbs = add_verbs(parser)
    listing = add_verb(verbs, "list", _list, "List all interface types available")
    package = add_verb(
        verbs, "package", _package, "Output a list of available interface types within one package"
    )
    package.add_argument("package_name", help="Name of the ROS package (e.g. 'example_interfaces')")
    packages = add_verb(verbs, "packages", _packages, "Output a list of packages that provide interfaces")
    for verb in (listing, package, packages):
        for letter, kind, title in (
            ("m", "msgs", "message"),
            ("s", "srvs", "service"),
            ("a", "actions", "action"),
        ):
            verb.add_argument(
                f"-{letter}", f"--only-{kind}", action="store_true", help=f"Consider only the {title} types"
            )
    proto = add_verb(verbs, "proto", _proto, "Output an interface prototype")
    proto.add_argument("type", help="An interface (e.g. 'example_interfaces/msg/String')")
    proto.add_argument("--no-quotes", action="store_true", help="Without quotes around the prototype")
    show = add_verb(verbs, "show", _show, "Output the interface definition")
    comments = show.add_mutually_exclusive_group()
    comments.add_argument(
        "--all-comments", action="store_true", help="Show all comments, also of nested types"
    )
    comments.add_argument("--no-comments", action="store_true", help="Show no comments or whitespace")
    show.add_argument(
        "type", help="An interface (e.g. 'example_interfaces/msg/String'), '-' reads it from stdin"
    )


def _kinds(args: argparse.Namespace) -> list[str]:
    """The kinds that were chosen, all where none was."""
    chosen = {"msg": args.only_msgs, "srv": args.only_srvs, "action": args.only_actions}
    return [kind for kind, wanted in chosen.items() if wanted or not any(chosen.values())]


def _list(args: argparse.Namespace) -> None:
    for kind in _kinds(args):
        print(f"{_TITLES[kind]}:")
        for package in sorted(catalog.packages()):
            for name in sorted(catalog.interface_names(package).get(kind, [])):
                print(f"    {package}/{kind}/{name}")


def _packages(args: argparse.Namespace) -> None:
    kinds = set(_kinds(args))
    for package in sorted(catalog.packages()):
        if kinds & catalog.interface_names(package).keys():
            print(package)


def _package(args: argparse.Namespace) -> str | None:
    if not catalog.has_package(args.package_name):
        return f"Unknown package '{args.package_name}'"
    names = catalog.interface_names(args.package_name)
    for text in sorted(
        f"{args.package_name}/{kind}/{name}" for kind in _kinds(args) for name in names.get(kind, [])
    ):
        print(text)
    return None


def _proto(args: argparse.Namespace) -> None:
    interface: Any = utilities.get_interface(args.type)
    part = getattr(interface, "Goal", None) or getattr(interface, "Request", None) or interface
    text = message_to_yaml(part())
    print(text if args.no_quotes else f'"{text}"')


def _show(args: argparse.Namespace) -> str | None:
    name = sys.stdin.readline().strip() if args.type == "-" else args.type
    try:
        catalog.definition(name)
    except catalog.UnknownInterfaceError as error:
        package, *rest = name.split("/")
        if len(rest) == 2 and not catalog.has_package(package):
            return f"Unknown package '{package}'"
        return f"Could not find the interface '{name}.idl': {error}"
    for line in show(name, comments=not args.no_comments, nested_comments=args.all_comments):
        print(line)
    return None


def show(name: str, *, comments: bool, nested_comments: bool, indent: int = 0) -> Iterator[str]:
    """The lines of a definition, nested definitions indented below their fields.

    Raises UnknownInterfaceError.
    """
    catalog.definition(name)
    text = catalog.source_text(name)
    if text is None:
        text = catalog.render(catalog.message(name))
    for raw in text.rstrip().split("\n"):
        line = raw.rstrip()
        code = line.split("#", 1)[0].rstrip() if '"' not in line and "'" not in line else line
        if not comments:
            if not code.strip() or code.lstrip().startswith("#"):
                continue
            line = code.strip()
        yield "\t" * indent + line if line else ""
        nested = _nested_type(code, name.split("/")[0])
        if nested is not None:
            yield from show(
                nested, comments=nested_comments, nested_comments=nested_comments, indent=indent + 1
            )


def _nested_type(code: str, package: str) -> str | None:
    """The full name of the type of a field, where that is a message."""
    match = _FIELD.match(code.strip())
    if match is None or _PRIMITIVE.match(match.group(1)):
        return None
    parts = match.group(1).split("/")
    if len(parts) == 1:
        owner = "std_msgs" if parts[0] == "Header" and package != "std_msgs" else package
        return f"{owner}/msg/{parts[0]}"
    return f"{parts[0]}/msg/{parts[-1]}"
