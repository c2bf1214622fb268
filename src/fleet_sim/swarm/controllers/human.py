"""Steering by hand: the keyboard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.swarm.agents import Controller, Group

_WHAT = "HumanController"

KEYS: dict[str, tuple[str, str, str, str]] = {
    "wasd": ("w", "s", "a", "d"),
    "arrowkeys": ("up", "down", "left", "right"),
    "ijkl": ("i", "k", "j", "l"),
}
"""Sets of keys: faster, slower, left, right."""


class HumanController(Controller):
    """Drives by the keys held down in the window; without a window it stands still.

    A key changes the speed, or the turning speed, by a little in each step, up to the end of its range; released, it
    goes back as it came.
    """

    def __init__(
        self,
        keys: str = "wasd",
        speed_range: Sequence[float] = (-0.3, 0.3),
        turn_range: Sequence[float] = (-1.5, 1.5),
        key_speed_mult: float = 0.01,
        key_turn_mult: float = 0.1,
    ) -> None:
        """`keys`: wasd, arrowkeys or ijkl. `speed_range`: slowest and fastest, m/s. `turn_range`: to the right, to the
        left, rad/s. `key_speed_mult`, `key_turn_mult`: change per step, m/s and rad/s.
        """
        if keys not in KEYS:
            raise unknown_name(f"set of keys of {_WHAT}", keys, KEYS)
        self.keys = keys
        self.speed_range = _range(speed_range, "speed_range")
        self.turn_range = _range(turn_range, "turn_range")
        self.key_speed_mult = as_float(key_speed_mult, f"{_WHAT}: key_speed_mult", low=0.0)
        self.key_turn_mult = as_float(key_turn_mult, f"{_WHAT}: key_turn_mult", low=0.0)

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        held = group.world.keys
        faster, slower, left, right = (key in held for key in KEYS[self.keys])
        action = self.column(group, "action", (2,))
        for axis, push, change, (low, high) in (
            (0, faster - slower, self.key_speed_mult, self.speed_range),
            (1, left - right, self.key_turn_mult, self.turn_range),
        ):
            values = action[:, axis]
            toward = high if push > 0 else low if push < 0 else 0.0
            values += np.minimum(np.maximum(toward - values, -change), change)
        return np.array(action)


def _range(value: Sequence[float], name: str) -> tuple[float, float]:
    low, high = as_floats(value, (2,), f"{_WHAT}: {name}").tolist()
    if not low <= 0.0 <= high:
        raise InvalidValueError(f"{_WHAT}: {name} must be [least, most] with least <= 0 <= most, got {value!r}")
    return low, high
