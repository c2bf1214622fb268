"""Pictures of a world: on any canvas, and on one made of pixels that needs no window."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bytes, Floats
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import check_target, replacing, writing
from fleet_sim.base.settings import setting
from fleet_sim.sensing.sensors.render.shot import FilmFile
from fleet_sim.swarm.canvas import Canvas, Color
from fleet_sim.swarm.members import MetricTable, Subscriber, SwarmWorld
from fleet_sim.swarm.parameters import Configured, PartRegistry, configured, file_setting

WALL_COLOR: Color = (60, 60, 60)
SENSOR_COLOR: Color = (205, 205, 205)
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""Endings of files of pictures."""

SMOOTH = 2
"""Pictures are drawn larger by this factor and downsampled, for smooth lines."""


def draw_world(world: SwarmWorld, canvas: Canvas) -> None:
    """Draw a world: goals and walls, ranges of sensors, objects, then agents; later ones on top."""
    canvas.clear(world.config.background_color)
    for goal in world.goals:
        goal.draw(canvas, goal.color)
    if world.config.show_walls:
        width, height = world.config.size
        canvas.polygon(np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]), outline=WALL_COLOR)
    for group in world.groups:
        # A group that everybody has left still has its sensors, but nobody to draw them at.
        for sensor in group.sensors if len(group) else ():
            outlines = sensor.outlines(group)
            for outline in () if outlines is None else outlines:
                canvas.polygon(outline, outline=SENSOR_COLOR)
    for member in (*world.objects, *world.population):
        member.draw(canvas)


class Viewport:
    """How a world fits in a picture: `scale` pixels per metre, the world's lower left corner in the lower left.

    `center` is the point of the world in the middle of the picture.
    """

    def __init__(self, world: SwarmWorld, width: int, height: int, margin: float = 0.03) -> None:
        self.width, self.height = width, height
        share = 1.0 - 2.0 * margin
        self.scale = float(np.min(np.array([width, height]) * share / world.size))
        self.center: Floats = 0.5 * world.size

    def pixels(self, points: Floats) -> Floats:
        """Return where `points` (K, 2) are in the picture: (K, 2), x to the right and y down."""
        x = (points[:, 0] - self.center[0]) * self.scale + 0.5 * self.width
        y = (self.center[1] - points[:, 1]) * self.scale + 0.5 * self.height
        return np.stack((x, y), axis=1)

    def point(self, x: float, y: float) -> Floats:
        """Return the point (2,) of the world at a pixel."""
        return self.center + np.array([x - 0.5 * self.width, 0.5 * self.height - y]) / self.scale


class PictureCanvas:
    """A canvas of pixels."""

    def __init__(self, viewport: Viewport) -> None:
        """Raises MissingDependencyError where Pillow is not installed."""
        require_pillow()
        from PIL import Image, ImageDraw

        self._viewport = viewport
        self._image = Image.new("RGB", (viewport.width * SMOOTH, viewport.height * SMOOTH))
        self._pen: Any = ImageDraw.Draw(self._image)

    def _at(self, points: Floats) -> list[tuple[float, float]]:
        return [(x, y) for x, y in (self._viewport.pixels(points) * SMOOTH).tolist()]

    def clear(self, color: Color) -> None:
        """Clear the canvas with one color."""
        self._pen.rectangle((0, 0, *self._image.size), fill=color)

    def polygon(self, points: Floats, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a closed polygon."""
        corners = self._at(points)
        if fill is not None:
            self._pen.polygon(corners, fill=fill)
        if outline is not None:
            self._pen.line([*corners, corners[0]], fill=outline, width=SMOOTH, joint="curve")

    def circle(self, centre: Floats, radius: float, *, fill: Color | None = None, outline: Color | None = None) -> None:
        """Draw a circle."""
        ((x, y),) = self._at(centre[None])
        size = radius * self._viewport.scale * SMOOTH
        # Anything smaller would vanish when the picture is reduced.
        if size < 2.0 * SMOOTH:
            size, fill = 2.0 * SMOOTH, fill or outline
        self._pen.ellipse((x - size, y - size, x + size, y + size), fill=fill, outline=outline, width=SMOOTH)

    def line(self, points: Floats, color: Color) -> None:
        """Draw an open line."""
        self._pen.line(self._at(points), fill=color, width=SMOOTH)

    def text(self, lines: list[str], color: Color) -> None:
        """Write lines in the upper left corner."""
        self._pen.multiline_text((6 * SMOOTH, 6 * SMOOTH), "\n".join(lines), fill=color, font_size=12 * SMOOTH)

    @property
    def image(self) -> Any:
        """The picture, a Pillow image."""
        return self._image.reduce(SMOOTH)

    @property
    def rgb(self) -> Bytes:
        """The picture as numbers (H, W, 3)."""
        return np.asarray(self.image)


def picture(world: SwarmWorld, width: int = 500, height: int | None = None) -> PictureCanvas:
    """Return a picture of `world` as it is now; without `height` it has the world's proportions.

    Raises MissingDependencyError where Pillow is not installed.
    """
    # Less than this leaves no room for the margins and a line.
    if width < 16:
        raise InvalidValueError(f"width: a picture has 16 pixels or more, got {width!r}")
    tall = round(width * world.config.size[1] / world.config.size[0]) if height is None else height
    canvas = PictureCanvas(Viewport(world, width, max(tall, 16)))
    world.draw(canvas)
    return canvas


def save_picture(world: SwarmWorld, path: str | Path, width: int = 500) -> None:
    """Write a picture of `world` as it is now; the ending of `path` says the format, see `check_picture_path`."""
    # Asked before drawing, which takes longer than looking at a name.
    check_picture_path(path)
    image = picture(world, width).image
    with replacing(path) as part:
        image.save(part)


def check_picture_path(path: str | Path) -> None:
    """Raise InvalidValueError unless a picture can be written to `path`: its folder is there, its ending is known.

    Raises MissingDependencyError where Pillow is not installed.
    """
    check_path(path, PICTURES)
    require_pillow()


def require_pillow() -> None:
    """Raise MissingDependencyError where Pillow is not installed."""
    with of_extra("PIL", "swarm", "drawing a world"):
        import PIL.Image  # noqa: F401


def check_path(path: str | Path, endings: Sequence[str]) -> None:
    """Raise InvalidValueError unless the folder of `path` is there and its ending is one of `endings`."""
    file = Path(path)
    if file.suffix.lower() not in endings:
        raise InvalidValueError(f"cannot write to {str(path)!r}: the ending must be one of {', '.join(endings)}")
    check_target(path)


# Plots of metrics over time: in a file at the end of a run, or in a window while it goes on.


ENDINGS = (".png", ".svg", ".pdf", ".jpg")
"""Of the files a plot is written to."""

MOST_POINTS = 4000
"""Beyond these, every other point is dropped and points are taken half as often."""


@configured
class MetricPlot(Configured, Subscriber):
    """Plots metrics over simulated time.

    With `path` the plot is written when it is closed, in the format of the ending. With `live` it is in a window that
    follows the run, redrawn after every `every` steps.
    """

    path: Path | None = file_setting(None, "The file to write; null: none.", written=True)
    metrics: list[str] | None = setting(None, doc="Names of the metrics; null: all.")
    every: int = setting(30, low=1, unit="steps", doc="Steps between two drawings of the window.")
    live: bool = setting(False, doc="Show a window that follows the run.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError, MissingDependencyError where matplotlib is not installed."""
        super().__post_init__()
        with of_extra("matplotlib", "plot", "plotting metrics"):
            from matplotlib.figure import Figure
        if self.path is None and not self.live:
            raise self.refuse("a plot needs a path, or live: true")
        if self.path is not None:
            check_path(self.path, ENDINGS)
        self._figure: Any = None
        self._new_figure: Any = Figure
        self._stride = 1
        self._written = -1
        self.times: list[float] = []
        self.values: dict[str, list[float]] = {}

    def settled(self) -> Collection[str]:
        """Return `metrics` from the first step on, which chooses what is noted."""
        return ("metrics",) if self.values else ()

    def step(self, world: SwarmWorld) -> None:
        """Note the metrics of this step."""
        # With the first step, not before: metrics may be added up to then.
        if not self.values:
            names = [metric.name for metric in world.metrics] if self.metrics is None else self.metrics
            self.values = {world.metric(name).name: [] for name in names}
        if world.steps % self._stride == 0:
            # Times and values are noted in the same steps, so both lists are as long.
            self.times.append(world.time)
            for name, values in self.values.items():
                values.append(world.metric(name).value)
        if len(self.times) > MOST_POINTS:
            # Memory stays bounded however long a run is. The points kept are the multiples of the new stride, so they
            # stay evenly spaced.
            self._stride *= 2
            self.times = self.times[1::2]
            self.values = {name: values[1::2] for name, values in self.values.items()}
        if self.live and world.steps % self.every == 0:
            self._show()

    def _show(self) -> None:
        """Draw the metrics in a window, while the run goes on."""
        import matplotlib.pyplot as plt

        if self._figure is None:
            # Interactive: the window is drawn and the run goes on.
            plt.ion()
            self._figure = plt.figure("metrics")
        self._draw(self._figure)
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()

    def _draw(self, figure: Any) -> None:
        figure.clear()
        axes = figure.subplots(max(1, len(self.values)), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (name, values) in zip(axes, self.values.items(), strict=False):
            axis.plot(self.times, values, linewidth=1.2)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel("simulated time in s")

    def close(self) -> None:
        """Write the plot; may be called again, after further steps too."""
        # Closing twice is usual, by a world and by `main`; the same points are not written again.
        if self.path is not None and len(self.times) != self._written:
            self._written = len(self.times)
            figure = self._new_figure(figsize=(7.0, 1.2 + 1.8 * max(1, len(self.values))), layout="constrained")
            self._draw(figure)
            with writing(self.path, "wb") as stream:
                figure.savefig(stream, dpi=120, format=self.path.suffix[1:].lower())


# Recording a world as a GIF or a film.


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


@configured
class GifRecorder(Recorder):
    """Writes a GIF when it is closed. It shows each picture for `time_per_frame` ms, and begins again at the end."""

    path: Path = file_setting("world.gif", "The file.", written=True)
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
            with writing(self.path, "wb") as stream:
                first.save(stream, "gif", save_all=True, append_images=others, duration=self.time_per_frame, loop=0)


@configured
class VideoRecorder(Recorder):
    """Writes an MP4 (or what the ending of `path` says) picture by picture, `fps` of them to a second."""

    path: Path = file_setting("world.mp4", "The file.", written=True)
    duration: int | None = setting(None, low=1, unit="steps", doc="When it stops; null: at the end of the run.")
    every_ith_frame: int = setting(2, low=1, unit="steps", doc="Steps from one picture to the next.")
    fps: float = setting(30.0, above=0, doc="Pictures per second of the film.")
    width: int = setting(640, low=2, unit="pixels", doc="Width of the pictures.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError, MissingDependencyError where imageio is not installed."""
        super().__post_init__()
        with of_extra("imageio_ffmpeg", "video", "recording a film"):
            import imageio_ffmpeg  # noqa: F401
        self._film: FilmFile | None = None

    def settled(self) -> Collection[str]:
        """Return what the encoder was opened with, too, from the first picture on."""
        return super().settled() or (("path", "fps", "width") if self._film is not None else ())

    def add(self, rgb: Bytes) -> None:
        """Take one picture."""
        # The encoder wants even sizes.
        # Cut by one row or column at most, which nobody sees, in place of scaling, which blurs.
        rgb = np.ascontiguousarray(rgb[: rgb.shape[0] // 2 * 2, : rgb.shape[1] // 2 * 2])
        if self._film is None:
            # Opened with the first picture: the encoder needs its size.
            self._film = FilmFile(self.path, rgb.shape[1], rgb.shape[0], self.fps)
        self._film.add(rgb)

    def finish(self) -> None:
        """End the film. Whole or not at all: one that was interrupted does not replace a good one."""
        if self._film is not None:
            with self._film:
                pass


def recorder_for(path: str | Path, every_ith_frame: int) -> Recorder:
    """Return the recorder for the ending of `path`, without a limit of its length; raises InvalidValueError."""
    ending = Path(path).suffix.lower()
    if ending == ".gif":
        return GifRecorder(Path(path), None, every_ith_frame)
    if ending in (".mp4", ".webm", ".mkv", ".mov"):
        return VideoRecorder(Path(path), None, every_ith_frame)
    raise InvalidValueError(f"cannot record to {str(path)!r}: the ending must be .gif, .mp4, .webm, .mkv or .mov")


# Subscribers: user functions at each step, recorders of pictures and films, writers of tables, plots.


def read_function(value: object) -> Callable[..., Any]:
    """Return a function; raises ValueError for anything that cannot be called."""
    if not callable(value):
        raise ValueError(f"must be a function of the world, got {value!r}")
    return value


@configured
class WorldSubscriber(Configured, Subscriber):
    """Calls `func(world)` after each step, or after every `every`th one."""

    func: Callable[..., Any] = setting(reader=read_function, schema={}, doc="A function of the world.")
    every: int = setting(1, low=1, unit="steps", doc="Steps between two calls.")

    def step(self, world: SwarmWorld) -> None:
        """Call the function where it is due."""
        if world.steps % self.every == 0:
            self.func(world)


BUILT_IN: dict[str, type[Subscriber]] = {
    "WorldSubscriber": WorldSubscriber,
    "World2Gif": GifRecorder,
    "gif": GifRecorder,
    "video": VideoRecorder,
    "table": MetricTable,
    "plot": MetricPlot,
}

SUBSCRIBERS = PartRegistry("subscriber", Subscriber, BUILT_IN)
