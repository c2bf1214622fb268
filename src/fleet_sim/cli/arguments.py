"""Checks of command line arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fleet_sim.errors import ConfigError, InvalidValueError, shortened
from fleet_sim.output import check_target


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which may add its options only when it is used. Its messages are bounded.

    Options that are read from settings import what declares those, which other subcommands and --help do not need.
    """

    fill: Callable[[argparse.ArgumentParser], object] | None = None
    """Adds the options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options, if that was left for now, and parse."""
        # Once: a parser may be asked to parse several times.
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print usage and message, which repeats what was given, and exit with 2."""
        super().error(shortened(message))


def add_detail(parser: argparse._ActionsContainer, of: str, name: str, what: str, **options: Any) -> None:
    """Add the option `name` that counts only with the option `of`, as its help says; `options` are argparse's."""
    parser.add_argument(name, help=f"with {of}: {what}", **options)


def add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options that say how many processes work, which `what` are, and where."""
    parser.add_argument("--processes", type=positive, metavar="N", help=f"{what} (default: one per processor)")
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="run on a Ray cluster: auto (the one of this machine), local (start one), or ray://host:10001",
    )


def positive(text: str) -> int:
    """Return a whole number of at least 1; raises ArgumentTypeError, which argparse reports as wrong usage."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Return a whole number of at least 0; raises ArgumentTypeError as `positive` does."""
    return _whole(text, 0)


def seeds(text: str) -> list[int]:
    """Return the seeds in a text such as "1-20" or "1,4,7-9"; raises ArgumentTypeError as `positive` does."""
    # Imported here so that --help is immediate.
    from fleet_sim.sweeps.settings import parse_seeds

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check_png(path: str) -> None:
    """Raise InvalidValueError where no PNG file can be written to `path`."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise InvalidValueError(f"the picture must be a .png file, got {path!r}")
    check_target(file)


SLOWEST, FASTEST = 1e-6, 1e6
"""Speeds of what is shown or published again."""


def check_speed(option: str, speed: float) -> None:
    """Raise ConfigError for a speed of a recording that nobody could wait for; 0 is as fast as possible."""
    if not (speed == 0.0 or SLOWEST <= speed <= FASTEST):
        raise ConfigError(f"{option}: expected 0, or a number from {SLOWEST:g} to {FASTEST:g}, got {speed:g}")


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
    return number
