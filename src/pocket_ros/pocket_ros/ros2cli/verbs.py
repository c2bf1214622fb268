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


def nonnegative_int(text: str) -> int:
    """A whole number from zero on, for argparse."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"value must not be negative, got {text}")
    return value
