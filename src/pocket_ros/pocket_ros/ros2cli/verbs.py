"""Groups of verbs: `ros2 <command> <verb>`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import yaml

from ..interfaces.classes import action_class, message_class, service_class

Main = Callable[[argparse.Namespace], int | str | None]
Verbs = Any


def add_verbs(parser: argparse.ArgumentParser) -> Verbs:
    """A place for verbs; without one the help is printed."""

    def show_help(args: argparse.Namespace) -> int:
        parser.print_help()
        return 0

    parser.set_defaults(main=show_help)
    usage = f"Call `{parser.prog} <command> -h` for more detailed usage."
    return parser.add_subparsers(title="Commands", metavar=usage)


def add_verb(verbs: Verbs, name: str, main: Main, text: str) -> argparse.ArgumentParser:
    """A verb with its function; the parser takes its arguments."""
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    parser.set_defaults(main=main)
    return parser


class _Refusal(argparse.Action):
    """An option of a full ROS 2 that is not covered: whoever gives it is told, instead of a wrong run."""

    def __init__(self, *, reason: str, **options: Any) -> None:
        super().__init__(**options, help=argparse.SUPPRESS, default=argparse.SUPPRESS)
        self._reason = reason

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError(
            f"'{option_string}' of '{parser.prog}' is not covered by pocket_ros; {self._reason}"
        )


def refuse(parser: argparse.ArgumentParser, *options: str, reason: str, takes_value: bool = False) -> None:
    """Refuse an option of a full ROS 2 by its name; `reason` says what a full ROS 2 does with it."""
    parser.add_argument(*options, action=_Refusal, nargs="?" if takes_value else 0, reason=reason)


def positive_float(text: str) -> float:
    """A number above zero, for argparse."""
    value = float(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"value must be greater than zero, got {text}")
    return value


def positive_int(text: str) -> int:
    """A whole number above zero, for argparse."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"value must be greater than zero, got {text}")
    return value


def nonnegative_float(text: str) -> float:
    """A number from zero on, for argparse."""
    value = float(text)
    if not value >= 0.0:
        raise argparse.ArgumentTypeError(f"value must not be negative, got {text}")
    return value


def nonnegative_int(text: str) -> int:
    """A whole number from zero on, for argparse."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"value must not be negative, got {text}")
    return value


# Values that are given on a command line as YAML.


def read_values(text: str) -> Any:
    """What a YAML text says. Raises ValueError for a text that is none, with what is wrong in it."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the values are not in YAML format: {error}") from error


def given_values(args: argparse.Namespace, name: str) -> Any:
    """`read_values` of an argument, or of standard input with `--stdin`."""
    return read_values(sys.stdin.read() if args.stdin else getattr(args, name))


# Interface classes by the names that command lines use.


_MAKERS = {"msg": message_class, "srv": service_class, "action": action_class}


def interface_class(name: str, kind: str) -> Any:
    """The class of `package/kind/Name` or `package/Name`.

    Raises RuntimeError for a name of another form or kind, UnknownInterfaceError for an unknown one.
    """
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if kind == "msg" and len(parts) == 3 and parts[1] in ("srv", "action"):
        return message_class(name)  # a part of a service or an action, which hidden topics carry
    if len(parts) != 3 or parts[1] != kind or not all(parts):
        raise RuntimeError(f"The passed type is invalid: '{name}'; it has the form package/{kind}/Name")
    return _MAKERS[kind]("/".join(parts))
