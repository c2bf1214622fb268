"""The camera of the window, and images rendered with PyBullet's software renderer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bytes, Floats, Ints, as_float, as_floats
from fleet_sim.bullet.camera_view import Bounds, CameraView, view_from_config
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.errors import InvalidValueError, StateError

LIT_FROM = (0.4, -0.6, 1.0)
"""Direction towards the light in images."""


class Picture(NamedTuple):
    """A rendered image, all arrays of height x width.

    `rgb` (H, W, 3) uint8; `depth` (H, W) in m along the viewing axis, infinite where there is nothing; `rows` (H, W):
    row of the entity in each pixel, -1 for the floor and other bodies without an entity, -2 for nothing.
    """

    rgb: Bytes
    depth: npt.NDArray[np.float32]
    rows: Ints


def setup_camera(mirror: BulletMirror, config: Mapping[str, Any], bounds: Bounds | None) -> CameraView:
    """Return the view of `config` and apply it to the window, if there is one; raises ConfigError."""
    view = view_from_config(config, bounds)
    if mirror.client.gui:
        show_view(mirror, view)
    return view


def show_view(mirror: BulletMirror, view: CameraView) -> None:
    """Apply `view` to the window."""
    mirror.client.resetDebugVisualizerCamera(view.distance, view.yaw, view.pitch, view.target)


def window_view(mirror: BulletMirror) -> CameraView:
    """Return the present view of the window."""
    camera = mirror.client.getDebugVisualizerCamera()
    return CameraView(float(camera[10]), float(camera[8]), float(camera[9]), tuple(camera[11]))


def render(
    mirror: BulletMirror,
    width: int,
    height: int,
    view: CameraView | tuple[Floats, Floats],
    *,
    near: float = 0.05,
    far: float = 1000.0,
    shadow: bool = True,
    lit_from: tuple[float, float, float] = LIT_FROM,
) -> Picture:
    """Render an image of the whole world with TinyRenderer, which needs no GPU and no window.

    `view` is a CameraView, or a camera's world pose: position (3,) and orientation (4,) of the optical frame (z
    forward, x right, y down), with the default opening angle of CameraView. `near` and `far` (m) are the clipping
    distances. Raises InvalidValueError.
    """
    for name, size in (("width", width), ("height", height)):
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 1 <= size <= 8192:
            raise InvalidValueError(f"{name}: expected a whole number of pixels in [1, 8192], got {size!r}")
    near = as_float(near, "near", low=1e-4)
    far = as_float(far, "far", low=near * (1.0 + 1e-6))
    mirror.ensure()
    fov = view.fov if isinstance(view, CameraView) else CameraView.fov
    projection = mirror.client.computeProjectionMatrixFOV(fov, width / height, near, far)
    image = capture(
        mirror, int(width), int(height), _view_matrix(mirror, view), projection, shadow=shadow, lit_from=lit_from
    )
    rows = _rows_of_segments(mirror, image.segments)
    return Picture(colors_of(image.rgba), metres_of(image.depth, image.segments, near, far), rows)


class Capture(NamedTuple):
    """The output of TinyRenderer, of height x width: colors (H, W, 4), its depth buffer, and its segments.

    A segment is the visible PyBullet body, -1 for none; with links, its upper eight bits hold the link plus one.
    """

    rgba: Bytes
    depth: npt.NDArray[np.float32]
    segments: npt.NDArray[np.int32]


def capture(
    mirror: BulletMirror,
    width: int,
    height: int,
    view_matrix: Any,
    projection: Any,
    *,
    links: bool = False,
    shadow: bool = True,
    lit_from: tuple[float, float, float] = LIT_FROM,
) -> Capture:
    """Render an image with matrices in PyBullet's form: 16 numbers, column by column.

    Bodies are rendered as they are in the engine: call `mirror.ensure` before. Raises StateError if they were made
    without visual shapes.
    """
    client = mirror.client
    if not mirror.bodies.visuals:
        raise StateError(
            "the engine cannot draw this simulation: its bodies have no visual shapes (engine_visuals: false); "
            "use a camera sensor with OpenGL, or create the simulation with engine_visuals=True"
        )
    _, _, rgba, depth, segments = client.getCameraImage(
        width,
        height,
        view_matrix,
        projection,
        lightDirection=lit_from,
        shadow=int(shadow),
        renderer=client.ER_TINY_RENDERER,
        flags=client.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX if links else 0,
    )
    # A build of PyBullet without NumPy returns tuples.
    return Capture(
        np.reshape(np.asarray(rgba, np.uint8), (height, width, 4)),
        np.reshape(np.asarray(depth, np.float32), (height, width)),
        np.reshape(np.asarray(segments, np.int32), (height, width)),
    )


def colors_of(rgba: Bytes) -> Bytes:
    """Return the colors (H, W, 3) of (H, W, 4)."""
    rgb = np.empty((*rgba.shape[:2], 3), np.uint8)
    for channel in range(3):
        # Channel by channel: copying three of four bytes at a time takes twice as long.
        rgb[..., channel] = rgba[..., channel]
    return rgb


def metres_of(
    buffer: npt.NDArray[np.float32], segments: npt.NDArray[np.int32], near: float, far: float
) -> npt.NDArray[np.float32]:
    """Convert the renderer's depth buffer, in [0, 1], to metres along the viewing axis; infinite without a segment."""
    # The inverse of the perspective projection: the buffer is not linear in the distance.
    metres = buffer * np.float32(near - far)
    metres += np.float32(far)
    np.divide(np.float32(far * near), metres, out=metres)
    metres[segments < 0] = np.inf
    return metres


def _view_matrix(mirror: BulletMirror, view: CameraView | tuple[Floats, Floats]) -> Any:
    client = mirror.client
    if isinstance(view, CameraView):
        return client.computeViewMatrixFromYawPitchRoll(view.target, view.distance, view.yaw, view.pitch, 0.0, 2)
    position = as_floats(view[0], (3,), "camera position")
    axes = np.reshape(client.getMatrixFromQuaternion(as_floats(view[1], (4,), "camera orientation").tolist()), (3, 3))
    # In the optical frame z is forward and y is down, so up is -y.
    return client.computeViewMatrix(position.tolist(), (position + axes[:, 2]).tolist(), (-axes[:, 1]).tolist())


def _rows_of_segments(mirror: BulletMirror, segments: npt.NDArray[np.int32]) -> Ints:
    rows = mirror.rows_of_bodies(segments.astype(np.int64))
    return np.where(segments >= 0, rows, -2)
