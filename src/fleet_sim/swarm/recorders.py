"""Recording a world as a GIF or a film."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Bytes
from fleet_sim.errors import InvalidValueError, missing_extra
from fleet_sim.output import check_target, part_of, put_in_place, refusals, replacing
from fleet_sim.settings import setting
from fleet_sim.swarm.parameters import Configured, documented, file_setting
from fleet_sim.swarm.pictures import picture, require_pillow
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld

COLORS = 64
"""Colors of a GIF. One palette for all frames avoids flicker."""


class Recorder(Configured, Subscriber):
    """Draws every `every_ith_frame`th step; after `duration` steps (None: never) it stops and closes its file.

    `taken` counts the pictures; without one there is no file. Raises MissingDependencyError where Pillow is
    not installed.
    """

    # Settings of every recorder, declared by each with defaults of its own.
    path: Path
    duration: int | None
    every_ith_frame: int
    width: int

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        # Before the settings, whose readers may need Pillow already.
        require_pillow()
        super().__post_init__()
        self.closed = False
        self.taken = 0
        # Now, not at the end: a folder that is missing would be noticed after the whole run.
        check_target(self.path)

    def settled(self) -> Collection[str]:
        """Return all parameters, once it is closed."""
        return self._given if self.closed else ()

    def step(self, world: SwarmWorld) -> None:
        """Draw the world where that is due."""
        if self.closed or world.steps % self.every_ith_frame:
            return
        if self.duration is not None and world.steps > self.duration:
            self.close()
            return
        self.add(picture(world, self.width).rgb)
        self.taken += 1

    def add(self, rgb: Bytes) -> None:
        """Take one picture (H, W, 3)."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write the rest of the file."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish the file; may be called again."""
        if not self.closed:
            self.closed = True
            self.finish()


@documented
@dataclass(eq=False, repr=False)
class GifRecorder(Recorder):
    """Writes a GIF when it is closed. It shows each picture for `time_per_frame` ms, and begins again at the end."""

    path: Path = file_setting("world.gif", "The file.")
    duration: int | None = setting(800, low=1, unit="steps", doc="When it stops; null: at the end of the run.")
    every_ith_frame: int = setting(10, low=1, unit="steps", doc="Steps from one picture to the next.")
    time_per_frame: int = setting(50, low=1, unit="ms", doc="How long each picture is shown.")
    width: int = setting(400, low=1, unit="pixels", doc="Width of the pictures.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._palette: Any = None
        self._frames: list[bytes] = []

    def settled(self) -> Collection[str]:
        """Return `width` too, from the first picture on: all are as wide."""
        return super().settled() or (("width",) if self._frames else ())

    def add(self, rgb: Bytes) -> None:
        """Take one picture; it is kept compressed, some kilobytes each."""
        from PIL import Image

        image = Image.fromarray(rgb)
        # The first picture gives the palette of all.
        if self._palette is None:
            self._palette = image.quantize(COLORS)
        # As PNG in memory: raw frames of a long recording would fill it.
        stream = io.BytesIO()
        image.quantize(palette=self._palette, dither=Image.Dither.NONE).save(stream, "png")
        self._frames.append(stream.getvalue())

    def finish(self) -> None:
        """Write the file; without a picture there is none."""
        from PIL import Image

        images = [Image.open(io.BytesIO(frame)) for frame in self._frames]
        self._frames = []
        if images:
            first, *others = images
            with replacing(self.path) as part:
                first.save(part, "gif", save_all=True, append_images=others, duration=self.time_per_frame, loop=0)


@documented
@dataclass(eq=False, repr=False)
class VideoRecorder(Recorder):
    """Writes an MP4 (or what the ending of `path` says) picture by picture, `fps` of them to a second."""

    path: Path = file_setting("world.mp4", "The file.")
    duration: int | None = setting(None, low=1, unit="steps", doc="When it stops; null: at the end of the run.")
    every_ith_frame: int = setting(2, low=1, unit="steps", doc="Steps from one picture to the next.")
    fps: float = setting(30.0, above=0, doc="Pictures per second of the film.")
    width: int = setting(640, low=2, unit="pixels", doc="Width of the pictures.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError, MissingDependencyError where imageio is not installed."""
        super().__post_init__()
        try:
            import imageio_ffmpeg
        except ImportError as error:
            raise missing_extra("imageio_ffmpeg", "video", "recording a film") from error
        self._ffmpeg: Any = imageio_ffmpeg
        self._writer: Any = None

    def settled(self) -> Collection[str]:
        """Return what the encoder was opened with, too, from the first picture on."""
        return super().settled() or (("path", "fps", "width") if self._writer is not None else ())

    def add(self, rgb: Bytes) -> None:
        """Take one picture."""
        # The encoder wants even sizes.
        # Cut by one row or column at most, which nobody sees, in place of scaling, which blurs.
        rgb = np.ascontiguousarray(rgb[: rgb.shape[0] // 2 * 2, : rgb.shape[1] // 2 * 2])
        if self._writer is None:
            size = (rgb.shape[1], rgb.shape[0])
            # Opened with the first picture: the encoder needs its size.
            self._writer = self._ffmpeg.write_frames(str(part_of(self.path)), size, fps=self.fps, macro_block_size=2)
            self._writer.send(None)
        self._writer.send(rgb)

    def finish(self) -> None:
        """End the film."""
        if self._writer is not None:
            part = part_of(self.path)
            try:
                with refusals(self.path):
                    self._writer.close()
                    # Whole or not at all: a film that was interrupted does not replace a good one.
                    put_in_place(part, self.path)
            finally:
                self._writer = None
                part.unlink(missing_ok=True)


def recorder_for(path: str | Path, every_ith_frame: int) -> Recorder:
    """Return the recorder for the ending of `path`, without a limit of its length; raises InvalidValueError."""
    ending = Path(path).suffix.lower()
    if ending == ".gif":
        return GifRecorder(Path(path), None, every_ith_frame)
    if ending in (".mp4", ".webm", ".mkv", ".mov"):
        return VideoRecorder(Path(path), None, every_ith_frame)
    raise InvalidValueError(f"cannot record to {str(path)!r}: the ending must be .gif, .mp4, .webm, .mkv or .mov")
