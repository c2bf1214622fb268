"""The table of hashes: the traces of all shipped scenarios, and what differs from them here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from fleet_sim.errors import ConfigError
from fleet_sim.output import replacing
from fleet_sim.paths import data_roots
from fleet_sim.settings import load_mapping
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.verification.trace import DIGITS, STRIDE, Trace, engine_version, quiet, trace

FILE = Path(__file__).with_name("hashes.json")
FORMAT = "fleet_sim hashes 1"


@dataclass(frozen=True)
class Difference:
    """Where a run begins to differ: after `step` steps, in `parts`, which were looked at after step `seen`."""

    step: int
    seen: int
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"differs after step {self.step}; until step {self.seen} in: {', '.join(self.parts)}"


def shipped() -> dict[str, Path]:
    """Return the files of all shipped scenarios and swarm worlds by name, in order."""
    for root in data_roots():
        files = [file for kind in ("config", "config/swarm") for file in sorted((root / kind).glob("*.yaml"))]
        # Scenarios in sites have the names of others: they are told apart by their folder.
        sites = {f"sites/{file.name}": file for file in sorted((root / "config/sites").glob("*.yaml"))}
        if files:
            return {**{file.name: file for file in files}, **sites}
    raise ConfigError(f"the shipped scenarios were not found in {', '.join(map(str, data_roots()))}")


def traced(file: Path) -> Trace:
    """Run a scenario, and return its trace."""
    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(file)), source=str(file)) as sim:
        return trace(sim)


def hindrance(expected: Trace) -> str:
    """Return why a scenario cannot be verified here, empty if it can."""
    here = engine_version()
    if expected.engine and not here:
        return "needs PyBullet"
    if expected.engine != "" and expected.engine != here:
        return f"needs PyBullet {expected.engine}, here is {here}: another version may give other bits"
    return ""


def difference(expected: Trace, found: Trace) -> Difference | None:
    """Return where `found` begins to differ from `expected`, None if it does not."""
    states = [step for step, pair in enumerate(zip_longest(expected.states, found.states), 1) if pair[0] != pair[1]]
    for seen in range(STRIDE, len(expected.states) + STRIDE, STRIDE):
        place = seen // STRIDE - 1
        parts = [
            name
            for name in sorted({*expected.parts, *found.parts})
            if _at(expected.parts, name, place) != _at(found.parts, name, place)
        ]
        early = [step for step in states if step <= seen]
        if early or parts:
            # Readings and collisions are in no state: they are known to differ only until `seen`.
            return Difference(early[0] if early else seen, seen, tuple(parts))
    return None


def _at(parts: Mapping[str, tuple[str, ...]], name: str, place: int) -> str:
    hashes = parts.get(name, ("",))
    return hashes[place] if len(hashes) > 1 else hashes[0]


# ---- the file --------------------------------------------------------------------------------------------------------


def load(file: Path = FILE) -> dict[str, Trace]:
    """Return the traces of the table by scenario; raises ConfigError."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ConfigError(f"expected the format {FORMAT!r}, got {data['format']!r}", source=str(file))
        return {
            name: Trace(
                _split(entry["states"]),
                {part: _split(hashes) for part, hashes in entry["parts"].items()},
                entry["pybullet"],
            )
            for name, entry in data["scenarios"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"is no table of hashes: {error}", source=str(file)) from error


def save(traces: Mapping[str, Trace], file: Path = FILE) -> None:
    """Write a table, a line for each part: what changes is seen in a review."""
    scenarios = {
        name: {
            "pybullet": one.engine,
            "states": "".join(one.states),
            "parts": {part: "".join(hashes) for part, hashes in sorted(one.parts.items())},
        }
        for name, one in traces.items()
    }
    text = json.dumps({"format": FORMAT, "scenarios": scenarios}, indent=1)
    with replacing(file) as part:
        part.write_text(text + "\n", encoding="utf-8")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + DIGITS] for start in range(0, len(text), DIGITS))
