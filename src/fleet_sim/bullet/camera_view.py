"""Camera views: from where the world is looked at, given by numbers or fitted to what there is to see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean

MODES = ("auto", "manual", "top_down")


_KEYS = ("camera_mode", "camera_view_type", "camera_distance", "camera_yaw", "camera_pitch", "camera_target",
         "camera_auto_scale", "camera_fov")  # fmt: skip


_VIEW_TYPES = ("top_down", "perspective")


# Straight down would leave the yaw of PyBullet's camera undefined.
_DOWN = -89.9


_ROUNDS = 30


_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


Bounds = tuple[Floats, Floats]


@dataclass(frozen=True)
class CameraView:
    """A camera that looks at `target` (m, world) from `distance` m away; angles in degrees, as in PyBullet.

    Yaw 0 looks along +y and grows counter-clockwise; pitch -90 looks straight down. `fov` is the vertical opening
    angle.
    """

    distance: float = 10.0
    yaw: float = 0.0
    pitch: float = -40.0
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fov: float = 60.0

    def top_down(self) -> CameraView:
        """Return the view of the same target from straight above."""
        return CameraView(self.distance, 0.0, _DOWN, self.target, self.fov)

    def zoomed(self, factor: float) -> CameraView:
        """Return the view from `factor` times the distance."""
        return CameraView(max(0.05, self.distance * factor), self.yaw, self.pitch, self.target, self.fov)


def view_from_config(
    config: Mapping[str, Any], bounds: Bounds | None, framed: tuple[Floats, float] | None = None
) -> CameraView:
    """Return the view described by a camera section.

    `camera_mode` "auto" (default) fits `bounds`, the lower and upper corner (3,), (3,) of the scene, in the
    `camera_view_type` "perspective" (default) or "top_down"; `camera_auto_scale` is the fraction of the image that the
    scene fills. `framed`, points (N, 3) of the scene and the aspect of the image, makes that exact; without it, the
    scene fits in any image that is not upright, and from any side. "manual" uses `camera_distance`, `camera_yaw`,
    `camera_pitch`, `camera_target`. Raises ConfigError.
    """
    for key in config:
        if key not in _KEYS:
            raise ConfigError(f"unknown key.{did_you_mean(str(key), _KEYS)}", path=f"camera.{key}")
    mode = _choice(config, "camera_mode", MODES, "auto")
    fov = _number(config, "camera_fov", 60.0, 1.0, 170.0)
    if mode == "manual":
        return CameraView(
            _number(config, "camera_distance", 10.0, 0.01, 1e6),
            _number(config, "camera_yaw", 0.0, -360.0, 360.0),
            max(_DOWN, _number(config, "camera_pitch", -40.0, -90.0, 90.0)),
            _point(config, "camera_target"),
            fov,
        )
    view_type = "top_down" if mode == "top_down" else "perspective"
    view_type = _choice(config, "camera_view_type", _VIEW_TYPES, view_type)
    yaw = _number(config, "camera_yaw", 45.0, -360.0, 360.0)
    pitch = max(_DOWN, _number(config, "camera_pitch", -40.0, -90.0, 90.0))
    if view_type == "top_down":
        yaw, pitch = 0.0, _DOWN
    share = _number(config, "camera_auto_scale", 0.8, 0.05, 1.0)
    view = CameraView(yaw=yaw, pitch=pitch, fov=fov)
    if bounds is None or not np.isfinite(bounds[0]).all() or not np.isfinite(bounds[1]).all():
        return view
    return _fit_ball(bounds, view, share) if framed is None else _fit_points(*framed, view, share)


def _fit_ball(bounds: Bounds, view: CameraView, share: float) -> CameraView:
    """Return `view` with the distance from which a ball around a box fills `share` of the image, from any side."""
    lower, upper = bounds
    radius = max(0.5, 0.5 * float(np.linalg.norm(upper - lower)))
    distance = radius / share / math.tan(math.radians(0.5 * view.fov))
    x, y, z = (0.5 * (lower + upper)).tolist()
    return replace(view, distance=distance, target=(x, y, z))


def _fit_points(points: Floats, aspect: float, view: CameraView, share: float) -> CameraView:
    """Return `view` with the distance and target from which points are in the middle and fill `share` of the image."""
    centre, corners = _around_the_middle(points)
    right, ahead, up = _axes_of(view)
    steep = share * math.tan(math.radians(0.5 * view.fov))
    depths = corners @ ahead
    distance = max(_distance_of(corners @ right, depths, steep * aspect), _distance_of(corners @ up, depths, steep))
    aside, above = (_middle_of(corners @ axis, depths + distance) for axis in (right, up))
    x, y, z = (centre + aside * right + above * up).tolist()
    return replace(view, distance=distance, target=(x, y, z))


def fitted_all_around(points: Floats, aspect: float, view: CameraView, share: float = 0.8) -> CameraView:
    """Return `view` with the distance and target from which points (N, 3) fill `share` of the image at most.

    That holds for every yaw, with the same distance and target: for a camera that goes around.
    """
    (centre, corners), distance = _around_the_middle(points), 0.0
    steep = share * math.tan(math.radians(0.5 * view.fov))
    for degrees in range(0, 360, 5):
        right, ahead, up = _axes_of(replace(view, yaw=float(degrees)))
        behind = np.maximum(np.abs(corners @ right) / (steep * aspect), np.abs(corners @ up) / steep) - corners @ ahead
        distance = max(distance, float(behind.max()))
    x, y, z = centre.tolist()
    return replace(view, distance=distance, target=(x, y, z))


def _around_the_middle(points: Floats) -> tuple[Floats, Floats]:
    """Return the middle (3,) of points (N, 3), and from there the points and some around it (M, 3)."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    # Half a metre around the middle, too, or the camera would be inside of the only thing that there is.
    return centre, np.concatenate((points - centre, 0.3 * _CORNERS))


def _axes_of(view: CameraView) -> tuple[Floats, Floats, Floats]:
    """Return where right, ahead and up are for a camera."""
    yaw, pitch = math.radians(view.yaw), math.radians(view.pitch)
    right = np.array((math.cos(yaw), math.sin(yaw), 0.0))
    ahead = np.array((-math.cos(pitch) * math.sin(yaw), math.cos(pitch) * math.cos(yaw), math.sin(pitch)))
    return right, ahead, np.cross(right, ahead)


def _distance_of(offsets: Floats, depths: Floats, slope: float) -> float:
    """Return how far back a camera is that sees points (N,) within `slope` on both sides."""
    # The two planes at the edges of the view touch the points from both sides; the camera is where they meet.
    return float(0.5 * ((-offsets - slope * depths).max() + (offsets - slope * depths).max()) / slope)


def _middle_of(offsets: Floats, depths: Floats) -> float:
    """Return where sidewards a camera sees points (N,) `depths` before it as far to one side as to the other."""
    middle = 0.0
    for _ in range(_ROUNDS):
        slopes = (offsets - middle) / depths
        # Near points move more than far ones, so this is not exact at once.
        middle += 0.5 * float(slopes.max() + slopes.min()) * float(depths.min())
    return middle


def _choice(config: Mapping[str, Any], key: str, allowed: tuple[str, ...], default: str) -> str:
    value = config.get(key, default)
    if value not in allowed:
        raise ConfigError(f"expected one of {', '.join(allowed)}, got {value!r}", path=f"camera.{key}")
    return str(value)


def _number(config: Mapping[str, Any], key: str, default: float, low: float, high: float) -> float:
    try:
        return as_float(config.get(key, default), key, low=low, high=high)
    except InvalidValueError as error:
        raise ConfigError(str(error), path=f"camera.{key}") from error


def _point(config: Mapping[str, Any], key: str) -> tuple[float, float, float]:
    try:
        x, y, z = as_floats(config.get(key, (0.0, 0.0, 0.0)), (3,), key).tolist()
    except InvalidValueError as error:
        raise ConfigError(str(error), path=f"camera.{key}") from error
    return x, y, z
