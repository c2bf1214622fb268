"""Sensors: their public side, the base class of kinds of sensors, where they are mounted, cameras.

A handle refers to the sensor system only as what keeps it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import AnyArray, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError, UnknownNameError, brief, missing_extra
from fleet_sim.base.geometry import Pose
from fleet_sim.base.request_budget import Work
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.settings.poses import ORIGIN, pose_setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.tree import FrameLink, link_frame
from fleet_sim.sensing.sensors.render import shot
from fleet_sim.sensing.sensors.render.renderer import EngineView, Renderer, check_renderer, make_renderer
from fleet_sim.world.clock import Keys
from fleet_sim.world.commands import Frames
from fleet_sim.world.entity_index import Handle
from fleet_sim.world.ports import JointSensing
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.user_code import GuardedPart
from fleet_sim.world.world import World

RAYS = Work("rays of sensors per simulated second", 20e6, 20e6)
PIXELS = Work("pixels of cameras per simulated second", 100e6, 100e6)


@dataclass(frozen=True)
class SensorParams(Checked):
    """Settings of every sensor. Kinds derive from it and add their own; checked when constructed.

    Sensors whose parameters differ only in name, link and pose are computed together.
    """

    default_name: ClassVar[str] = ""

    name: str = setting("", doc="Name, unique on its robot; empty: the default of the kind, such as scan.")
    rate: float | None = setting(None, above=0, unit="Hz", doc="Readings per simulated second; null: at each step.")
    link: str | int = setting(-1, low=-1, doc="Link it is mounted on, by name or index; -1: the base.")
    pose: Pose = pose_setting(
        ORIGIN, doc="Pose of the sensor: in the frame of its link, or in the world frame without a robot."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            # The class is frozen; this is how a dataclass fills in a value at construction.
            object.__setattr__(self, "name", self.default_name)

    @property
    def work(self) -> tuple[Work, float] | None:
        """What one reading takes, of a kind of work that requests from outside have a budget of; None: hardly any."""
        return None

    def common(self) -> SensorParams:
        """Return these parameters without those that differ per sensor: name, link and pose."""
        return replace(self, name="", link=-1, pose=ORIGIN)


@dataclass(frozen=True, eq=False)
class Reading:
    """One reading of a sensor; kinds add their values. Valid at `time`, in s, after `tick` steps. Never changes."""

    time: float
    tick: int


@dataclass(frozen=True, eq=False)
class Readings:
    """The readings of a group of sensors: `values` by name, each of length N; see `Sensor.latest` for one sensor.

    An array of values is read-only.
    """

    sensors: Sequence[Sensor]
    time: float
    tick: int
    values: Mapping[str, Any]
    reading_class: type[Reading]

    def __len__(self) -> int:
        return len(self.sensors)

    def __getitem__(self, index: int) -> Any:
        """Return the reading of sensor number `index`."""
        own = {name: values[index] for name, values in self.values.items()}
        return self.reading_class(self.time, self.tick, **own)


class Sensor:
    """One sensor of a simulation, on an entity or fixed in the world.

    It is computed only while it has a consumer: between `subscribe` and `unsubscribe`, while a handler is registered
    with `on_reading`, or on `read`. Using a removed sensor raises StateError.
    """

    __slots__ = ("_consumers", "_keeper", "group", "handlers", "index", "last", "link", "owner", "params", "type")

    def __init__(self, keeper: Any, type_name: str, params: SensorParams, owner: Handle | None, link: int) -> None:
        """Use `sim.add_sensor`."""
        self.params: Any = params
        """Its parameters, of the class that belongs to its kind."""
        self.owner = owner
        """The entity that carries it, or None."""
        self.link = link
        """The index of the link it is mounted on; -1 for the base, and without an owner."""
        self.group: Any = None
        """The sensors that it is computed with; None once it is removed."""
        self.index = -1
        """Its index in its group; -1 once it is removed."""
        self.type = type_name
        """The registered name of its kind."""
        self._keeper = keeper
        self.last: tuple[Readings, int] | None = None
        """The readings its latest one is part of, and its place in them."""
        self._consumers = 0
        self.handlers: tuple[tuple[Callable[[Sensor, Any], object], GuardedPart], ...] = ()
        """The functions called with its readings, each with what calls it."""

    @property
    def name(self) -> str:
        """Its name, unique on its owner (or among those without one)."""
        return self.params.name

    @property
    def is_alive(self) -> bool:
        """Whether it still exists."""
        return self.index >= 0

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def latest(self) -> Any:
        """The latest reading, of the reading class of its kind; None before the first."""
        if self.last is None:
            return None
        # Groups keep arrays; an object is made only for a sensor that is asked.
        readings, index = self.last
        return readings[index]

    def read(self) -> Any:
        """Read now, whatever the rate, and return the reading; see `sim.sensors.read` for many at once."""
        return self._keeper.read([self])[0]

    def get_pose(self) -> Pose:
        """Return the pose of the sensor's own frame in the world."""
        return self._keeper.pose(self)

    # ---- consumers ---------------------------------------------------------------------------------------------------

    @property
    def has_consumer(self) -> bool:
        """Whether it has a consumer and is read whenever it is due."""
        return self._consumers > 0

    def subscribe(self) -> None:
        """Read it whenever it is due, until `unsubscribe` is called."""
        self.check_alive()
        self._consumers += 1
        # The group needs to know about the first and the last consumer only.
        if self._consumers == 1:
            self._keeper.consumer_changed(self)

    def unsubscribe(self) -> None:
        """Undo one `subscribe`."""
        if self._consumers:
            self._consumers -= 1
            # A removed sensor was already subtracted from its group.
            if not self._consumers and self.is_alive:
                self._keeper.consumer_changed(self)

    def on_reading(self, handler: Callable[[Sensor, Any], object]) -> None:
        """Call `handler(sensor, reading)` in each step in which the sensor is read; this makes it a consumer."""
        # A new tuple instead of an append: a handler may add handlers while they are being called.
        self.handlers = (*self.handlers, (handler, self._keeper.new_part()))
        self.subscribe()

    def off_reading(self, handler: Callable[[Sensor, Any], object]) -> bool:
        """Stop calling `handler`; returns whether it was registered."""
        # By `==`, as bound methods are made anew at each access.
        place = next((place for place, (known, _) in enumerate(self.handlers) if known == handler), None)
        if place is None:
            return False
        self.handlers = self.handlers[:place] + self.handlers[place + 1 :]
        self.unsubscribe()
        return True

    # ---- the end -----------------------------------------------------------------------------------------------------

    def remove(self) -> None:
        """Remove the sensor; its consumers get no more readings."""
        self._keeper.remove([self])

    @property
    def label(self) -> str:
        """Its name in messages: <owner>/<name>."""
        if self.owner is None:
            return self.name
        holder = self.owner.world.label(self.owner.row) if self.owner.is_alive else "(removed)"
        return f"{holder}/{self.name}"

    def __repr__(self) -> str:
        return f"<{self.type} sensor {self.label}{'' if self.is_alive else ', removed'}>"

    # ---- for its keeper ----------------------------------------------------------------------------------------------

    def check_alive(self) -> None:
        """Raise StateError if it was removed."""
        if not self.is_alive:
            raise StateError(f"sensor {self.name!r} was removed; this handle can no longer be used")


# The base class of kinds of sensors, and the data they may use.


State = dict[str, AnyArray]


def check_pybullet(what: str) -> None:
    """Raise MissingDependencyError, saying `what` needs PyBullet, where it is not installed."""
    if find_spec("pybullet") is None:
        raise missing_extra("pybullet", "bullet", what)


@dataclass(frozen=True, eq=False)
class Batch:
    """Sensors of one kind with common parameters, read together; arrays are aligned with `sensors`, (N, ...).

    `rows` are the entities that carry them (-1: none), `positions` and `orientations` the world poses of the sensors'
    own frames, `keys` their noise. `state` holds the kind's state per sensor and may be written.
    """

    params: Any
    sensors: Sequence[Sensor]
    rows: Rows
    links: Ints
    positions: Floats
    orientations: Floats
    keys: Keys
    time: float
    tick: int
    state: State

    def __len__(self) -> int:
        return len(self.sensors)


@dataclass(frozen=True, eq=False)
class SensorContext:
    """The data that kinds of sensors may use.

    `contacts()` returns the pairs (M, 2) of rows that collided at the last check; `mirror` is PyBullet's view of the
    world; `camera_budget` is the largest number of pictures per step; `reactions` measures what acts in joints. With
    `floor` rays meet the plane z = 0.
    """

    world: World
    mirror: EngineView
    contacts: Callable[[], Ints]
    reactions: JointSensing
    camera_budget: int | None = None
    floor: bool = True


class SensorKind(ABC):
    """Reads all sensors of one kind in a simulation; created with the first of them.

    `params_class` is what its sensors are made from, `reading_class` what they read. `spread` deals sensors of equal
    rate over the steps of a period, for kinds whose readings are expensive one by one.
    """

    params_class: ClassVar[type[SensorParams]] = SensorParams
    reading_class: ClassVar[type[Reading]] = Reading
    spread: ClassVar[bool] = False
    remembered: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """The numbers kept per sensor from reading to reading: by name, the shape of those of one sensor."""
    budget: int | None = None
    """Largest number of its sensors read in one step; the others wait for their turn. None: unlimited."""

    def __init__(self, context: SensorContext) -> None:
        self.context = context
        self.world = context.world

    @classmethod  # noqa: B027 - most kinds can be mounted anywhere
    def check_mount(cls, world: World, row: int, link: int) -> None:
        """Raise an error that says why no such sensor can be on `link` of the entity in `row` (-1: in the world)."""

    @classmethod  # noqa: B027 - most kinds need nothing more than what is installed
    def check_params(cls, params: Any) -> None:
        """Raise an error that says why there can be no such sensor here, as MissingDependencyError."""

    def state(self, params: Any) -> State:
        """Return the state kept per sensor: by name, an empty array (0, ...) of the right shape and type.

        By default it is what `remembered` declares. Override it for what is no number.
        """
        return {name: np.empty((0, *shape)) for name, shape in self.remembered.items()}

    def begin(self, batch: Batch) -> None:  # noqa: B027 - kinds without state have nothing to set
        """Set the state of sensors that were just mounted or reset; all of it is zero then."""

    def resume(self, batch: Batch) -> None:  # noqa: B027
        """Called when sensors get a consumer."""

    @abstractmethod
    def sense(self, batch: Batch) -> Mapping[str, Any]:
        """Return the values of a reading class by field, each an array or a sequence of length N."""


# Where sensors are: the poses of their frames in the world.


def frame_poses(
    world: World, rows: Rows, links: Ints, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return the world poses (N, 3), (N, 4) of frames mounted at `positions`, `orientations` in links of `rows`.

    Where a row is -1 the mounting is in the world, and comes back as it is.
    """
    if not len(rows):
        return positions, orientations
    carried = np.flatnonzero(rows != NO_ROW)
    if not len(carried):
        return positions.copy(), orientations.copy()
    if len(carried) == len(rows):
        return _on_links(world, rows, links, positions, orientations)
    points, turns = positions.copy(), orientations.copy()
    points[carried], turns[carried] = _on_links(
        world, rows[carried], links[carried], positions[carried], orientations[carried]
    )
    return points, turns


def _on_links(world: World, rows: Rows, links: Ints, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
    bases, turns = world.link_poses(rows, links)
    return bases + quaternions.rotate(turns, positions), quaternions.multiply(turns, orientations)


def link_index(world: World, row: int, link: int | str) -> int:
    """Return the index of a link of the entity in `row`, -1 for its base; raises UnknownNameError."""
    model = world.model_of(row)
    if model is not None:
        return model.link_index(link)
    if link != -1:
        raise UnknownNameError(f"{world.label(row)} has no link {brief(link)}: it is one body, whose index is -1")
    return -1


# Cameras: colors, depth and ids, rendered one by one in the steps in which they are due. Pictures of cameras of one
# rate are spread over the steps of the period. Noise depends on the camera and the step alone, so that runs can be
# repeated.


FrameKind = Literal["body", "optical"]
Channel = Literal["rgb", "depth", "ids", "links"]

RENDERER_SCHEMA = {"anyOf": [{"enum": ["auto", "opengl", "tiny"]}, {"type": "string"}]}
"""Editors complete our own names; others may be registered."""


@dataclass(frozen=True)
class CameraSensorParams(SensorParams):
    """A camera without distortion. Only its channels are rendered."""

    default_name: ClassVar[str] = "camera"

    rate: float | None = setting(10.0, above=0, unit="Hz", doc="Pictures per simulated second; null: at each step.")
    width: int = setting(320, low=1, high=shot.MAX_SIDE, unit="px", doc="Width of pictures.")
    height: int = setting(240, low=1, high=shot.MAX_SIDE, unit="px", doc="Height of pictures.")
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
        shot.check_channels(self.channels)
        if self.far <= self.near:
            raise InvalidValueError(f"far: must be beyond near, {self.near} m, got {self.far} m")
        # Made only to check it: the intrinsics of a picture have limits of their own.
        self.lens()

    @property
    def work(self) -> tuple[Work, float]:
        """The pixels of a picture."""
        return PIXELS, float(self.width * self.height)

    def lens(self) -> shot.Intrinsics:
        """Return the size and projection of its pictures."""
        if self.intrinsics is not None:
            return shot.Intrinsics(self.width, self.height, *self.intrinsics)
        return shot.Intrinsics.from_fov(self.width, self.height, self.horizontal_fov)


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
    depth: shot.Float32s | None
    ids: shot.Int32s | None
    links: shot.Int32s | None
    position: Floats
    orientation: Floats
    intrinsics: shot.Intrinsics

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
        channels = shot.check_channels(params.channels)
        orientations = batch.orientations
        # Rays go along z of the optical frame, where a body looks along x.
        if params.frame == "body":
            orientations = shot.optical_orientations(orientations)
        frames = [
            renderer.render(shot.Shot(lens, position, orientation, params.near, params.far, channels, params.shadows))
            for position, orientation in zip(batch.positions, orientations, strict=True)
        ]
        # In place: frames belong to nobody else yet.
        for frame, key in zip(frames, batch.keys.tolist(), strict=True):
            _spoil(frame, params, key, batch.tick)
        return {
            **{name: [_frozen(getattr(frame, name)) for frame in frames] for name in shot.CHANNELS},
            "position": batch.positions,
            "orientation": orientations,
            "intrinsics": [lens] * len(frames),
        }


def _spoil(frame: shot.Frame, params: CameraSensorParams, key: int, tick: int) -> None:
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


def noisy_depth(depth: shot.Float32s, deviation: float, near: float, far: float, key: int, tick: int) -> None:
    """Add noise to `depth` (H, W), in place; `deviation` is in m. Noisy depths stay between near and far."""
    drawn = _normals(key, tick, _DEPTH, depth.shape)
    drawn *= np.float32(deviation)
    drawn += depth
    # Nothing stays nothing: a pixel without depth gets no noise.
    seen_mask = np.isfinite(depth)
    depth[seen_mask] = np.clip(drawn[seen_mask], near, far)


def _normals(key: int, tick: int, channel: int, shape: tuple[int, ...]) -> shot.Float32s:
    # Millions of numbers: a generator of its own, seeded with all they depend on, is many times faster than hashing.
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence((key, tick, channel))))
    return generator.standard_normal(shape, np.float32)


# Names of sensor topics and frames: /<robot>/<sensor> and the frame <robot>/<sensor>; without a robot, <sensor>. For
# ROS and for recordings, which name them alike.


def topic_of(sensor: Sensor) -> str:
    """Return the topic of a sensor, relative to the node's namespace."""
    owner = owner_of(sensor)
    return f"{owner}/{sensor.name}" if owner else sensor.name


def frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor: <robot>/<sensor>, or with `_sensor` where a link of the robot has that name.

    If the sensor is mounted on that link without an offset, the link's frame is its own.
    """
    return _unless_taken(frames, sensor, sensor.name, fits=True)


def optical_frame_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a camera's pictures, x right, y down, z forward: that of the camera, and `_optical_frame`.

    If the link that the camera is mounted on has that name and is such a frame, it is that link's. If another link has
    that name, the frame's name gets `_sensor`.
    """
    own = frame_of(frames, sensor).rpartition("/")[2]
    return _unless_taken(frames, sensor, f"{own}_optical_frame", fits=not _is_turned(sensor))


def frame_links(frames: Frames, sensor: Sensor) -> list[FrameLink]:
    """Return where the frames of a sensor are: its own, and that of a camera's pictures; but not those of links."""
    parent, own, pose = parent_of(frames, sensor), frame_of(frames, sensor), sensor.params.pose
    found = [FrameLink(parent, own, tuple(pose.position), tuple(pose.orientation))]
    if isinstance(sensor.params, CameraSensorParams):
        optical = FrameLink(own, optical_frame_of(frames, sensor))
        found.append(optical._replace(orientation=shot.OPTICAL_TURN) if _is_turned(sensor) else optical)
    return [link for link in found if link.child not in (link.parent, parent)]


def parent_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame a sensor is mounted on: the map, a robot's base, or one of its links."""
    if sensor.owner is None:
        return frames.map
    return link_frame(frames, owner_of(sensor), _model_of(sensor), sensor.link)


def reference_of(frames: Frames, sensor: Sensor) -> str:
    """Return the frame of a sensor's odometry: its robot's odom, or the map."""
    return frames.map if sensor.owner is None else frames.odom(owner_of(sensor))


def owner_of(sensor: Sensor) -> str:
    """Return the name of the robot that carries a sensor; "": none does."""
    return "" if sensor.owner is None else sensor.owner.world.label(sensor.owner.row)


def _model_of(sensor: Sensor) -> RobotModel | None:
    owner = sensor.owner
    return None if owner is None else owner.world.model_of(owner.row)


def _unless_taken(frames: Frames, sensor: Sensor, name: str, *, fits: bool) -> str:
    """Return the frame `name` of a sensor, with `_sensor` where its robot has a frame of that name already.

    If the sensor is mounted on that frame without an offset, and `fits` its axes, it is the same frame.
    """
    owner, model = owner_of(sensor), _model_of(sensor)
    if not owner:
        return frames.odom(name).rpartition("/")[0]
    frame = frames.link(owner, name)
    # By name: contact sensors ask for it with each message.
    taken = name in ("odom", "base_link") or (
        model is not None and (name == model.base_name or name in model.link_names)
    )
    is_there = fits and sensor.params.pose == ORIGIN and frame == parent_of(frames, sensor)
    return f"{frame}_sensor" if taken and not is_there else frame


def _is_turned(sensor: Sensor) -> bool:
    return isinstance(sensor.params, CameraSensorParams) and sensor.params.frame == "body"
