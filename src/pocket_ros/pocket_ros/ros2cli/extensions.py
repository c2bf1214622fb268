"""Commands and verbs of `ros2` that other packages bring."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from ..module_places import NotCovered, offer_modules
from .command import get_command_extensions
from .verb import VerbExtension

OWN_VERBS = {
    "action": ("info", "list", "send_goal", "type"),
    "component": ("list", "load", "standalone", "types", "unload"),
    "doctor": ("hello",),
    "interface": ("list", "package", "packages", "proto", "show"),
    "lifecycle": ("get", "list", "nodes", "set"),
    "multicast": ("receive", "send"),
    "node": ("info", "list"),
    "param": ("delete", "describe", "dump", "get", "list", "load", "set"),
    "pkg": ("create", "executables", "list", "prefix", "xml"),
    "service": ("call", "echo", "find", "info", "list", "type"),
    "topic": ("bw", "delay", "echo", "find", "hz", "info", "list", "pub", "type"),
}
"""Command to the verbs that have a class of their own upstream, such as `ros2topic.verb.info.InfoVerb`."""

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
        importlib.import_module(f".command.{self.COMMAND}", __package__).add_arguments(command)
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


def _own_verb(command: str, verb: str, module: str) -> type[OwnVerb]:
    name = "".join(part.capitalize() for part in verb.split("_")) + "Verb"
    content: dict[str, Any] = {"__doc__": f"`ros2 {command} {verb}`.", "__module__": module}
    content |= {"NAME": verb, "COMMAND": command}
    content |= {member: NotCovered() for member in _NOT_COVERED.get(module.removeprefix("pocket_ros."), ())}
    return type(name, (OwnVerb,), content)


def offer_verb_module(package: str) -> None:
    """Let `VerbExtension` be imported from `<package>.verb`, as extensions do, and its own verbs below."""
    offer_modules(package, {"verb": {"VerbExtension": VerbExtension}})
    module = f"{package}.verb"
    sys.modules[module].__path__ = []
    command = package.rpartition(".ros2")[2]
    classes = [_own_verb(command, verb, f"{module}.{verb}") for verb in OWN_VERBS.get(command, ())]
    offer_modules(module, {str(found.NAME): {found.__name__: found} for found in classes})


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
