"""Pictures for people: framed, smooth, with shadows."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np

from fleet_sim.arrays import Bytes
from fleet_sim.bullet.adopted import count_own
from fleet_sim.bullet.camera_view import CameraView
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.geometry import Pose
from fleet_sim.sensors.render.flat_marks import FlatMarks
from fleet_sim.sensors.render.gl.renderer import GlRenderer
from fleet_sim.sensors.render.optics import MAX_SIDE, Intrinsics, optical_orientations
from fleet_sim.sensors.render.renderer import AUTO, make_renderer
from fleet_sim.sensors.render.shot import Lighting, Shot

SMOOTH = 3
"""Pictures are drawn larger by this factor and averaged, as far as the largest picture allows."""


QUIET_FLOOR = Lighting(floor=((0.84, 0.86, 0.90), (0.90, 0.91, 0.93)))
"""The squares of the floor still show distances, but do not drown robots and marks."""


class Painter(AbstractContextManager["Painter"]):
    """Makes pictures of one size (height, width, 3) of a world, one after the other.

    They are drawn by OpenGL where that is there. PyBullet draws them otherwise, and where there are bodies that only
    PyBullet knows; then they have neither shadows nor marks. `smooth` is the factor by which they are drawn larger and
    averaged. The size must have been checked. To be closed.
    """

    def __init__(self, mirror: BulletMirror, width: int, height: int, smooth: int = SMOOTH) -> None:
        self._size = width, height
        self._smooth = max(1, min(smooth, MAX_SIDE // width, MAX_SIDE // height))
        self._renderer = make_renderer(mirror, "tiny" if any(count_own(mirror)) else AUTO, lighting=QUIET_FLOOR)

    def draw(self, view: CameraView, marks: FlatMarks | None = None) -> Bytes:
        """Return the present picture, seen as `view` says, with `marks` on the floor where OpenGL draws it."""
        if isinstance(self._renderer, GlRenderer):
            self._renderer.marks = marks
        width, height = self._size
        rgb = self._renderer.render(shot_of(view, self._smooth * width, self._smooth * height)).rgb
        assert rgb is not None
        blocks = rgb.reshape(height, self._smooth, width, self._smooth, 3)
        return np.asarray(blocks.mean(axis=(1, 3)).round(), np.uint8)

    def close(self) -> None:
        """Free the resources; may be called again."""
        self._renderer.close()

    def __exit__(self, *exception: object) -> None:
        self.close()


def shot_of(view: CameraView, width: int, height: int) -> Shot:
    """Return the shot, with shadows, of what `view` sees."""
    lens = Intrinsics.from_vertical_fov(width, height, math.radians(view.fov))
    pose = eye_of(view)
    orientation = optical_orientations(np.array([pose.orientation]))[0]
    # The nearer the near plane, the coarser are depths far away.
    near = max(0.02, 0.01 * view.distance)
    return Shot.checked(lens, pose.position, orientation, near, 1000.0 + 2.0 * view.distance, ["rgb"], shadows=True)


def check_size(width: int, height: int) -> None:
    """Raise InvalidValueError for a size that no picture can have."""
    Intrinsics.from_vertical_fov(width, height, 1.0)


def eye_of(view: CameraView) -> Pose:
    """Return where the camera of `view` is; its x axis points to the target, z is up."""
    # PyBullet's yaw 0 looks along y, and its pitch is positive for a look upwards.
    yaw, pitch = math.radians(view.yaw + 90.0), math.radians(view.pitch)
    ahead = (math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch))
    x, y, z = (place - view.distance * step for place, step in zip(view.target, ahead, strict=True))
    return Pose.from_euler(x, y, z, 0.0, -pitch, yaw)
