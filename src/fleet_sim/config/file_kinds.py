"""What a file is meant for, so that a file given to the wrong command is named for what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.settings import load_mapping

COMMANDS = {"scenario": "run", "swarm world": "swarm", "search": "evolve", "sweep": "sweep"}
"""The command for each kind of file."""
RECORDING = "a recording"
WRITTEN = {
    b"\x89MCAP0\r\n": (RECORDING, "show it with: fleet-sim view"),
    b"fleet_sim state ": ("a saved state", "go on from it with: fleet-sim run --from-state"),
    b'{"format": "fleet_sim inputs': ("a file of inputs", "repeat the run with: fleet-sim run --replay-inputs"),
}
"""What files are that a run has written, by how they begin, and the commands that read them."""


def is_recording(file: Path) -> bool:
    """Return whether `file` is called a recording, of a run that was killed too, or is one by another name."""
    return file.name.removesuffix(".part").lower().endswith(".mcap") or _written_as(file)[0] == RECORDING


def load_scenario(file: Path, more: str = "") -> dict[str, Any]:
    """Return the content of a scenario's file; raises ConfigError as `load_mapping` and `check_not_written` do."""
    check_not_written(file, more)
    return load_mapping(file)


def check_not_written(file: Path, more: str = "") -> None:
    """Raise ConfigError where `file`, a scenario, was written by a run; `more` are options of the command for it."""
    kind, remedy = _written_as(file)
    if kind:
        raise ConfigError(f"it is {kind}, not a scenario; {remedy} {file}{more}", source=str(file))


def _written_as(file: Path) -> tuple[str, str]:
    try:
        with file.open("rb") as opened:
            begin = opened.read(max(map(len, WRITTEN)))
    except OSError:
        # Whoever reads it says why it cannot be read.
        begin = b""
    return next((what for beginning, what in WRITTEN.items() if begin.startswith(beginning)), ("", ""))


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
