"""FilmFile: pictures, one after the other, as an MP4, a WebM or a GIF; ffmpeg encodes, in its own process."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from types import TracebackType

import numpy as np

from fleet_sim.base.arrays import Bytes
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import as_path, check_target, part_of, put_in_place, remove, scratch_file

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
