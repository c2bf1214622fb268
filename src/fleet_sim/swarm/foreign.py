"""What files of RobotSwarmSimulator say that there is not here: what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fleet_sim.errors import ConfigError, InvalidValueError

_IGNORED = "RobotSwarmSimulator ignores it; leave it out"

KEYS: Mapping[str, str] = {
    "scale_forward_speed": f"{_IGNORED}, speeds of controllers are in m/s",
    "scale_turning_rates": f"{_IGNORED}, rates of controllers are in rad/s",
    "degrees": "angles are in rad; leave it out, or write `theta: !np deg2rad(20)`",
    "track_io": "leave it out; a subscriber can note positions, readings and actions",
    "debug": "leave it out; a window draws sensors and traces",
    "anchor": "write `anchor_point`",
    "from_svg": "write `svg_to_static_objects: !include walls.svg`",
}
"""Keys, and what to do about them."""

TYPES: Mapping[str, str] = {
    "Controller": "a list [a1, a2, b1, b2] is written {type: binary, a: [a1, a2], b: [b1, b2]}; a function becomes a"
    " class with get_actions(self, agent)",
    "AgentMethodController": "write a class with get_actions(self, agent)",
    "ExcelSpawner": "save the table as CSV and write {type: csv, file: !relpath table.csv}",
    "AgentSpawner": "write point, uniform, circle, donut, grid or fixed",
}
"""Types, and what to write."""


def check_keys(given: Iterable[object], known: Iterable[str]) -> None:
    """Raise ConfigError for the first key that is known from there and not here."""
    names = set(known)
    for key in given:
        if isinstance(key, str) and key in KEYS and key not in names:
            raise ConfigError(f"unknown key: {KEYS[key]}", path=key)


def check_type(noun: str, name: str, known: Iterable[str]) -> None:
    """Raise InvalidValueError for a type that is known from there and not here."""
    if name in TYPES and name not in known:
        raise InvalidValueError(f"{noun}: there is no {name!r} here; {TYPES[name]}")
