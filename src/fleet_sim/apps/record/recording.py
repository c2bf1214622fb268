"""Recording: what a recording holds, read back as snapshots."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fleet_sim.apps.record import topics as bodies
from fleet_sim.apps.record import topics as collisions
from fleet_sim.apps.record import topics as frames
from fleet_sim.apps.record import topics as plans
from fleet_sim.apps.record.mcap_index import McapIndex, Place, Topic, count_until
from fleet_sim.apps.record.message_types import NS_PER_S, deserializer
from fleet_sim.apps.record.recorder import ABOUT, FLOOR_PLAN, FORMAT, SCENARIO
from fleet_sim.apps.record.topics import MESH_FILE, MODEL_FILE, SHARED, joints_layout, shared_names, states_layout
from fleet_sim.base.arrays import AnyArray, Floats, Ints, as_float, ranges
from fleet_sim.base.cdr import ByteTemplate
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError, brief
from fleet_sim.base.files import as_path, cache_folder, may_read, remote_input
from fleet_sim.base.limits import LARGEST_SIZE, json_in, mapping_in, number_of, text_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.catalog import model_folders
from fleet_sim.models.generated import fill_places, keep
from fleet_sim.models.loading import load_robot_model, scaled_model
from fleet_sim.warehouse.sites.drawing import FloorPlan, plans_from_json
from fleet_sim.world.commands import is_ros_name
from fleet_sim.world.shapes import BodyShape, Geometry, RobotModel
from fleet_sim.world.snapshot import EntityBodies, LinkColors, Snapshot, SnapshotEntities

# What the entities of a recording are made of, read back from its JSON, whoever wrote that.


MOST_ENTITIES = 1_000_000


@dataclass(frozen=True, eq=False)
class RecordedRoster(SnapshotEntities):
    """The entities of a stretch of a recording."""

    joint_counts: Ints
    joint_names: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    """What of them cannot be shown here, and why."""


def read_roster(
    text: str, folders: Sequence[str | Path] = (), files: Mapping[str, bytes] | None = None
) -> RecordedRoster:
    """Return the entities in the JSON `text`; raises InvalidValueError for what no recording says.

    Descriptions and meshes are those among `files` of the recording; else they are read from `folders` and the folders
    of models only. What is elsewhere, or is not there any more, is shown as a box, and a note says so.
    """
    own = RecordedFiles(files or {})
    content = json_in(text, "the list of entities")
    entries, notes = _list(content, "entities"), dict[str, None]()
    if len(entries) > MOST_ENTITIES:
        raise InvalidValueError(f"{len(entries)} entities; at most {MOST_ENTITIES} are read")
    # The JSON may be of somebody else: it must not name other files of this machine.
    with remote_input([*model_folders(), cache_folder("models"), *folders]):
        shapes = [_shape(entry, notes, own) for entry in _list(content, "shapes")]
        paths = [own.model(text_of(path)) for path in _list(content, "models")]
        made = [_entity(entry, shapes, paths, notes) for entry in entries]
    names = tuple(text_of(entry.get("name")) for entry in entries)
    if len(set(names)) != len(names):
        raise InvalidValueError("two entities have one name")
    joint_names = tuple(tuple(text_of(name) for name in _list(entry, "joints")) for entry in entries)
    joint_counts = np.array([len(joints) for joints in joint_names], np.int64)
    bodies = EntityBodies(
        models=tuple(model for model, _ in made),
        shapes=tuple(shape for _, shape in made),
        half_extents=_vectors([entry.get("half_extents") for entry in entries]),
        centres=_vectors([entry.get("centre") for entry in entries]),
        motor_mask=np.array([entry.get("motors") is True for entry in entries], np.bool_),
        span=None,
    )
    return RecordedRoster(
        names=names,
        object_ids=np.array([_count(entry.get("id"), 2**62) for entry in entries], np.int64),
        agent_mask=np.array([entry.get("robot") is True for entry in entries], np.bool_),
        bodies=bodies,
        joint_counts=joint_counts,
        joint_names=joint_names,
        notes=tuple(notes),
    )


def _entity(
    entry: Any, shapes: Sequence[BodyShape | None], paths: Sequence[str], notes: dict[str, None]
) -> tuple[RobotModel | None, BodyShape | None]:
    """Return model and shape of one entity; `notes` gets the reason where it is shown as a box instead."""
    if not isinstance(entry, dict):
        raise InvalidValueError(f"expected an entity, got {brief(entry)}")
    shape = shapes[_count(entry["shape"], len(shapes) - 1)] if "shape" in entry else None
    if "model" not in entry:
        return None, shape
    path = paths[_count(entry["model"], len(paths) - 1)]
    model = _model(path, notes)
    if model is not None and shape is not None and shape.scale != 1.0:
        model = scaled_model(model, shape.scale)
    # Joint values are by their order, so they fit a model with the same joints only.
    if model is not None and len(model.movable) != len(_list(entry, "joints")):
        notes[f"{path} has other joints now than in the recording: its robots are shown as boxes"] = None
        model = None
    return model, shape


def _model(path: str, notes: dict[str, None]) -> RobotModel | None:
    """Return the model in a file of a folder that may be read; None, with a note, where that fails."""
    if not may_read(path):
        notes[f"cannot find the model {path}, which is not in the recording either: drawing boxes"] = None
        return None
    try:
        return load_robot_model(path)
    except (FleetSimError, OSError) as error:
        notes[f"{path} cannot be read: its robots are shown as boxes ({error})"] = None
        return None


class RecordedFiles:
    """The descriptions and meshes that a recording brings along, as files of the cache."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def mesh(self, path: str) -> str:
        """Return the file with the mesh that was in `path`; `path` itself where the recording has none of it."""
        content = self._files.get(MESH_FILE + path)
        return path if content is None else str(keep(content, f"recorded{Path(path).suffix.lower()[:8]}"))

    def model(self, path: str) -> str:
        """Return the file with the description that was in `path`, which names the meshes of the recording."""
        content = self._files.get(MODEL_FILE + path)
        # No recorder writes what would be expanded.
        if content is None or b"<xacro:" in content or b"$(" in content:
            return path
        text = content.decode(errors="replace")
        meshes = [name.removeprefix(MESH_FILE) for name in self._files if name.startswith(MESH_FILE)]
        places = {mesh: self.mesh(mesh) for mesh in meshes if mesh in text}
        return str(keep(fill_places(text, places).encode(), "recorded.urdf"))


def _shape(entry: Any, notes: dict[str, None], own: RecordedFiles) -> BodyShape:
    """Return a shape; raises InvalidValueError unless it has exactly the fields of a BodyShape."""
    if not isinstance(entry, dict) or set(entry) != {item.name for item in fields(BodyShape)}:
        raise InvalidValueError(f"expected a shape, got {brief(entry)}")
    return BodyShape(
        visual=_geometry(entry["visual"], notes, own),
        collision=_geometry(entry["collision"], notes, own),
        model_path=text_of(entry["model_path"]),
        fixed_base=entry["fixed_base"] is True,
        scale=_number(entry["scale"], 1e-9),
    )


def _geometry(entry: Any, notes: dict[str, None], own: RecordedFiles) -> Geometry | None:
    """Return a geometry; a box, with a note, for a mesh in a folder that may not be read."""
    if entry is None:
        return None
    if not isinstance(entry, dict) or set(entry) != {item.name for item in fields(Geometry)}:
        raise InvalidValueError(f"expected a geometry, got {brief(entry)}")
    kind, mesh = _count(entry["kind"], max(ShapeKind)), own.mesh(text_of(entry["mesh_path"]))
    if kind == ShapeKind.MESH and not may_read(mesh):
        notes[f"cannot find the mesh {mesh}, which is not in the recording either: drawing a box"] = None
        kind, mesh = int(ShapeKind.BOX), ""
    return Geometry(
        kind=kind,
        half_extents=_vector(entry["half_extents"]),
        radius=_number(entry["radius"]),
        height=_number(entry["height"]),
        mesh_path=mesh,
        mesh_scale=_vector(entry["mesh_scale"]),
        rgba=_numbers(entry["rgba"], 4),  # type: ignore[arg-type]  # of that length
        position=_numbers(entry["position"], 3),
        orientation=_numbers(entry["orientation"], 4),
        concave=entry["concave"] is True,
    )


# ---- plain values ----------------------------------------------------------------------------------------------------


def _list(content: Any, key: str) -> list[Any]:
    if not isinstance(content, dict) or not isinstance(content.get(key), list):
        raise InvalidValueError(f"expected a list {key!r} in {brief(content)}")
    found: list[Any] = content[key]
    return found


def _count(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidValueError(f"expected a whole number from 0 to {most}, got {brief(value)}")
    return value


def _number(value: object, low: float = -LARGEST_SIZE) -> float:
    return number_of(value, low, LARGEST_SIZE)


def _numbers(value: object, count: int) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != count:
        raise InvalidValueError(f"expected {count} numbers, got {brief(value)}")
    return tuple(map(_number, value))


def _vector(value: object) -> tuple[float, float, float]:
    x, y, z = _numbers(value, 3)
    return x, y, z


def _vectors(values: Sequence[object]) -> Floats:
    found = np.array([_vector(value) for value in values], np.float64).reshape(-1, 3)
    assert not len(found) or math.isfinite(float(np.abs(found).max()))
    found.flags.writeable = False
    return found


# Recorded messages back into the arrays of a snapshot. `FleetReader` is filled with the messages of one moment, kind
# by kind, and returns a snapshot. What a recording does not have, such as who blocks whom, is as if there were none.


Pairs = list[tuple[str, str]]
# No waypoints: positions and orientations.
NO_PATH = (np.zeros((0, 3)), np.zeros((0, 4)))


def string_of(data: bytes) -> str:
    """Return the text of a std_msgs/String."""
    return str(deserializer(bodies.BODIES_KIND)(data).data)


def read_details(data: bytes) -> dict[str, Any]:
    """Return who carries what, and colors, or what stands before whom, by name."""
    content = json.loads(string_of(data))
    if not isinstance(content, dict) or not all(isinstance(value, dict) for value in content.values()):
        raise InvalidValueError("expected mappings by name")
    return content


def read_collisions(data: bytes) -> Pairs:
    """Return the names of the pairs in collision."""
    return [(str(pair.first), str(pair.second)) for pair in deserializer(collisions.COLLISIONS_KIND)(data).active]


def read_path(data: bytes) -> tuple[Floats, Floats]:
    """Return the waypoints of a path, (P, 3) and (P, 4)."""
    # The first pose is where the robot was.
    poses = [stamped.pose for stamped in deserializer(plans.PLANS_KIND)(data).poses[1:]]
    points = [(pose.position.x, pose.position.y, pose.position.z) for pose in poses]
    turns = [(p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w) for p in poses]
    return np.array(points, np.float64).reshape(-1, 3), np.array(turns, np.float64).reshape(-1, 4)


def read_object_poses(data: bytes, poses: dict[str, Floats]) -> None:
    """Add the pose of the object that a message of /tf is of, by its frame; those of robots are of many frames."""
    # The number of transforms is read without decoding, as most messages are of all robots.
    if len(data) < 8 or struct.unpack_from("<I", data, 4)[0] != 1:
        return
    (transform,) = deserializer(frames.FRAMES_KIND)(data).transforms
    place, turn = transform.transform.translation, transform.transform.rotation
    poses[str(transform.child_frame_id)] = np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w])


class FleetReader:
    """Takes messages of one moment, in the layout that `roster` says, and returns them as a snapshot.

    Each `take` replaces what the last one took. Raises ValueError for messages of another layout.
    """

    def __init__(self, roster: RecordedRoster, map_frame: str) -> None:
        self.roster = roster
        self._index = {name: index for index, name in enumerate(roster.names)}
        count = len(roster.names)
        self._robot_indices = np.flatnonzero(roster.agent_mask)
        self.robots = [roster.names[index] for index in self._robot_indices.tolist()]
        objects = np.flatnonzero(~roster.agent_mask).tolist()
        self._objects = {frames.object_frame(roster.names[index], map_frame): index for index in objects}
        self._states = states_layout(map_frame, self.robots)
        self._positions, self._orientations = np.zeros((count, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        self._velocities, self._turns = np.zeros((count, 3)), np.zeros((count, 3))
        self._modes, self._busy = np.zeros(count, np.uint8), np.zeros(count, np.bool_)
        self._starts = np.concatenate([[0], np.cumsum(roster.joint_counts)])
        self._joints = np.zeros((3, int(self._starts[-1])))
        self._layouts: dict[int, Any] = {}
        self._shared: tuple[ByteTemplate, Ints] | None = None
        self._paths: list[tuple[Floats, Floats]] = []
        self._details: Mapping[str, Any] = {}

    def take_states(self, data: bytes) -> None:
        """Take the poses, velocities and flags of robots from a FleetState."""
        self._states.fill([data])
        robots = self._robot_indices
        if not len(robots):
            return
        motion, codes = self._states.read("motion"), self._states.read("codes")
        turns = motion[:, 3:7]
        self._positions[robots], self._orientations[robots] = motion[:, :3], turns
        # Recorded in the robots' own axes, shown in those of the world.
        self._velocities[robots] = quaternions.rotate(turns, motion[:, 7:10])
        self._turns[robots] = quaternions.rotate(turns, motion[:, 10:13])
        self._modes[robots], self._busy[robots] = codes[:, 0], codes[:, 4]

    def take_joints(self, messages: Mapping[str, bytes]) -> None:
        """Take the joints of robots by name; those of others stay."""
        for name, data in messages.items():
            index = self._index[name]
            if index not in self._layouts:
                powered = bool(self.roster.bodies.motor_mask[index])
                self._layouts[index] = joints_layout([self.roster.joint_names[index]], [powered])
            layout, own = self._layouts[index], slice(self._starts[index], self._starts[index + 1])
            layout.fill([data])
            self._joints[0, own], self._joints[1, own] = layout.read("position")[:, 0], layout.read("velocity")[:, 0]
            if self.roster.bodies.motor_mask[index]:
                self._joints[2, own] = layout.read("effort")[:, 0]

    def take_shared_joints(self, data: bytes) -> None:
        """Take the joints of all robots that have no topic of their own; where there are some."""
        if self._shared is None:
            roster, own = self.roster, [index for index in self._robot_indices.tolist() if self._shares_topic(index)]
            names = shared_names([(roster.names[index], roster.joint_names[index]) for index in own])
            self._shared = joints_layout([names], [True]), ranges(self._starts[own], np.diff(self._starts)[own])
        layout, slots = self._shared
        layout.fill([data])
        for number, group in enumerate(("position", "velocity", "effort")):
            self._joints[number, slots] = layout.read(group)[:, 0]

    def _shares_topic(self, index: int) -> bool:
        return bool(self.roster.joint_counts[index]) and not is_ros_name(self.roster.names[index])

    def take_objects(self, poses: Mapping[str, Floats]) -> None:
        """Take the poses (7,) of objects by their frames."""
        for frame, pose in poses.items():
            index = self._objects.get(frame)
            # Robots have their poses from the state of the fleet.
            if index is not None:
                self._positions[index], self._orientations[index] = pose[:3], pose[3:]

    def take_details(self, details: Mapping[str, Any]) -> None:
        """Take what `read_details` returned."""
        self._details = details

    def take_paths(self, paths: Mapping[str, tuple[Floats, Floats] | None]) -> None:
        """Take the waypoints of robots by name."""
        self._paths = [(paths.get(name) if is_ros_name(name) else None) or NO_PATH for name in self.roster.names]

    def snapshot(self, time: float, tick: int, pairs: Sequence[tuple[str, str]]) -> Snapshot:
        """Return all of it as a snapshot."""
        roster, index, count = self.roster, self._index, len(self.roster.names)
        # Checked once, here: what is drawn from it would fail somewhere else.
        if not all(np.isfinite(array).all() for array in (self._positions, self._orientations, self._joints)):
            raise InvalidValueError("a pose or a joint is not a number")
        # -1: carried by nobody, blocked by nothing, and of no color of its own.
        blockers = np.full(count, -1, np.int64)
        for name, blocker in self._details.get("blocked_by", {}).items():
            blockers[index[name]] = index[blocker]
        carriers, colors = np.full(count, -1, np.int64), np.full((count, 4), -1.0)
        for name, carrier in self._details.get("carried", {}).items():
            carriers[index[name]] = index[carrier]
        for name, color in self._details.get("colors", {}).items():
            colors[index[name]] = color
        lengths = [len(points) for points, _ in self._paths]
        collided = [(index[a], index[b]) for a, b in pairs if a in index and b in index]
        return Snapshot(
            tick=tick,
            time=time,
            **roster.shown,
            positions=_frozen(self._positions),
            orientations=_frozen(self._orientations),
            velocities=_frozen(self._velocities),
            angular_velocities=_frozen(self._turns),
            carriers=_frozen(carriers),
            modes=_frozen(self._modes),
            busy_mask=_frozen(self._busy),
            blockers=_frozen(blockers),
            path_starts=_frozen(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])),
            path_positions=_frozen(np.concatenate([points for points, _ in self._paths] or [NO_PATH[0]])),
            path_orientations=_frozen(np.concatenate([turns for _, turns in self._paths] or [NO_PATH[1]])),
            joint_starts=_frozen(self._starts),
            joint_positions=_frozen(self._joints[0]),
            joint_velocities=_frozen(self._joints[1]),
            joint_efforts=_frozen(self._joints[2]),
            collisions=_frozen(np.array(collided, np.int64).reshape(-1, 2)),
            colors=_frozen(colors),
            link_colors=self._link_colors(),
            features={},
        )

    def _link_colors(self) -> LinkColors:
        given = self._details.get("link_colors", {})
        return {
            self._index[name]: {int(link): tuple(np.asarray(color, np.float64).tolist()) for link, color in own.items()}
            for name, own in given.items()
        }


def _frozen(array: AnyArray) -> AnyArray:
    # A copy, as the next message goes into the same array; frozen, as readers share snapshots.
    copy = array.copy()
    copy.flags.writeable = False
    return copy


Read = TypeVar("Read")

CUT_OFF = "it was cut off; `fleet-sim replay --repair` makes it whole, without what followed the last second"
UNCHECKED = "it has no checksum: whether what it says about its run was changed is not known"


class Recording:
    """A recording made by `sim.record`, also one that was cut off; for one thread at a time.

    `times` are those of its samples in s, never less than the one before; `duration` is the last of them less the
    first. `whole` tells whether it was closed, `notes` what of it cannot be shown here. `folders` are those that models
    and meshes may be read from, besides the folders of models. Raises InvalidValueError for a file that is no recording
    of ours, or broken, also while it is read.
    """

    def __init__(self, path: str | Path, *, folders: Sequence[str | Path] = ()) -> None:
        self.path = as_path(path)
        self._folders = tuple(folders)
        self.index = McapIndex(self.path)
        try:
            self._read_head()
        except BaseException:
            self.index.close()
            raise
        self._closed = False
        self._kept: dict[tuple[str, int], Any] = {}
        self._readers: dict[int, FleetReader] = {}
        self._objects: tuple[int, int, dict[str, Floats]] = (-1, -1, {})

    def _read_head(self) -> None:
        """Read what the recording says about itself; raises InvalidValueError for other files."""
        path = self.path
        self.about: Mapping[str, str] = self.index.metadata.get(ABOUT, {})
        if (given := self.about.get("format")) != FORMAT:
            version = self.about.get("version")
            made = f"it was made by fleet_sim {version}, in the format {given!r}; show it with that version"
            reason = "it is an MCAP file, but no recording of fleet_sim" if given is None else made
            raise InvalidValueError(f"{path}: {reason}; this version reads {FORMAT!r}")
        self.whole = self.index.whole
        self._states = self._topic("/fleet/states").places
        if not self._states:
            raise InvalidValueError(f"{path}: there is no sample in it: the run was over, or killed, before the first")
        self.times: Floats = np.array([place.time for place in self._states], np.float64) / NS_PER_S
        if (np.diff(self.times) < 0.0).any():
            raise InvalidValueError(f"{path}: its times go back")

    @property
    def duration(self) -> float:
        """Simulated time from the first sample to the last, in s."""
        return float(self.times[-1] - self.times[0])

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario of the run; empty where it was built in Python, or cannot be written."""
        text = self.index.attachments.get(SCENARIO)
        if text is None:
            return {}
        return mapping_in(text, f"{self.path}: {SCENARIO} in it")

    @property
    def floor_plans(self) -> tuple[FloorPlan, ...]:
        """Stations, zones and doors of the building, storey by storey; none where the run was in none."""
        text = self.index.attachments.get(FLOOR_PLAN)
        try:
            return () if text is None else plans_from_json(text)
        except InvalidValueError as error:
            raise InvalidValueError(f"{self.path}: {FLOOR_PLAN} in it: {error}") from error

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the entities met so far cannot be shown here, and why."""
        cut = [CUT_OFF] if not self.whole else [UNCHECKED] if not self.index.checked else []
        return tuple(
            dict.fromkeys([*cut, *(note for reader in self._readers.values() for note in reader.roster.notes)])
        )

    def snapshot_at(self, time: float) -> Snapshot:
        """Return the state of the last sample that is not after `time` in s; before the first, that one.

        Poses, joints and paths are as recorded, bit for bit; paths are looked at twice a second. Not recorded are
        velocities of objects (0) and the columns of features (none). Raises StateError after `close`.
        """
        time = as_float(time, "time in s")
        if self._closed:
            raise StateError(f"{self.path}: this recording was closed, so nothing more can be read")
        number = max(int(np.searchsorted(self.times, time, side="right")) - 1, 0)
        try:
            return self._snapshot(self._states[number])
        except (ValueError, KeyError, IndexError, TypeError, AssertionError) as error:
            # Decoders and layouts say so of bytes that are no message of that type.
            raise InvalidValueError(f"{self.path}: broken at {self.times[number]:g} s: {error}") from error

    def close(self) -> None:
        """Close the file; nothing can be read from then on."""
        self._closed = True
        self.index.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- one sample --------------------------------------------------------------------------------------------------

    def _topic(self, name: str) -> Topic:
        return self.index.topics.get(name) or Topic(name, "", {})

    def _snapshot(self, sample: Place) -> Snapshot:
        """Return the state at a sample, with the entities that there were then; raises InvalidValueError."""
        now = sample.time
        entities = self._topic(bodies.ENTITIES).places
        newest = count_until(entities, now) - 1
        if newest < 0:
            raise InvalidValueError("there is no list of entities before it")
        reader = self._readers.get(newest)
        if reader is None:
            text = string_of(self.index.message(entities[newest]))
            reader = FleetReader(
                read_roster(text, self._folders, self.index.attachments), self.about.get("map_frame", "map")
            )
            # The newest only: lists come with each spawn, and a long recording has thousands of them.
            self._readers = {newest: reader}
        since = entities[newest].time
        reader.take_states(self.index.message(sample))
        reader.take_joints(self._joint_messages(reader.roster, now))
        shared = self._message_at(SHARED, now)
        if shared is not None:
            reader.take_shared_joints(shared)
        reader.take_objects(self._objects_at(since, now))
        details, blocked = (self._last(topic, now, read_details) for topic in (bodies.DETAILS, bodies.BLOCKED))
        reader.take_details({**(details or {}), **(blocked or {})})
        reader.take_paths({name: self._last(f"/{name}/plan", now, read_path) for name in reader.robots})
        pairs = self._last("/fleet/collisions", now, read_collisions) or []
        time = now / NS_PER_S
        timestep = float(self.about.get("timestep", "1"))
        return reader.snapshot(time, round(time / timestep) if timestep > 0.0 else 0, pairs)

    def _last(self, topic: str, now: int, read: Callable[[bytes], Read]) -> Read | None:
        """Return what the newest message of `topic` says, read once; None without one."""
        places = self._topic(topic).places
        newest = count_until(places, now) - 1
        if newest < 0:
            return None
        key = (topic, newest)
        if key not in self._kept:
            # Begun anew when it is large: who plays a recording meets most messages once.
            if len(self._kept) > 100_000:
                self._kept.clear()
            self._kept[key] = read(self.index.message(places[newest]))
        found: Read = self._kept[key]
        return found

    def _joint_messages(self, roster: RecordedRoster, now: int) -> dict[str, bytes]:
        """Return the messages of this sample about the joints of robots with topics of their own, by name."""
        counted = zip(roster.names, roster.joint_counts.tolist(), strict=True)
        found = {name: self._message_at(f"/{name}/joint_states", now) for name, count in counted if count}
        return {name: data for name, data in found.items() if data is not None}

    def _message_at(self, topic: str, now: int) -> bytes | None:
        """Return the message of `topic` of the sample at `now`, in ns; None without one."""
        places = self._topic(topic).places
        newest = count_until(places, now) - 1
        return self.index.message(places[newest]) if newest >= 0 and places[newest].time == now else None

    def _objects_at(self, since: int, now: int) -> dict[str, Floats]:
        """Return the poses (7,) of objects, from where they were written all at once, at `since` or after, on."""
        places = self._topic("/tf").places
        end = count_until(places, now)
        known_since, known, poses = self._objects
        if known_since != since or known > end:
            # All are written at the beginning, and at keyframes; from the former on is right, from the latter faster.
            known, poses = count_until(places, since - 1), {}
        for place in places[known:end]:
            read_object_poses(self.index.message(place), poses)
        self._objects = (since, end, poses)
        return poses
