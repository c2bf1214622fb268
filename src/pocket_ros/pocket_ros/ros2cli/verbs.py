"""Groups of verbs: `ros2 <command> <verb>`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

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
