"""Commands and verbs of `ros2` that other packages bring."""

from __future__ import annotations

import argparse
from typing import Any

from ..places import NotCovered, class_of_verb
from .command import command_module, get_command_extensions
from .plugin_system import PLUGIN_SYSTEM_VERSION, instantiate_extensions, satisfies_version

# What verbs of `ros2` derive from.


__all__ = ["VerbExtension", "get_verb_extensions"]


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


def get_verb_extensions(name: str) -> dict[str, Any]:
    """Name to verb, of what packages registered in a group."""
    return instantiate_extensions(name)


_NOT_COVERED = {
    "ros2param.verb.dump": ("insert_dict",),
    "ros2topic.verb.echo": ("choose_qos", "subscribe_and_spin"),
    "ros2topic.verb.list": ("show_topic_info",),
}
"""Methods of these classes that only a full ROS 2 has."""


class OwnVerb(VerbExtension):
    """A verb of `ros2` itself, for programs that build on it: its arguments, and what it does."""

    COMMAND = ""

    def _parsers(self) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
        """The parser of the command, and that of the verb."""
        command = argparse.ArgumentParser(add_help=False)
        command_module(self.COMMAND).add_arguments(command)
        (verbs,) = (action for action in command._actions if isinstance(action, argparse._SubParsersAction))
        return command, verbs.choices[str(self.NAME)]

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Add what the verb takes."""
        _, own = self._parsers()
        own._actions = [action for action in own._actions if not isinstance(action, argparse._HelpAction)]
        parser._add_container_actions(own)

    def main(self, *, args: argparse.Namespace) -> Any:
        """Run the verb; what `args` leaves out has its default."""
        command, own = self._parsers()
        known = {action.dest: action.default for action in [*command._actions, *own._actions]}
        known = {name: value for name, value in known.items() if value is not argparse.SUPPRESS}
        return own.get_default("main")(argparse.Namespace(**known | vars(args)))


def __getattr__(name: str) -> type[OwnVerb]:
    """The class of a verb by its module upstream, such as `ros2topic.verb.echo`."""
    package, _, verb = name.partition(".verb.")
    if not verb:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    command = package.removeprefix("ros2")
    content: dict[str, Any] = {"__doc__": f"`ros2 {command} {verb}`.", "__module__": f"pocket_ros.{name}"}
    content |= {"NAME": verb, "COMMAND": command}
    content |= {member: NotCovered() for member in _NOT_COVERED.get(name, ())}
    found = globals()[name] = type(class_of_verb(verb), (OwnVerb,), content)
    return found


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
