"""The documented names of a simulation that are about PyBullet, its window, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_sim.arrays import Bytes
from fleet_sim.bullet.camera import Picture
from fleet_sim.bullet.camera_view import CameraView
from fleet_sim.config.params import CameraParams
from fleet_sim.facade.view import View


class ViewNames:
    """Methods about what can be seen: one line each, which calls the part that does the work."""

    view: View

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        After reading it, PyBullet is updated in every step, since direct calls cannot be intercepted. Prefer
        `sim.bullet`, which has all pybullet functions and updates PyBullet only when one is called.
        """
        return self.view.client_id

    def setup_pybullet(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id, as `client` does."""
        return self.view.connect()

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before the first use of PyBullet."""
        return self.view.floor_id

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Set the window's camera to `camera_config` (None: `params.camera_config`) and return the view.

        Mode "auto" fits the present content of the world. Without a window the view is only returned. Raises
        ConfigError.
        """
        return self.view.setup_camera(camera_config)

    def take_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Picture:
        """Return an image of the world (colors, depth in m, rows); needs no window and no GPU.

        `camera_config` is as in `setup_camera`. `fleet_sim.images.write_png` saves the colors.
        """
        return self.view.take_picture(width, height, camera_config)

    def draw_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Bytes:
        """Return a picture (height, width, 3) for people: smooth, with shadows, drawn by OpenGL where it is there.

        `camera_config` is as in `setup_camera`. `fleet_sim.images.write_png` saves it.
        """
        return self.view.draw_picture(width, height, camera_config)

    def configure_visualizer(self, **settings: bool) -> None:
        """Apply the settings of the window: shadows, panels, collision shapes, transparent static bodies.

        `settings` are `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes` and
        `enable_structure_transparency`; those not given are as in `params`. Raises ConfigError.
        """
        self.view.configure(**settings)

    def disable_rendering(self) -> None:
        """Suspend drawing of the window, for faster changes to the world; without a window it has no effect."""
        self.view.draw(False)

    def enable_rendering(self) -> None:
        """Resume drawing of the window."""
        self.view.draw(True)
