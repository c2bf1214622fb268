"""Checks of command line arguments that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from fleet_sim.errors import InvalidValueError
from fleet_sim.output import check_target


def positive(text: str) -> int:
    """Return a whole number of at least 1; raises ArgumentTypeError, which argparse reports as wrong usage."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Return a whole number of at least 0; raises ArgumentTypeError as `positive` does."""
    return _whole(text, 0)


def check_png(path: str) -> None:
    """Raise InvalidValueError where no PNG file can be written to `path`."""
    file = Path(path)
    if file.suffix.lower() != ".png":
        raise InvalidValueError(f"the picture must be a .png file, got {path!r}")
    check_target(file)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
    return number
