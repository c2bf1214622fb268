"""Steering by keyboard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.parameters import Configured, Vector, choice_setting, documented

KEYS: dict[str, tuple[str, str, str, str]] = {
    "wasd": ("w", "s", "a", "d"),
    "arrowkeys": ("up", "down", "left", "right"),
    "ijkl": ("i", "k", "j", "l"),
}
"""Sets of keys: faster, slower, left, right."""
NO_KEYS = ("", "", "", "")


def read_joystick(value: object) -> None:
    """Return None; raises ValueError for a joystick, saying what drives by one."""
    if value is not None:
        raise ValueError(
            f"joysticks are not read, got {value!r}; write null and drive by keys, or leave the agent without a"
            " controller and send its cmd_vel with ROS 2's teleop_twist_joy"
        )


@documented
@dataclass(eq=False, repr=False)
class HumanController(Configured, Controller):
    """Drives by the keys held down in the window; without a window it stands still.

    A key changes the speed, or the turning speed, by a little in each step, up to the end of its range; released, it
    goes back as it came.
    """

    keys: str | None = choice_setting("wasd", (*KEYS, None), "The set of keys; null: none, it stands still.")
    speed_range: Vector = setting((-0.3, 0.3), unit="m/s", doc="Smallest and largest linear velocity.")
    turn_range: Vector = setting((-1.5, 1.5), unit="rad/s", doc="Angular velocities to the right and to the left.")
    key_speed_mult: float = setting(0.01, low=0, unit="m/s", doc="Change of the linear velocity per step.")
    key_turn_mult: float = setting(0.1, low=0, unit="rad/s", doc="Change of the angular velocity per step.")
    joystick: None = setting(None, reader=read_joystick, schema={"type": "null"}, doc="None: there is no joystick.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        for name in ("speed_range", "turn_range"):
            low, high = getattr(self, name)
            if not low <= 0.0 <= high:
                raise self.refuse(f"{name} must be [least, most] with least <= 0 <= most, got {[low, high]}")

    @property
    def used_keys(self) -> tuple[str, ...]:
        """The keys it responds to."""
        return KEYS[self.keys] if self.keys is not None else ()

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        held = group.world.keys
        faster, slower, left, right = (key in held for key in self.used_keys or NO_KEYS)
        # Kept per agent from step to step: a key changes the action gradually, as a pedal does.
        action = self.column(group, "action", (2,))
        for axis, push, change, (low, high) in (
            (0, faster - slower, self.key_speed_mult, self.speed_range),
            (1, left - right, self.key_turn_mult, self.turn_range),
        ):
            values = action[:, axis]
            # Both keys, or none, lead back to 0.
            toward = high if push > 0 else low if push < 0 else 0.0
            values += np.minimum(np.maximum(toward - values, -change), change)
        # A copy: what is returned may be changed by others, and the memory must not.
        return np.array(action)
