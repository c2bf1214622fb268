"""The keys of an arm: what they ask for, what the arm then does, and the example in a real window."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml
from example import EXAMPLES
from small_bins import small_bin
from virtual_display import press_key, virtual_display, window_environment

from fleet_sim.learning.manipulation import BinScene
from fleet_sim.learning.manipulation.keyboard import (
    ESCAPE,
    IS_DOWN,
    LEFT,
    RIGHT,
    WAS_RELEASED,
    WAS_TRIGGERED,
    ArmKeyboard,
)

SPACE, R = ord(" "), ord("r")


def test_codes_are_those_of_pybullet(scene: BinScene) -> None:
    bullet = scene.sim.bullet
    assert (LEFT, RIGHT) == (bullet.B3G_LEFT_ARROW, bullet.B3G_RIGHT_ARROW)
    assert (IS_DOWN, WAS_TRIGGERED, WAS_RELEASED) == (
        bullet.KEY_IS_DOWN,
        bullet.KEY_WAS_TRIGGERED,
        bullet.KEY_WAS_RELEASED,
    )


@pytest.mark.parametrize(
    ("key", "moved"), [("1", (1, 0, 0)), ("2", (-1, 0, 0)), ("3", (0, 1, 0)), ("4", (0, -1, 0)), ("5", (0, 0, 1))]
)
def test_a_key_moves_the_gripper_as_long_as_it_is_down(
    scene: BinScene, key: str, moved: tuple[float, float, float]
) -> None:
    keyboard, arm = ArmKeyboard(scene), scene.arms[0]
    before, _ = arm.get_gripper_state()
    for state in (IS_DOWN | WAS_TRIGGERED, IS_DOWN):
        assert keyboard.apply({ord(key): state})
    assert keyboard.apply({ord(key): WAS_RELEASED})
    after, _ = arm.get_gripper_state()
    assert after - before == pytest.approx([0.02 * part for part in moved], abs=2e-3)


def test_two_keys_act_together_and_opposite_ones_cancel(scene: BinScene) -> None:
    keyboard = ArmKeyboard(scene)
    pressed = keyboard.read({ord("1"): IS_DOWN, ord("6"): IS_DOWN, RIGHT: IS_DOWN, LEFT: IS_DOWN})
    assert pressed == ((1.0, 0.0, -1.0, 0.0), False, False, False)


def test_arrows_turn_the_gripper(scene: BinScene) -> None:
    arm = scene.arms[0]
    _, before = arm.get_gripper_state()
    ArmKeyboard(scene, turn=0.2).apply({RIGHT: IS_DOWN})
    _, after = arm.get_gripper_state()
    assert after[2] - before[2] == pytest.approx(0.2, abs=5e-3)


def test_space_closes_and_opens_once_each_time(scene: BinScene) -> None:
    keyboard, arm = ArmKeyboard(scene), scene.arms[0]
    keyboard.apply({SPACE: IS_DOWN | WAS_TRIGGERED})
    assert not arm.gripper_is_open
    assert arm.agent.joint_positions[7:] == pytest.approx([0.0, 0.0], abs=1e-3)
    keyboard.apply({SPACE: IS_DOWN})
    keyboard.apply({SPACE: WAS_RELEASED})
    assert not arm.gripper_is_open
    # A tap that is reported as released only.
    keyboard.apply({SPACE: WAS_RELEASED})
    assert arm.gripper_is_open


def test_time_goes_on_without_keys_and_the_others_reset_and_end(scene: BinScene) -> None:
    keyboard, arm = ArmKeyboard(scene), scene.arms[0]
    begin = scene.sim.step_count
    assert keyboard.apply({})
    assert scene.sim.step_count == begin + 1
    rest = arm.agent.joint_positions.copy()
    keyboard.apply({ord("5"): IS_DOWN})
    assert keyboard.apply({R: WAS_TRIGGERED | IS_DOWN})
    assert keyboard.resets == 1
    assert arm.agent.joint_positions == pytest.approx(rest, abs=1e-3)
    assert not keyboard.apply({ESCAPE: WAS_TRIGGERED})


@contextmanager
def running(display: str, config: Path) -> Iterator[tuple[Callable[[str], str], Callable[[str], None]]]:
    """Run the example on a display; yield a function that waits for a line, and one that presses a key."""
    command = [sys.executable, str(EXAMPLES / "keyboard_arm.py"), str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=window_environment(display)) as program:

        def heard(pattern: str) -> str:
            lines = []
            for line in program.stdout or ():
                lines.append(line)
                if re.search(pattern, line):
                    return line
            raise AssertionError(f"the program ended with code {program.wait()}; it said {''.join(lines)}")

        try:
            yield heard, partial(press_key, display=display)
            assert program.wait(60) == 0
        finally:
            program.kill()


@pytest.mark.slow
def test_the_example_serves_the_keys_of_a_window(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    config = tmp_path / "bin.yaml"
    config.write_text(yaml.safe_dump(small_bin(objects=(1, 1), fall=20)))
    with virtual_display() as display, running(display, config) as (heard, press):
        first = heard(r"^x 0\.\d+ .* open  resets 0")
        x = float(first.split()[1])
        press("1")
        while float(heard(r"^x ").split()[1]) < x + 0.005:
            pass
        press("space")
        heard("closed  resets 0")
        press("r")
        heard("open  resets 1")
        press("Escape")


@pytest.mark.slow
def test_the_example_says_that_it_needs_a_display() -> None:
    pytest.importorskip("pybullet")
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, str(EXAMPLES / "keyboard_arm.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "keyboard_arm: " in done.stdout
    assert "DISPLAY" in done.stdout
