"""What a YAML file is meant for, so that a file given to the wrong command is named for what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fleet_sim.errors import ConfigError

COMMANDS = {"scenario": "run", "swarm world": "swarm", "search": "evolve", "sweep": "sweep"}
"""The command for each kind of file."""


def kind_of(config: Mapping[str, Any]) -> str | None:
    """Return which of `COMMANDS` the content of a file is, judged by its keys; None if they do not tell."""
    if "world" in config and "parameters" in config:
        return "search"
    if "scenario" in config and ("parameters" in config or "seeds" in config):
        return "sweep"
    if "type" in config and ("spawners" in config or "agents" in config):
        return "swarm world"
    return "scenario" if "simulation" in config or "robots" in config else None


def check_kind(wanted: str, config: object, source: str = "") -> None:
    """Raise ConfigError if `config`, from the file `source`, clearly is another kind of file than `wanted`."""
    kind = kind_of(config) if isinstance(config, Mapping) else None
    if kind not in (None, wanted):
        file = f" {source}" if source else ""
        raise ConfigError(f"is a {kind}, not a {wanted}; use: fleet-sim {COMMANDS[kind]}{file}", source=source)


def checker_of(wanted: str) -> Callable[[object, str], None]:
    """Return `check_kind` for one kind."""
    return partial(check_kind, wanted)
