"""Moves the arm of bin picking by the keys of PyBullet's window.

Run: python examples/keyboard_arm.py [CONFIG] [--step 0.01] [--turn 0.1]. It needs a display.
"""

import argparse
import time

import numpy as np

from fleet_sim.base.errors import FleetSimError
from fleet_sim.learning.manipulation import ArmKeyboard, BinScene, load_bin_picking


def described(scene: BinScene) -> str:
    """Return in words where the gripper is."""
    arm = scene.arms[0]
    (x, y, z), angles = arm.get_gripper_state()
    fingers = "open" if arm.gripper_is_open else "closed"
    return f"x {x:.3f}  y {y:.3f}  z {z:.3f}  turned {angles[2]:.2f}  {fingers}"


def run(scene: BinScene, keyboard: ArmKeyboard) -> None:
    """Serve the keys until escape is pressed or the window is closed."""
    try:
        serve(scene, keyboard)
    except scene.sim.bullet.error:
        # The window can be closed in the middle of a step; PyBullet also closes it itself when escape is pressed.
        if scene.sim.view.is_open:
            raise


def serve(scene: BinScene, keyboard: ArmKeyboard) -> None:
    """Serve the keys, at most as fast as real time."""
    sim = scene.sim
    shown = ""
    began, at = time.monotonic(), sim.sim_time
    while sim.view.is_open and keyboard.apply(sim.bullet.getKeyboardEvents()):
        text = f"{described(scene)}  resets {keyboard.resets}"
        if text != shown:
            print(text, flush=True)
            shown = text
        ahead = (sim.sim_time - at) - (time.monotonic() - began)
        if ahead > 0.0:
            time.sleep(ahead)
        else:
            # What took too long, as a reset, is not made up for.
            began, at = time.monotonic(), sim.sim_time


def main() -> int:
    """Open the window, print what the keys do, and serve them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("config", nargs="?", help="settings of bin picking, a YAML file")
    parser.add_argument("--step", type=float, default=0.01, help="displacement in m per step")
    parser.add_argument("--turn", type=float, default=0.1, help="rotation in rad per step")
    options = parser.parse_args()
    try:
        config = load_bin_picking(options.config)
        config.simulation.sim_mode = "gpu-gui"
        scene = BinScene(config=config)
        scene.reset(rng=np.random.default_rng(0))
    except FleetSimError as error:
        print(f"keyboard_arm: {error}")
        return 1
    print(ArmKeyboard.help, flush=True)
    run(scene, ArmKeyboard(scene, options.step, options.turn))
    scene.sim.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
