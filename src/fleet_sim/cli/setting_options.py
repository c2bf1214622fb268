"""Command line options made from settings, so that their ranges and meanings are said once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, TypeVar

from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import Checked, Setting, parse_value, read
from fleet_sim.settings.fields import fields_of

SettingsT = TypeVar("SettingsT", bound=Checked)


def add_options(parser: argparse.ArgumentParser, settings: type[Checked], names: Sequence[str]) -> None:
    """Add an option for each of the settings called `names`; the help says its unit, range and default."""
    known = fields_of(settings)
    for name in names:
        rules, default = known[name].rules, known[name].default
        parser.add_argument(
            _option(name),
            metavar=(rules.unit or "value").upper(),
            # `default` makes one, as it may be a list.
            help=f"{rules.doc} {_range(rules)}({default() if default else None})",
        )


def read_options(args: argparse.Namespace, settings: type[SettingsT], names: Sequence[str]) -> SettingsT:
    """Return the settings with what was given in `args`; raises InvalidValueError that names the option."""
    # Options that were not given are left to the defaults of the settings.
    given = {name: parse_value(value) for name in names if (value := getattr(args, name)) is not None}
    try:
        return read(settings, given)
    except ConfigError as error:
        # The path of the error is the setting, whose option is what the user knows.
        raise InvalidValueError(f"{_option(error.path)}: {error.message}") from error


def key_values(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Return KEY=VALUE options as a mapping; raises InvalidValueError."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InvalidValueError(f"{option} needs KEY=VALUE, got {text!r}")
        found[key.strip()] = parse_value(value)
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _range(rules: Setting) -> str:
    """Return the range as text, such as "0.001 to 1 s; "; empty where there is none."""
    # `low` and `above` exclude each other; a range begins at one of them.
    low, high, unit = rules.low, rules.high, f" {rules.unit}" if rules.unit else ""
    if high is None and low is None and rules.above is None:
        return ""
    begin = f"above {rules.above:g}" if low is None and rules.above is not None else f"{low or 0:g}"
    begin = f"0, or {begin}" if rules.or_zero else begin
    end = f" to {high:g}" if high is not None else ""
    return f"[{begin}{end}{unit}] "
