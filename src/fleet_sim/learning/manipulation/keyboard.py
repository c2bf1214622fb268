"""Keyboard control of an arm: what the keys of PyBullet's window do to the gripper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fleet_sim.learning.manipulation.scenes import BinScene

LEFT, RIGHT, ESCAPE = 65295, 65296, 27
"""Codes of keys without a character, as PyBullet reports them."""
IS_DOWN, WAS_TRIGGERED, WAS_RELEASED = 1, 2, 4
"""What PyBullet reports of a key, as bits."""

MOVES: dict[int, tuple[int, float]] = {
    ord("1"): (0, 1.0),
    ord("2"): (0, -1.0),
    ord("3"): (1, 1.0),
    ord("4"): (1, -1.0),
    ord("5"): (2, 1.0),
    ord("6"): (2, -1.0),
    RIGHT: (3, 1.0),
    LEFT: (3, -1.0),
}
"""Component of a displacement (x, y, z, rotation about the vertical) and its sign, by key."""

_HELP = """keys, in the window:
  1 2          move the gripper along x, forwards and backwards
  3 4          along y, to the left and to the right
  5 6          along z, up and down
  right left   rotate it about the vertical
  space        close or open the fingers
  r            put the arm back and fill the bin again
  esc          end"""


class Pressed(NamedTuple):
    """What the keys ask for: displacements (4,) of -1, 0 or 1, and once each the gripper, a reset, or the end."""

    move: tuple[float, float, float, float]
    toggle: bool
    reset: bool
    quit: bool


class ArmKeyboard:
    """Moves the first arm of a loaded scene by keys: by `step` in m and `turn` in rad for each poll of a held key.

    It needs no window: `apply` takes the events of `getKeyboardEvents`, a mapping of key codes to bits.
    """

    help = _HELP
    """What the keys do, for people to read."""

    def __init__(self, scene: BinScene, step: float = 0.01, turn: float = 0.1) -> None:
        self.scene = scene
        self.step, self.turn = step, turn
        self.resets = 0
        self._held: set[int] = set()

    def read(self, events: Mapping[int, int]) -> Pressed:
        """Return what the keys ask for: movements as long as they are down, the others when they go down."""
        move = [0.0] * 4
        for key, (axis, sign) in MOVES.items():
            state = events.get(key, 0)
            # A short tap may be reported as released only.
            if state & (IS_DOWN | WAS_TRIGGERED) or (state & WAS_RELEASED and key not in self._held):
                move[axis] += sign
        # Before the held keys are updated below, which would make every key look held.
        toggle, reset, end = (self._went_down(key, events) for key in (ord(" "), ord("r"), ESCAPE))
        for key, state in events.items():
            if state & WAS_RELEASED:
                self._held.discard(key)
            else:
                self._held.add(key)
        return Pressed((move[0], move[1], move[2], move[3]), toggle, reset, end)

    def apply(self, events: Mapping[int, int]) -> bool:
        """Do what the keys ask for, at least one step of the simulation; return False when it is to end."""
        pressed = self.read(events)
        arm = self.scene.arms[0]
        # First of all: who wants to end does not want to wait for a movement.
        if pressed.quit:
            return False
        if pressed.reset:
            self.resets += 1
            self.scene.reset(rng=np.random.default_rng(self.resets))
            return True
        if pressed.toggle:
            # The gripper's methods step until the fingers have arrived.
            if arm.gripper_is_open:
                arm.close_gripper()
            else:
                arm.open_gripper()
        elif any(pressed.move):
            x, y, z, turn = pressed.move
            # The last number of an action opens or closes the gripper; this one leaves it as it is.
            keep = 1.0 if arm.gripper_is_open else -1.0
            arm.apply_action_delta([x * self.step, y * self.step, z * self.step, turn * self.turn, keep])
        else:
            # A step in any case, or the window would stand still between two keys.
            self.scene.sim.step_once()
        return True

    def _went_down(self, key: int, events: Mapping[int, int]) -> bool:
        state = events.get(key, 0)
        return bool(state & WAS_TRIGGERED or (state & WAS_RELEASED and key not in self._held))
