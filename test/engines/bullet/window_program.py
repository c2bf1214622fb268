"""A simulation's window on its own, driven over stdin: the program that test_gui.py runs."""

from __future__ import annotations

import faulthandler
import sys
import time

import numpy as np
from bullet_scene import Scene

from fleet_sim.base.errors import StateError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.window import Gui, Visualizer, setup_camera, window_view
from fleet_sim.world.shapes import BodyShape, Geometry


def _say(text: object) -> None:
    print(f"\n> {text}", flush=True)


def _cube(*rgb: float) -> BodyShape:
    geometry = Geometry(ShapeKind.BOX, half_extents=(0.5, 0.5, 0.5), rgba=(*rgb, 1.0))  # type: ignore[arg-type]
    return BodyShape(geometry, geometry)


class Program:
    """Answers one question at a time about its window."""

    def __init__(self) -> None:
        self.scene = scene = Scene(gui=True, floor=True, window=(640, 480))
        self.rows = np.concatenate(
            [scene.spawn([-0.8, 0.0, 0.5], _cube(1.0, 0.0, 0.0)), scene.spawn([0.8, 0.0, 0.5], _cube(0.5, 0.5, 0.5))]
        )
        self.visualizer = Visualizer(scene.mirror)
        self.visualizer.configure({"enable_shadows": False}, structures=self.rows[1:])
        setup_camera(scene.mirror, {}, (np.array([-1.3, -0.5, 0.0]), np.array([1.3, 0.5, 1.0])))
        self.gui = Gui(scene.mirror, self.visualizer)
        self.heard: list[str] = []
        """Actions of keys that nobody has asked for yet."""

    def action(self) -> str:
        """Wait for a key for some seconds, carry out what it means and return that; "nothing" without one."""
        end = time.monotonic() + 5.0
        while not self.heard and time.monotonic() < end:
            # On a busy machine, several keys may come at once.
            self.heard += self.gui.poll()
        if not self.heard:
            return "nothing"
        # Pressed once more before it is up, a key may count once only.
        while self.gui.held and time.monotonic() < end:
            self.heard += self.gui.poll()
        action = self.heard.pop(0)
        self.gui.apply(action)
        return action

    def frame(self) -> str:
        """Let the window draw another picture."""
        self.scene.client.getCameraImage(16, 16, renderer=self.scene.client.ER_BULLET_HARDWARE_OPENGL)
        return "drawn"

    def opacity(self) -> str:
        """Return the opacity of both cubes."""
        bodies = [self.scene.mirror.body_id(row) for row in self.rows]
        return " ".join(f"{self.scene.client.getVisualShapeData(body)[0][7][3]:.1f}" for body in bodies)

    def camera(self) -> str:
        """Return pitch and distance of the window's camera."""
        view = window_view(self.scene.mirror)
        return f"{view.pitch} {view.distance}"

    def second(self) -> str:
        """Try to open a second window."""
        try:
            BulletClient(gui=True).connect()
        except StateError as error:
            return " ".join(str(error).split())
        return "opened"

    def close(self) -> str:
        """Close the window."""
        self.scene.mirror.close()
        return "closed"


def main() -> None:
    """Answer until told to close, or until it takes far too long."""
    faulthandler.dump_traceback_later(120.0, exit=True)
    program = Program()
    _say("ready")
    for line in sys.stdin:
        _say(getattr(program, line.strip())())
        if line.strip() == "close":
            break


if __name__ == "__main__":
    main()
