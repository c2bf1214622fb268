"""The request to a renderer, its light and its result; which renderer is chosen; films as files."""

from __future__ import annotations

import contextlib
import math
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bytes, Floats, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, did_you_mean, of_extra
from fleet_sim.base.files import as_path, check_target, part_of, put_in_place, remove, scratch_file
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions

# How a pinhole camera maps points to pixels, and back. A camera's optical frame has x right, y down and z forward.
# Whole pixel coordinates are centres of pixels, as in ROS and OpenCV: pixel (0, 0) covers -0.5 to 0.5.


MAX_SIDE = 8192
"""The largest width and height of a picture, in pixels."""

OPTICAL_TURN: tuple[float, float, float, float] = (-0.5, 0.5, -0.5, 0.5)
"""Orientation of an optical frame in the frame of the body that carries it, which has x forward and z up."""


@saved
@dataclass(frozen=True)
class Intrinsics:
    """Size and projection of a camera, in pixels: u = fx x / z + cx, v = fy y / z + cy.

    Raises InvalidValueError for a size or focal length no picture can have.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            side = getattr(self, name)
            if isinstance(side, bool) or not isinstance(side, (int, np.integer)) or not 1 <= side <= MAX_SIDE:
                raise InvalidValueError(f"{name}: expected a whole number of pixels in [1, {MAX_SIDE}], got {side!r}")
        for name in ("fx", "fy"):
            as_float(getattr(self, name), f"{name} in pixels", low=1e-6)
        for name in ("cx", "cy"):
            as_float(getattr(self, name), f"{name} in pixels")

    @classmethod
    def from_fov(cls, width: int, height: int, horizontal_fov: float) -> Intrinsics:
        """Return square pixels that open `horizontal_fov` rad from the left edge to the right one."""
        fov = as_float(horizontal_fov, "horizontal_fov in rad", low=1e-3, high=math.pi - 1e-3)
        focal = 0.5 * width / math.tan(0.5 * fov)
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))

    @classmethod
    def from_vertical_fov(cls, width: int, height: int, vertical_fov: float) -> Intrinsics:
        """Return square pixels that open `vertical_fov` rad from the upper edge to the lower one."""
        fov = as_float(vertical_fov, "vertical_fov in rad", low=1e-3, high=math.pi - 1e-3)
        focal = 0.5 * height / math.tan(0.5 * fov)
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))

    @property
    def matrix(self) -> Floats:
        """The camera matrix K (3, 3): pixels times depth = K @ point in the optical frame."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def project(self, points: Floats) -> Floats:
        """Return the pixels (N, 2), column and row, of points (N, 3) in the optical frame; z must not be 0."""
        x, y, z = points.T
        return quaternions.stack(self.fx * x / z + self.cx, self.fy * y / z + self.cy)

    def back_project(self, depth: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the points (H, W, 3) in the optical frame that `depth` (H, W) shows; infinite depth gives NaN."""
        # float32 as the depth is: a float64 factor would double the memory of every step.
        columns = ((np.arange(self.width) - self.cx) / self.fx).astype(np.float32)
        rows = ((np.arange(self.height) - self.cy) / self.fy).astype(np.float32)
        points = np.empty((*depth.shape, 3), np.float32)
        points[..., 2] = np.where(np.isfinite(depth), depth, np.float32(np.nan))
        np.multiply(points[..., 2], columns, out=points[..., 0])
        np.multiply(points[..., 2], rows[:, None], out=points[..., 1])
        return points

    def clip_matrix(self, near: float, far: float, sample: tuple[float, float] = (0.5, 0.5)) -> Floats:
        """Return the matrix (4, 4) from the optical frame to OpenGL's clip space, for columns of points.

        Clip space has the first row of the picture at y = -1. `sample` is where in its unit square a renderer looks
        at a pixel, as right and down from the pixel's upper left corner.
        """
        width, height = self.width, self.height
        matrix = np.zeros((4, 4))
        matrix[0, 0] = 2.0 * self.fx / width
        matrix[0, 2] = 2.0 * (self.cx + sample[0]) / width - 1.0
        matrix[1, 1] = 2.0 * self.fy / height
        matrix[1, 2] = 2.0 * (self.cy + sample[1]) / height - 1.0
        # Maps depths from near to far to [-1, 1], as OpenGL clips them.
        matrix[2, 2] = (far + near) / (far - near)
        matrix[2, 3] = -2.0 * far * near / (far - near)
        # w is the depth: the shaders read one over it from gl_FragCoord.w.
        matrix[3, 2] = 1.0
        return matrix


def optical_orientations(orientations: Floats) -> Floats:
    """Return the optical frames (N, 4) of cameras whose bodies, x forward and z up, are turned by (N, 4)."""
    return quaternions.multiply(orientations, np.broadcast_to(np.array(OPTICAL_TURN), orientations.shape))


def engine_view(position: Floats, orientation: Floats) -> list[float]:
    """Return the view matrix of an optical frame at (3,), (4,), as PyBullet has it: 16 numbers, column by column.

    It leads into a frame with x right, y up and z back.
    """
    # OpenGL looks along -z with y up, an optical frame along z with y down.
    turn = quaternions.to_matrices(orientation[None])[0].T * np.array([[1.0], [-1.0], [-1.0]])
    matrix = np.eye(4)
    matrix[:3, :3] = turn
    matrix[:3, 3] = -turn @ position
    return _columns(matrix)


def engine_projection(
    lens: Intrinsics, near: float, far: float, sample: tuple[float, float] = (0.5, 0.5)
) -> list[float]:
    """Return the matrix from that frame into clip space, where the picture's first line is at the top, as PyBullet's.

    `sample` is as in `Intrinsics.clip_matrix`.
    """
    clip = lens.clip_matrix(near, far, sample)
    return _columns(np.diag([1.0, -1.0, 1.0, 1.0]) @ clip @ np.diag([1.0, -1.0, -1.0, 1.0]))


def _columns(matrix: Floats) -> list[float]:
    # OpenGL and PyBullet store matrices column by column.
    numbers: list[float] = matrix.T.reshape(-1).tolist()
    return numbers


Color = tuple[float, float, float]


@dataclass(frozen=True)
class Lighting:
    """How the rasteriser lights the world. Colors are red, green, blue in [0, 1].

    `sun` points to the sun. What faces it gets `sun_color` and the ambient light; what faces away gets the ambient
    light only, which goes from `ground_color` on undersides to `sky_color` on tops. `floor` are the colors of the
    floor's squares.
    """

    sun: tuple[float, float, float] = (0.4, -0.6, 1.0)
    sun_color: Color = (0.46, 0.45, 0.42)
    sky_color: Color = (0.60, 0.61, 0.64)
    ground_color: Color = (0.43, 0.43, 0.45)
    background: Color = (0.87, 0.91, 0.95)
    floor: tuple[Color, Color] = ((0.64, 0.73, 0.88), (0.94, 0.94, 0.94))


CHANNELS = ("rgb", "depth", "ids", "links")
NOTHING = -1
"""The id of the floor, of bodies that are no entity, and of pixels without anything."""

Int32s = npt.NDArray[np.int32]
Float32s = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture to be taken.

    `position` (3,) and `orientation` (4,) place the optical frame, x right, y down, z forward, in the world. What is
    nearer than `near` or farther than `far`, in m along the optical axis, is not seen. `channels` are some of
    CHANNELS. `shadows` are those that entities cast on the floor, where the renderer can draw them.
    """

    intrinsics: Intrinsics
    position: Floats
    orientation: Floats
    near: float = 0.05
    far: float = 100.0
    channels: frozenset[str] = frozenset({"rgb", "depth"})
    shadows: bool = False

    @classmethod
    def checked(
        cls,
        intrinsics: Intrinsics,
        position: object,
        orientation: object,
        near: float = 0.05,
        far: float = 100.0,
        channels: Iterable[str] = ("rgb", "depth"),
        shadows: bool = False,
    ) -> Shot:
        """Return a shot from values of a user; raises InvalidValueError saying which one is wrong."""
        near = as_float(near, "near in m", low=1e-4)
        far = as_float(far, "far in m", low=near * (1.0 + 1e-6))
        turn = quaternions.normalized(as_floats(orientation, (4,), "camera orientation")[None], "camera orientation")
        place = as_floats(position, (3,), "camera position")
        return cls(intrinsics, place, turn[0], near, far, check_channels(channels), shadows)


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture, height x width; what was not asked for is None.

    - `rgb` (H, W, 3) uint8.
    - `depth` (H, W) float32: m along the optical axis, +inf where nothing is between near and far.
    - `ids` (H, W) int32: object id of the entity seen, -1 for the floor, other bodies and nothing.
    - `links` (H, W) int32: link of the entity seen, -1 for its base, and where `ids` is -1.
    """

    rgb: Bytes | None = None
    depth: Float32s | None = None
    ids: Int32s | None = None
    links: Int32s | None = None


def in_bands(shot: Shot, most: int, draw: Callable[[Shot], Frame]) -> Frame:
    """Return the picture that `draw` makes, one of more than `most` pixels in bands of rows.

    While a library draws, no code of Python runs: a signal would wait for the whole of a large picture.
    """
    lens = shot.intrinsics
    rows = max(1, most // lens.width)
    if lens.height <= rows:
        return draw(shot)
    bands = [
        draw(replace(shot, intrinsics=replace(lens, height=min(rows, lens.height - top), cy=lens.cy - top)))
        for top in range(0, lens.height, rows)
    ]
    channels = {name: [getattr(band, name) for band in bands] for name in CHANNELS}
    return Frame(**{name: np.concatenate(parts) for name, parts in channels.items() if parts[0] is not None})


def check_channels(channels: Iterable[str]) -> frozenset[str]:
    """Return the channels; raises InvalidValueError for an unknown one, or none."""
    chosen = frozenset([channels] if isinstance(channels, str) else channels)
    for channel in chosen:
        if channel not in CHANNELS:
            raise InvalidValueError(f"channels: unknown {channel!r}.{did_you_mean(str(channel), CHANNELS)}")
    if not chosen:
        raise InvalidValueError(f"channels: expected some of {', '.join(CHANNELS)}, got none")
    return chosen


# One palette for the whole film, made of what moves, and only the pixels that changed in each picture.
_GIF = "split[a][b];[a]palettegen=max_colors=96:stats_mode=full[p];[b][p]paletteuse=dither=none:diff_mode=rectangle"
_VIDEO = ["-an", "-c:v", "libx264", "-crf", "20", "-preset", "medium", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
_WEB = ["-an", "-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0", "-pix_fmt", "yuv420p"]
ENCODINGS = {
    **dict.fromkeys((".mp4", ".mkv", ".mov"), _VIDEO),
    ".webm": _WEB,
    ".gif": ["-filter_complex", _GIF, "-loop", "0"],
}
LOWEST_FPS, HIGHEST_FPS, GIF_FPS = 0.01, 1000.0, 50.0
"""Pictures per second that films can have; GIFs have fewer, as each picture stays for whole hundredths of a second and
programs that show them take one hundredth for ten."""


def check_fps(path: str | Path, fps: float) -> None:
    """Raise InvalidValueError where the film at `path` cannot have `fps` pictures per second."""
    is_gif = as_path(path).suffix.lower() == ".gif"
    highest = GIF_FPS if is_gif else HIGHEST_FPS
    if not LOWEST_FPS <= fps <= highest:
        kind = " for a GIF" if is_gif else ""
        raise InvalidValueError(f"fps: expected a number from {LOWEST_FPS:g} to {highest:g}{kind}, got {fps:g}")


class FilmFile:
    """A film in the making, `fps` pictures of `width` x `height` to a second; the file is there when it is closed.

    Raises InvalidValueError where nothing can be written, the ending is not known or a film cannot have that many
    pictures per second, MissingDependencyError without the extra `video`.
    """

    def __init__(self, path: str | Path, width: int, height: int, fps: float) -> None:
        with of_extra("imageio_ffmpeg", "video", "a film"):
            import imageio_ffmpeg
        self.path = as_path(path)
        self._part = part_of(self.path)
        encoding = ENCODINGS.get(self.path.suffix.lower())
        if encoding is None:
            raise InvalidValueError(f"{path}: unsupported film format {self.path.suffix!r}; use {', '.join(ENCODINGS)}")
        # Halves of colors are shared by two pixels in videos.
        if width % 2 or height % 2:
            raise InvalidValueError(f"size: expected even numbers, got {width}x{height}")
        check_fps(path, fps)
        check_target(path)
        self._shape = (height, width, 3)
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", str(fps), "-i", "-", *encoding, str(self._part)]
        # In a file and not in a pipe, which would fill up while nobody reads it.
        self._messages = scratch_file()
        # Ctrl-C is for this process, which then ends the film.
        self._encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=self._messages, start_new_session=True)

    def add(self, rgb: Bytes) -> None:
        """Add a picture (height, width, 3); raises InvalidValueError where the encoder has ended, as on a full disk."""
        assert rgb.shape == self._shape
        assert self._encoder.stdin is not None
        try:
            self._encoder.stdin.write(np.ascontiguousarray(rgb).data)
        except OSError as error:
            raise self._failure() from error

    def close(self) -> None:
        """Finish the film and give the file its name; may be called again, and after an error, which leaves none."""
        assert self._encoder.stdin is not None
        if self._messages.closed:
            return
        try:
            self._encoder.stdin.close()
        except OSError as error:
            raise self._failure() from error
        if self._encoder.wait():
            raise self._failure()
        put_in_place(self._part, self.path)
        self.abandon()

    def abandon(self) -> None:
        """End the encoder, and leave no file but a finished one."""
        if self._encoder.poll() is None:
            self._encoder.kill()
            self._encoder.wait()
        if self._encoder.stdin is not None and not self._encoder.stdin.closed:
            with contextlib.suppress(OSError):
                self._encoder.stdin.close()
        self._messages.close()
        remove(self._part)

    def _failure(self) -> InvalidValueError:
        self._encoder.wait()
        self._messages.seek(0)
        lines = self._messages.read().decode("utf-8", "replace").strip().splitlines() or ["the encoder ended"]
        self.abandon()
        return InvalidValueError(f"{self.path}: cannot be written: {lines[-1][:200]}")

    def __enter__(self) -> FilmFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the film; after an error, end the encoder and leave no file."""
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()
