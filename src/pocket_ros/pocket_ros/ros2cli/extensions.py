"""Commands and verbs of `ros2` that other packages bring."""

from __future__ import annotations

import argparse
from typing import Any

from ..module_places import offer_modules
from .command import get_command_extensions
from .plugin_system import PLUGIN_SYSTEM_VERSION, satisfies_version


class VerbExtension:
    """A verb `ros2 <command> <NAME>` of a package that registers it in the group `ros2<command>.verb`."""

    NAME: str | None = None
    EXTENSION_POINT_VERSION = "0.1"

    def __init__(self) -> None:
        satisfies_version(PLUGIN_SYSTEM_VERSION, "^0.1")

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Add what the verb takes."""

    def main(self, *, args: argparse.Namespace) -> Any:
        """Run the verb; the exit code, or a message for standard error."""
        raise NotImplementedError("a verb defines main(args=...)")


def offer_verb_module(package: str) -> None:
    """Let `VerbExtension` be imported from `<package>.verb`, as extensions do."""
    offer_modules(package, {"verb": {"VerbExtension": VerbExtension}})


def find_command(name: str) -> Any | None:
    """The command of that name that another package brings, or None."""
    return get_command_extensions("ros2cli.command").get(name)


def run_command(command: Any, name: str, words: list[str]) -> Any:
    """Run a command of another package; what it answers."""
    parser = argparse.ArgumentParser(prog=f"ros2 {name}", description=type(command).__doc__)
    command.add_arguments(parser, "ros2", argv=words)
    return command.main(parser=parser, args=parser.parse_args(words))


def add_verbs_of_others(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the verbs that other packages bring for a command; those that are there already stay."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for verbs in groups:
        for name, extension in sorted(get_command_extensions(f"ros2{command}.verb").items()):
            if name not in verbs.choices:
                text = (type(extension).__doc__ or "").strip().split("\n")[0].rstrip(".")
                own = verbs.add_parser(name, help=text, description=text)
                own.set_defaults(main=lambda args, extension=extension: extension.main(args=args))
                extension.add_arguments(own, f"ros2 {command}")
