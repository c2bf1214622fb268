"""Cameras: colors, depth and ids, rendered one by one in the steps in which they are due.

Pictures of cameras of one rate are spread over the steps of the period. Noise depends on the camera and the step alone,
so that runs can be repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.sensors.kind import Batch, SensorContext, SensorKind, check_pybullet
from fleet_sim.sensors.render.optics import MAX_SIDE, Intrinsics, optical_orientations
from fleet_sim.sensors.render.renderer import Renderer, check_renderer, make_renderer
from fleet_sim.sensors.render.shot import CHANNELS, Float32s, Frame, Int32s, Shot, check_channels
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting

FrameKind = Literal["body", "optical"]
Channel = Literal["rgb", "depth", "ids", "links"]

RENDERER_SCHEMA = {"anyOf": [{"enum": ["auto", "opengl", "tiny"]}, {"type": "string"}]}
"""Editors complete our own names; others may be registered."""


@dataclass(frozen=True)
class CameraSensorParams(SensorParams):
    """A camera without distortion. Only its channels are rendered."""

    default_name: ClassVar[str] = "camera"

    rate: float | None = setting(10.0, above=0, unit="Hz", doc="Pictures per simulated second; null: at each step.")
    width: int = setting(320, low=1, high=MAX_SIDE, unit="px", doc="Width of pictures.")
    height: int = setting(240, low=1, high=MAX_SIDE, unit="px", doc="Height of pictures.")
    horizontal_fov: float = setting(
        math.pi / 3, low=1e-3, high=math.pi - 1e-3, unit="rad", doc="Horizontal field of view, with square pixels."
    )
    intrinsics: tuple[float, float, float, float] | None = setting(
        None, unit="px", doc="fx, fy, cx, cy instead of the field of view; integer coordinates are pixel centres."
    )
    near: float = setting(0.05, low=1e-4, unit="m", doc="Distance of the near plane; nothing nearer is visible.")
    far: float = setting(
        100.0, above=0, unit="m", doc="Distance of the far plane; nothing beyond is visible, its depth is infinite."
    )
    channels: tuple[Channel, ...] = setting(("rgb", "depth"), doc="Channels to render; each costs time.")
    frame: FrameKind = setting(
        "body", doc="Frame that `pose` defines: body (x forward, z up) or optical (z forward, y down)."
    )
    shadows: bool = setting(False, doc="Draw shadows on the floor; slower, and with opengl only.")
    rgb_noise: float = setting(
        0.0, low=0, high=1, doc="Standard deviation of colors, as a fraction of full brightness."
    )
    depth_noise: float = setting(0.0, low=0, unit="m", doc="Standard deviation of depth.")
    renderer: str = setting(
        "auto",
        reader=check_renderer,
        schema=RENDERER_SCHEMA,
        doc="Renderer: opengl, tiny (PyBullet's own), auto (the best available), or a registered name.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_channels(self.channels)
        if self.far <= self.near:
            raise InvalidValueError(f"far: must be beyond near, {self.near} m, got {self.far} m")
        # Made only to check it: the intrinsics of a picture have limits of their own.
        self.lens()

    def lens(self) -> Intrinsics:
        """Return the size and projection of its pictures."""
        if self.intrinsics is not None:
            return Intrinsics(self.width, self.height, *self.intrinsics)
        return Intrinsics.from_fov(self.width, self.height, self.horizontal_fov)


@dataclass(frozen=True, eq=False)
class CameraReading(Reading):
    """One image. Channels that the camera does not have are None.

    - `rgb` (H, W, 3) uint8.
    - `depth` (H, W) float32: m along the optical axis, +inf if nothing is between near and far.
    - `ids` (H, W) int32: object id of the visible entity, -1 for the floor and empty pixels.
    - `links` (H, W) int32: index of the visible link, -1 for a base and wherever `ids` is -1.
    - `position` (3,), `orientation` (4,): pose of the optical frame (x right, y down, z forward) in the world.
    - `intrinsics`: size and projection; `intrinsics.matrix` is K.
    """

    rgb: Bytes | None
    depth: Float32s | None
    ids: Int32s | None
    links: Int32s | None
    position: Floats
    orientation: Floats
    intrinsics: Intrinsics

    def points(self) -> npt.NDArray[np.float32]:
        """Return the points (H, W, 3) of the pixels in the optical frame, NaN for empty pixels.

        Raises InvalidValueError for a camera without depth.
        """
        if self.depth is None:
            raise InvalidValueError("points are made from depth; give the camera the channel 'depth'")
        return self.intrinsics.back_project(self.depth)


class CameraSensor(SensorKind):
    """Renders cameras. Cameras of one rate are spread over the steps of the period, so that no step renders all."""

    params_class = CameraSensorParams
    reading_class = CameraReading
    spread = True

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        self.budget = context.camera_budget
        self._renderers: dict[str, Renderer] = {}

    @classmethod
    def check_params(cls, params: CameraSensorParams) -> None:
        """Raise MissingDependencyError for PyBullet's renderer where there is no PyBullet."""
        if params.renderer == "tiny":
            check_pybullet("A camera with the renderer 'tiny'")

    def renderer(self, choice: str = "auto") -> Renderer:
        """Return the renderer for `choice`, created on first use."""
        renderer = self._renderers.get(choice)
        if renderer is None:
            renderer = self._renderers[choice] = make_renderer(self.context.mirror, choice)
        return renderer

    def sense(self, batch: Batch) -> dict[str, Any]:
        """Return a picture and the camera's pose for each camera."""
        params: CameraSensorParams = batch.params
        renderer, lens = self.renderer(params.renderer), params.lens()
        channels = check_channels(params.channels)
        orientations = batch.orientations
        # Rays go along z of the optical frame, where a body looks along x.
        if params.frame == "body":
            orientations = optical_orientations(orientations)
        frames = [
            renderer.render(Shot(lens, position, orientation, params.near, params.far, channels, params.shadows))
            for position, orientation in zip(batch.positions, orientations, strict=True)
        ]
        # In place: frames belong to nobody else yet.
        for frame, key in zip(frames, batch.keys.tolist(), strict=True):
            _spoil(frame, params, key, batch.tick)
        return {
            **{name: [_frozen(getattr(frame, name)) for frame in frames] for name in CHANNELS},
            "position": batch.positions,
            "orientation": orientations,
            "intrinsics": [lens] * len(frames),
        }


def _spoil(frame: Frame, params: CameraSensorParams, key: int, tick: int) -> None:
    if params.rgb_noise and frame.rgb is not None:
        noisy_colors(frame.rgb, params.rgb_noise, key, tick)
    if params.depth_noise and frame.depth is not None:
        noisy_depth(frame.depth, params.depth_noise, params.near, params.far, key, tick)


def _frozen(array: npt.NDArray[np.generic] | None) -> npt.NDArray[np.generic] | None:
    # All consumers get the same array.
    if array is not None:
        array.flags.writeable = False
    return array


_COLORS, _DEPTH = range(2)


def noisy_colors(rgb: Bytes, deviation: float, key: int, tick: int) -> None:
    """Add noise to `rgb` (H, W, 3), in place; `deviation` is a share of full brightness."""
    drawn = _normals(key, tick, _COLORS, rgb.shape)
    drawn *= np.float32(255.0 * deviation)
    drawn += rgb
    np.clip(np.rint(drawn, out=drawn), 0.0, 255.0, out=drawn)
    rgb[...] = drawn


def noisy_depth(depth: Float32s, deviation: float, near: float, far: float, key: int, tick: int) -> None:
    """Add noise to `depth` (H, W), in place; `deviation` is in m. Noisy depths stay between near and far."""
    drawn = _normals(key, tick, _DEPTH, depth.shape)
    drawn *= np.float32(deviation)
    drawn += depth
    # Nothing stays nothing: a pixel without depth gets no noise.
    seen_mask = np.isfinite(depth)
    depth[seen_mask] = np.clip(drawn[seen_mask], near, far)


def _normals(key: int, tick: int, channel: int, shape: tuple[int, ...]) -> Float32s:
    # Millions of numbers: a generator of its own, seeded with all they depend on, is many times faster than hashing.
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence((key, tick, channel))))
    return generator.standard_normal(shape, np.float32)
