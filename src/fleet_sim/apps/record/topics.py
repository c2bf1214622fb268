"""What is recorded: one class for each topic, which turns samples of a run into messages of ROS 2.

A robot's frames are those that the ROS node publishes. Objects have a frame of their own here, so that nothing else has
to be recorded while they stand or are carried.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.apps.record.message_types import LATCHED, McapFile, Qos, make, serializer, stamped, time_message
from fleet_sim.apps.record.samples import (
    KEYFRAME,
    PATH_PERIOD,
    RecordedChannel,
    RecordedTopic,
    Sample,
    names_of,
    places_of,
    robots_of,
    template,
)
from fleet_sim.base import cdr
from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, ranges
from fleet_sim.base.files import data_roots, read_bytes
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.tree import FrameLink, base_frame, fixed_links, joint_frames, link_frame, moving_links
from fleet_sim.world.commands import Frames, is_ros_name
from fleet_sim.world.features import FEATURES
from fleet_sim.world.schema import Rgba
from fleet_sim.world.shapes import (
    TRANSPARENT,
    BodyShape,
    Geometry,
    RobotModel,
    VisiblePart,
    has_own_materials,
    marker_shape,
    visible_parts,
)
from fleet_sim.world.snapshot import EntityBodies, Snapshot

FRAMES_KIND = "tf2_msgs/msg/TFMessage"
STATIC = Qos(depth=10, latched=True)
"""Of /tf_static: frames of links and of sensors are messages of their own, and who comes later gets both."""
_NUMBERS = {
    # Numbers side by side are one group: writing several to each of many rows takes as long as writing one.
    "stamp": ("u4", ("header.stamp.sec", "header.stamp.nanosec")),
    "pose": (
        "f8",
        (
            *cdr.under("transform.translation", cdr.AXES),
            *cdr.under("transform", [field.replace("orientation", "rotation") for field in cdr.ORIENTATION]),
        ),
    ),
}


def object_frame(name: str, map_frame: str) -> str:
    """Return the frame of an object: its name, with a prefix where that could be the frame of something else.

    Frames of robots and their sensors have a /, and none may begin with one.
    """
    return f"object:{name}" if "/" in name or name == map_frame or name.startswith("object:") else name


def tf_messages(groups: Sequence[Sequence[FrameLink]]) -> cdr.ByteTemplate:
    """Return the template of one TFMessage for each group; its numbers are of all links, group after group."""
    messages = [make(FRAMES_KIND, transforms=[transform_message(link) for link in links]) for links in groups]
    return cdr.ByteTemplate(
        messages, [cdr.MessagePart(_NUMBERS, lambda message: message.transforms)], serializer(FRAMES_KIND)
    )


def transform_message(link: FrameLink, now: int = 0) -> Any:
    """Return `link` as geometry_msgs/TransformStamped."""
    x, y, z, *turn = map(float, (*link.position, *link.orientation))
    transform = make(
        "geometry_msgs/msg/Transform",
        translation=make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
        rotation=make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", turn, strict=True))),
    )
    kind = "geometry_msgs/msg/TransformStamped"
    return make(kind, header=stamped(link.parent, now), child_frame_id=link.child, transform=transform)


class RecordedFrames(RecordedTopic):
    """Records the poses of bases and moved links in each sample, of objects when they moved, and fixed ones once."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._tf = RecordedChannel(file, "/tf", FRAMES_KIND, Qos(depth=100))
        self._static = RecordedChannel(file, "/tf_static", FRAMES_KIND, STATIC)
        self._named: list[tuple[str, RobotModel | None]] | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay out the messages anew: bases and links of robots, objects, and what never moves."""
        snapshot, frames = sample.snapshot, self.frames
        robots = robots_of(snapshot)
        self._robots = places_of(robots)
        objects = np.flatnonzero(~snapshot.agent_mask).tolist()
        self._objects = places_of(objects)
        things = [FrameLink(frames.map, object_frame(snapshot.names[index], frames.map)) for index in objects]
        self._things = tf_messages([[thing] for thing in things])
        # NaN differs from any number: all of them are written in this sample.
        self._last = np.full((len(things), 7), np.nan)
        self._lay_out_links(snapshot, robots)
        named = [(snapshot.names[index], snapshot.bodies.models[index]) for index in robots]
        self._keyframe = None
        # Loads come and go by the second, robots do not.
        if named == self._named:
            return
        self._named = named
        self._bases = tf_messages([[FrameLink(frames.odom(name), base_frame(frames, name, of)) for name, of in named]])
        # The identity: true odometry does not drift.
        static = [FrameLink(frames.map, frames.odom(name)) for name, _ in named]
        for name, model in named:
            static += [] if model is None else fixed_links(frames, name, model)
        message = make(FRAMES_KIND, transforms=[transform_message(link, sample.now) for link in static])
        self._static_bytes = serializer(FRAMES_KIND)(message)

    def _lay_out_links(self, snapshot: Snapshot, robots: Sequence[int]) -> None:
        """Group the robots with joints by model: the frames of all of a model are computed in one call."""
        members: dict[int, tuple[RobotModel, list[int], list[int]]] = {}
        links: list[FrameLink] = []
        for index in robots:
            model = snapshot.bodies.models[index]
            if model is not None and len(model.movable):
                _, indices, starts = members.setdefault(id(model), (model, [], []))
                indices.append(index)
                starts.append(len(links))
                links += moving_links(self.frames, snapshot.names[index], model)
        self._links = tf_messages([links]) if links else None
        self._link_poses = np.zeros((len(links), 7))
        self._groups = [
            (model, np.array(indices), np.array(starts)[:, None] + np.arange(len(model.movable)))
            for model, indices, starts in members.values()
        ]

    def write(self, sample: Sample) -> None:
        """Write the frames of robots, those of objects that moved, and at times those that never do."""
        snapshot, now = sample.snapshot, sample.now
        keyframe = self.is_keyframe(now)
        if keyframe:
            self._static.send(now, self._static_bytes)
        if self._named:
            self._fill(self._bases, now, _poses(snapshot, self._robots))
            self._tf.send(now, self._bases.views()[0])
        if self._links is not None:
            for model, indices, places in self._groups:
                slots = snapshot.joint_starts[indices][:, None] + np.arange(places.shape[1])
                translations, rotations = joint_frames(model, snapshot.joint_positions[slots])
                self._link_poses[places, :3], self._link_poses[places, 3:] = translations, rotations
            self._fill(self._links, now, self._link_poses)
            self._tf.send(now, self._links.views()[0])
        self._write_objects(snapshot, now, keyframe=keyframe)

    def _write_objects(self, snapshot: Snapshot, now: int, *, keyframe: bool) -> None:
        """Write the frames of objects that moved since the last sample, of all where it is a keyframe."""
        if not len(self._last):
            return
        poses = _poses(snapshot, self._objects)
        moved = np.arange(len(poses)) if keyframe else np.flatnonzero((poses != self._last).any(axis=1))
        if not len(moved):
            return
        self._last = poses
        self._fill(self._things, now, poses)
        messages = self._things.views()
        for index in moved.tolist():
            self._tf.send(now, messages[index])

    def _fill(self, template: cdr.ByteTemplate, now: int, poses: Floats) -> None:
        template.write("stamp", divmod(now, 1_000_000_000))
        template.write("pose", poses)


def _poses(snapshot: Snapshot, places: Ints | slice) -> Floats:
    """Return the poses (K, 7) of the entities at `places`, positions then orientations."""
    return np.concatenate([snapshot.positions[places], snapshot.orientations[places]], axis=1)


# /fleet/entities, /fleet/details and /fleet/blocked, as JSON for `Recording`. They hold what there is, who carries
# what and given colors, and what stands before whom.


ENTITIES, DETAILS, BLOCKED, BODIES_KIND = "/fleet/entities", "/fleet/details", "/fleet/blocked", "std_msgs/msg/String"


def entities_to_json(snapshot: Snapshot) -> str:
    """Return what the entities of `snapshot` are made of; equal shapes and models are written once."""
    bodies = snapshot.bodies
    shapes: dict[BodyShape, int] = {}
    models: dict[str, int] = {}
    entities: list[dict[str, Any]] = []
    for index, name in enumerate(snapshot.names):
        shape, model = bodies.shapes[index], bodies.models[index]
        entity: dict[str, Any] = {"name": name, "id": int(snapshot.object_ids[index])}
        entity["robot"] = bool(snapshot.agent_mask[index])
        entity["half_extents"] = bodies.half_extents[index].tolist()
        entity["centre"] = bodies.centres[index].tolist()
        entity["motors"] = bool(bodies.motor_mask[index])
        entity["joints"] = [] if model is None else list(model.movable_names)
        if shape is not None:
            entity["shape"] = shapes.setdefault(shape, len(shapes))
        if model is not None:
            entity["model"] = models.setdefault(model.path, len(models))
        entities.append(entity)
    content = {"entities": entities, "shapes": [asdict(shape) for shape in shapes], "models": list(models)}
    return json.dumps(content, separators=(",", ":"))


MODEL_FILE, MESH_FILE = "model:", "mesh:"
"""Before the path of a description or a mesh, the name of its content among the files in a recording."""
LARGEST_FILE = 16_000_000
"""Bytes of a description or mesh that a recording brings along."""


def files_of(bodies: EntityBodies, known: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the descriptions and meshes that `bodies` need and `known` has not, and add them to it.

    Those that come with fleet_sim are left out: whoever shows the recording has them. Descriptions become plain URDF.
    """
    shipped = data_roots()
    geometries = [geometry for shape in set(bodies.shapes) if shape for geometry in (shape.visual, shape.collision)]
    for model, shape in dict.fromkeys(zip(bodies.models, bodies.shapes, strict=True)):
        if model is None or MODEL_FILE + model.path in known or _is_in(model.path, shipped):
            continue
        # Loaded only where there is one.
        from fleet_sim.models.export import urdf_text
        from fleet_sim.models.loading import scaled_model

        known.add(MODEL_FILE + model.path)
        # Its scale is applied when it is read.
        plain = model if shape is None or shape.scale == 1.0 else scaled_model(model, 1.0 / shape.scale)
        yield MODEL_FILE + model.path, urdf_text(plain).encode()
        geometries += [part.geometry for part in (*model.visuals, *model.collisions)]
    for path in dict.fromkeys(geometry.mesh_path for geometry in geometries if geometry and geometry.mesh_path):
        if MESH_FILE + path not in known and not _is_in(path, shipped):
            known.add(MESH_FILE + path)
            # It may be gone since, or be too large: it is shown as a box then, with a note.
            with contextlib.suppress(OSError):
                content = read_bytes(path)
                if len(content) <= LARGEST_FILE:
                    yield MESH_FILE + path, content


def _is_in(path: str, folders: Sequence[Path]) -> bool:
    return any(folder in Path(path).parents for folder in folders)


def details_to_json(snapshot: Snapshot) -> str:
    """Return who carries what, and the colors given at run time, by name."""
    names = snapshot.names
    carried = {names[index]: names[snapshot.carriers[index]] for index in np.flatnonzero(snapshot.carriers >= 0)}
    painted = np.flatnonzero(snapshot.colors[:, 0] >= 0.0).tolist()
    content = {
        "carried": carried,
        "colors": {names[index]: snapshot.colors[index].tolist() for index in painted},
        "link_colors": {names[index]: dict(colors) for index, colors in snapshot.link_colors.items()},
    }
    return json.dumps(content, separators=(",", ":"))


def blocked_to_json(snapshot: Snapshot) -> str:
    """Return what stands before whom, by name."""
    names = snapshot.names
    standing = np.flatnonzero(snapshot.blockers >= 0).tolist()
    blocked = {names[index]: names[snapshot.blockers[index]] for index in standing}
    return json.dumps({"blocked_by": blocked}, separators=(",", ":"))


class RecordedBodies(RecordedTopic):
    """Records the entities when some were spawned, removed or renamed, and details when they changed."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._entities = RecordedChannel(file, ENTITIES, BODIES_KIND, LATCHED)
        self._details = RecordedChannel(file, DETAILS, BODIES_KIND, LATCHED)
        # On its own: in a jam it changes all the time.
        self._blocked = RecordedChannel(file, BLOCKED, BODIES_KIND, LATCHED)
        self._last: Snapshot | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Write what there is again, and the details of all, as those are by name."""
        text = entities_to_json(sample.snapshot)
        self._entities.send(sample.now, serializer(BODIES_KIND)(make(BODIES_KIND, data=text)))
        # Details are by name, so those under the old names are void.
        self._last = None

    def write(self, sample: Sample) -> None:
        """Write the details of all entities, if those of one have changed, and the same for what blocks them."""
        last, now = self._last, sample.snapshot
        if last is None or not _same_details(last, now):
            self._details.send(sample.now, serializer(BODIES_KIND)(make(BODIES_KIND, data=details_to_json(now))))
        if last is None or not np.array_equal(last.blockers, now.blockers):
            self._blocked.send(sample.now, serializer(BODIES_KIND)(make(BODIES_KIND, data=blocked_to_json(now))))
        self._last = now


def _same_details(one: Snapshot, other: Snapshot) -> bool:
    arrays = ((one.carriers, other.carriers), (one.colors, other.colors))
    return one.link_colors == other.link_colors and all(a is b or np.array_equal(a, b) for a, b in arrays)


# /clock: simulated time.


CLOCK_KIND = "rosgraph_msgs/msg/Clock"


class RecordedClock(RecordedTopic):
    """Records the time of each sample."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/clock", CLOCK_KIND)
        numbers = cdr.MessagePart({"sec": ("i4", ["clock.sec"]), "nanosec": ("u4", ["clock.nanosec"])})
        self._template = cdr.ByteTemplate([make(CLOCK_KIND)], [numbers], serializer(CLOCK_KIND))

    def write(self, sample: Sample) -> None:
        self._template.write_stamp(sample.now)
        self._channel.send(sample.now, self._template.views()[0])


# /fleet/collisions: the pairs in collision, recorded when they changed.


COLLISIONS_KIND = "fleet_sim_msgs/msg/Collisions"
Pair = tuple[str, str]


class RecordedCollisions(RecordedTopic):
    """Records which pairs are in collision, and which of them began or ended since the last message."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/collisions", COLLISIONS_KIND, LATCHED)
        self._active: dict[Pair, None] | None = None
        self._pairs: Ints | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Write the pairs again at the next sample: they are by name."""
        # The indices are others now.
        self._pairs = None

    def write(self, sample: Sample) -> None:
        """Write which pairs began and ended to collide, and which do, when that changes, and at times all the same."""
        snapshot, before, keyframe = sample.snapshot, self._active, self.is_keyframe(sample.now)
        if not keyframe and self._pairs is not None and np.array_equal(self._pairs, snapshot.collisions):
            return
        self._pairs = snapshot.collisions
        active = {(snapshot.names[a], snapshot.names[b]): None for a, b in snapshot.collisions.tolist()}
        # The first sample says that there are none yet.
        if active == before and not keyframe:
            return
        known = before or {}
        message = make(
            COLLISIONS_KIND,
            header=stamped(self.frames.map, sample.now),
            active=_messages(active),
            started=_messages(pair for pair in active if pair not in known),
            ended=_messages(pair for pair in known if pair not in active),
        )
        self._active = active
        self._channel.send_message(sample.now, message)


def _messages(pairs: Iterable[Pair]) -> list[Any]:
    return [make("fleet_sim_msgs/msg/CollisionPair", first=first, second=second) for first, second in pairs]


# <robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors.


JOINTS_KIND = "sensor_msgs/msg/JointState"
SHARED = "/fleet/joints"
"""Of robots whose name cannot be part of a topic."""


def shared_names(robots: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the names of joints on SHARED, <robot>/<joint>, given the names of robots and of their joints."""
    return tuple(f"{robot}/{joint}" for robot, joints in robots for joint in joints)


def joints_layout(joint_names: Sequence[Sequence[str]], motors: Sequence[bool]) -> cdr.ByteTemplate:
    """Return the template of one JointState for each robot, given the names of its joints and whether it has motors.

    Groups sec, nanosec; position and velocity, (J, 1) for the J joints of all robots, robot by robot; effort, of those
    with motors.
    """
    messages = [
        make(
            JOINTS_KIND,
            name=list(names),
            position=np.zeros(len(names)),
            velocity=np.zeros(len(names)),
            effort=np.zeros(len(names) if powered else 0),
        )
        for names, powered in zip(joint_names, motors, strict=True)
    ]
    parts = [
        cdr.MessagePart(cdr.STAMP),
        cdr.array_numbers("position"),
        cdr.array_numbers("velocity"),
        cdr.array_numbers("effort"),
    ]
    return cdr.ByteTemplate(messages, parts, serializer(JOINTS_KIND))


class RecordedJoints(RecordedTopic):
    """Records the movable joints of robots: on a topic of each, and of those whose name no topic may have on SHARED."""

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay out one message for each robot with joints, and one for those that share a topic."""
        snapshot = sample.snapshot
        counts = np.diff(snapshot.joint_starts)
        jointed = [index for index in robots_of(snapshot) if counts[index]]
        robots = [index for index in jointed if is_ros_name(snapshot.names[index])]
        sharing = [index for index in jointed if not is_ros_name(snapshot.names[index])]
        topics = [f"/{snapshot.names[index]}/joint_states" for index in robots]
        powered = snapshot.bodies.motor_mask
        names = [_names(snapshot, index) for index in robots]
        motors = powered[robots].tolist()
        if sharing:
            topics.append(SHARED)
            names.append(shared_names([(snapshot.names[index], _names(snapshot, index)) for index in sharing]))
            # Without motors their efforts are 0.
            motors.append(True)
        self._channels = [RecordedChannel(self.file, topic, JOINTS_KIND) for topic in topics]
        self._template = joints_layout(names, motors) if topics else None
        self._slots = _slots(snapshot, [*robots, *sharing])
        self._powered = _slots(snapshot, [*[index for index in robots if powered[index]], *sharing])

    def write(self, sample: Sample) -> None:
        """Write positions and velocities of all joints, and efforts of those with motors."""
        snapshot, joints = sample.snapshot, self._template
        if joints is None:
            return
        joints.write_stamp(sample.now)
        joints.write("position", snapshot.joint_positions[self._slots][:, None])
        joints.write("velocity", snapshot.joint_velocities[self._slots][:, None])
        if len(self._powered):
            joints.write("effort", snapshot.joint_efforts[self._powered][:, None])
        for channel, piece in zip(self._channels, joints.views(), strict=True):
            channel.send(sample.now, piece)


def _names(snapshot: Snapshot, index: int) -> tuple[str, ...]:
    """Return the names of the movable joints of a robot; those with joints always have a model."""
    model = snapshot.bodies.models[index]
    return () if model is None else tuple(model.movable_names)


def _slots(snapshot: Snapshot, indices: Sequence[int]) -> Ints:
    """Return where the joints of robots by index are, one robot after the other."""
    own = np.array(indices, np.int64)
    return ranges(snapshot.joint_starts[own], np.diff(snapshot.joint_starts)[own])


# /fleet/markers: all robots and objects as markers for RViz, Foxglove and others. Markers stand in the frames of what
# they show and move with them: they are recorded when something is spawned, removed or painted, and not while it
# drives.


MARKERS_KIND, MARKER = "visualization_msgs/msg/MarkerArray", "visualization_msgs/msg/Marker"
ADD, DELETE_ALL = 0, 3


def parts_of(bodies: EntityBodies, index: int) -> list[VisiblePart]:
    """Return what is seen of an entity."""
    x, y, z = bodies.half_extents[index].tolist()
    centre_x, centre_y, centre_z = bodies.centres[index].tolist()
    return visible_parts(bodies.models[index], bodies.shapes[index], (x, y, z), (centre_x, centre_y, centre_z))


class RecordedMarkers(RecordedTopic):
    """Records a marker for each visible shape, after one that removes all."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/markers", MARKERS_KIND, LATCHED)
        self._look: tuple[Floats, Any] | None = None
        self._data = b""
        self._made: dict[tuple[str, int], tuple[Any, Any]] = {}
        """By group and id: what a marker shows, and the marker."""

    def on_bodies_changed(self, sample: Sample) -> None:
        """Write all markers again at the next sample."""
        self._look = None

    def write(self, sample: Sample) -> None:
        """Write what everything looks like where that changed, and at times all the same."""
        snapshot = sample.snapshot
        keyframe = self.is_keyframe(sample.now)
        look = (snapshot.colors, snapshot.link_colors)
        same = self._look is not None and self._look[1] == look[1] and bool((self._look[0] == look[0]).all())
        if not same:
            self._look = look
            self._data = serializer(MARKERS_KIND)(make(MARKERS_KIND, markers=self._markers(snapshot)))
        if keyframe or not same:
            self._channel.send(sample.now, self._data)

    def _markers(self, snapshot: Snapshot) -> list[Any]:
        """Return a marker for each visible part, after one that removes those of before."""
        # Loads come and go by the second: only what is new is made.
        kept: dict[tuple[str, int], tuple[Any, Any]] = {}
        for index, name in enumerate(snapshot.names):
            is_robot = bool(snapshot.agent_mask[index])
            given = snapshot.colors[index].tolist()
            for number, (link, geometry) in enumerate(parts_of(snapshot.bodies, index)):
                model = snapshot.bodies.models[index]
                frame = link_frame(self.frames, name, model, link) if is_robot else object_frame(name, self.frames.map)
                group = "robots" if is_robot else "objects"
                painted: Rgba | None = snapshot.link_colors.get(index, {}).get(
                    link, tuple(given) if given[0] >= 0.0 else None
                )
                # Markers of one group have different ids; further shapes of an entity get a group of their own.
                place = (group if number == 0 else f"{group}/{number}", int(snapshot.object_ids[index]))
                look = (frame, geometry, painted)
                if place not in self._made or self._made[place][0] != look:
                    self._made[place] = (look, _marker(place, *look))
                kept[place] = self._made[place]
        self._made = kept
        # Players keep markers that later messages do not mention.
        clear = make(MARKER, header=stamped(self.frames.map), action=DELETE_ALL)
        return [clear, *(marker for _, marker in kept.values())]


def _marker(place: tuple[str, int], frame: str, geometry: Geometry, painted: Rgba | None) -> Any:
    """Return the marker of a geometry that is locked to `frame`; `place` names it from message to message.

    What is not `painted` has the color of the geometry, or a mesh the materials of its file.
    """
    kind, (width, depth, height), mesh = marker_shape(geometry)
    x, y, z = map(float, geometry.position)
    turn = dict(zip("xyzw", map(float, geometry.orientation), strict=True))
    own = painted is None and has_own_materials(geometry)
    red, green, blue, alpha = map(float, TRANSPARENT if own else painted or geometry.rgba)
    pose = make(
        "geometry_msgs/msg/Pose",
        position=make("geometry_msgs/msg/Point", x=x, y=y, z=z),
        orientation=make("geometry_msgs/msg/Quaternion", **turn),
    )
    return make(
        MARKER,
        # Without a stamp, a locked marker is where its frame is now.
        header=stamped(frame),
        ns=place[0],
        id=place[1],
        type=kind,
        action=ADD,
        pose=pose,
        scale=make("geometry_msgs/msg/Vector3", x=float(width), y=float(depth), z=float(height)),
        color=make("std_msgs/msg/ColorRGBA", r=red, g=green, b=blue, a=alpha),
        frame_locked=True,
        mesh_resource=mesh,
        mesh_use_embedded_materials=own,
    )


# /fleet/orders: what became of each order that changed.


ORDERS_KIND = "fleet_sim_msgs/msg/OrderStatus"


class RecordedOrders(RecordedTopic):
    """Records the statuses of the orders that changed since the last sample."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/orders", ORDERS_KIND, Qos(depth=100))

    def write(self, sample: Sample) -> None:
        """Write one message for each order that changed."""
        for status in sample.orders:
            message = make(ORDERS_KIND, stamp=time_message(sample.now), **status.message_fields())
            self._channel.send_message(sample.now, message)


# /fleet/states: all robots in one message, as the ROS node publishes them.


STATES_KIND = "fleet_sim_msgs/msg/FleetState"
POSE = ControllerMode.POSE.code
STEPS_PER_M = 1024.0
"""A power of two: what is rounded to it has few bits."""
STEPS_PER_SPEED = 2.0**20
"""Per m/s and rad/s. All bits of the speeds of a thousand robots that accelerate are a megabyte of each minute."""
# Numbers side by side are one group: writing several to each of many rows takes as long as writing one.
_CODES = ("mode", "operating_mode", "last_cause", "moving", "busy", "blocked", "carrying", "charging", "has_goal")
_STATES_NUMBERS = {"motion": cdr.ROBOT_STATE["motion"], "faults": cdr.ROBOT_STATE["faults"], "codes": ("u1", _CODES)}
_WIDTH = len(cdr.ROBOT_STATE["motion"][1])


def states_layout(map_frame: str, names: Sequence[str]) -> cdr.ByteTemplate:
    """Return the template of one FleetState of robots by name.

    Its groups are sec and nanosec, and for the robots motion (N, 22): position, orientation, linear and angular
    velocity in the frame of the base, distance left, battery, goal; faults (N, 1); and codes (N, 9) as in _CODES. Texts
    are empty.
    """
    states = [make("fleet_sim_msgs/msg/RobotState", name=name) for name in names]
    return template(
        STATES_KIND, [make(STATES_KIND, header=stamped(map_frame), robots=states)], _STATES_NUMBERS, "robots"
    )


class RecordedStates(RecordedTopic):
    """Records the numbers of the states of all robots: poses, twists in the base frame, goals, batteries, flags."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._channel = RecordedChannel(file, "/fleet/states", STATES_KIND)
        self._names: list[str] | None = None
        # Used again: memory that is new costs as much as what is written to it.
        self._motion = np.empty((0, _WIDTH))

    def on_bodies_changed(self, sample: Sample) -> None:
        """Lay the message out anew where robots have come, gone or got another name."""
        robots = robots_of(sample.snapshot)
        self._robots = places_of(robots)
        names = names_of(sample.snapshot, robots)
        # Loads come and go by the second, robots do not.
        if names != self._names:
            self._names = names
            self._template = states_layout(self.frames.map, names)

    def write(self, sample: Sample) -> None:
        """Write the states of all robots in one message."""
        snapshot, robots, states = sample.snapshot, self._robots, self._template
        states.write_stamp(sample.now)
        if self._names:
            if len(self._motion) != len(snapshot.names):
                self._motion = np.empty((len(snapshot.names), _WIDTH))
            codes = codes_of(snapshot)
            faults = reports_of(snapshot, self._motion[:, 14], codes)
            codes[:, 3] |= motion_of(snapshot, self._motion)
            states.write("motion", self._motion[robots])
            states.write("faults", faults[robots, None])
            states.write("codes", codes[robots])
        self._channel.send(sample.now, states.views()[0])


def motion_of(snapshot: Snapshot, motion: Floats) -> Bools:
    """Write to `motion` what the group of that name of `states_layout` has of all entities; return who has a velocity.

    Distances are to about a millimetre, velocities to 1e-6 m/s and rad/s.
    """
    motion[:, :3], motion[:, 3:7] = snapshot.positions, snapshot.orientations
    # Components side by side are read several times as fast.
    turns, speeds = np.empty((4, len(motion))), np.empty((2, 3, len(motion)))
    turns[:], speeds[0], speeds[1] = snapshot.orientations.T, snapshot.velocities.T, snapshot.angular_velocities.T
    moving_mask: Bools = (speeds != 0.0).any(axis=(0, 1))
    moving = np.flatnonzero(moving_mask)
    # Those that stand have nothing to turn, and they are often most.
    if len(moving) < len(motion):
        turns, speeds = turns.take(moving, axis=1), speeds.take(moving, axis=2)
    np.negative(turns[:3], out=turns[:3])
    turned = np.empty_like(speeds)
    quaternions.rotate_rows(turns, speeds[0], turned[0])
    quaternions.rotate_rows(turns, speeds[1], turned[1])
    turned *= STEPS_PER_SPEED
    np.rint(turned, out=turned)
    turned *= 1.0 / STEPS_PER_SPEED
    if len(moving) < len(motion):
        motion[:, 7:13] = 0.0
        motion[moving, 7:13] = turned.reshape(6, -1).T
    else:
        motion[:, 7:13] = turned.reshape(6, -1).T
    # All bits of a distance would take as much of the file as those of the position.
    distances, motion[:, 15:] = ways_left(snapshot)
    motion[:, 13] = np.rint(distances * STEPS_PER_M) / STEPS_PER_M
    return moving_mask


def ways_left(snapshot: Snapshot) -> tuple[Floats, Floats]:
    """Return the distances (N,) in m to the ends of the paths of all entities, and these (N, 7); 0 without one."""
    starts, distances = snapshot.path_starts, np.zeros(len(snapshot.positions))
    goals = np.zeros((len(distances), 7))
    driving = np.flatnonzero(starts[1:] != starts[:-1])
    if len(driving):
        last = starts[driving + 1] - 1
        ends = snapshot.path_positions.take(last, axis=0)
        goals[driving, :3], goals[driving, 3:] = ends, snapshot.path_orientations.take(last, axis=0)
        x, y, z = (ends - snapshot.positions.take(driving, axis=0)).T.copy()
        distances[driving] = np.sqrt(x * x + y * y + z * z)
    return distances, goals


def codes_of(snapshot: Snapshot) -> Bytes:
    """Return the group codes of `states_layout` of all entities, but for who is charged or moves without a goal."""
    codes = np.zeros((len(snapshot.names), len(_CODES)), np.uint8)
    codes[:, 0] = snapshot.modes
    codes[:, 3] = snapshot.modes == POSE
    codes[:, 4] = snapshot.busy_mask
    codes[:, 5] = snapshot.blockers >= 0
    codes[snapshot.carriers[snapshot.carriers >= 0], 6] = True
    codes[:, 8] = snapshot.path_starts[1:] != snapshot.path_starts[:-1]
    return codes


def reports_of(snapshot: Snapshot, battery: Floats, codes: Bytes) -> Ints:
    """Write what features tell of all entities to `battery` (N,) and `codes`, and return their faults (N,)."""
    faults = np.zeros(len(battery), np.int64)
    battery[:] = np.nan
    for name, columns in snapshot.features.items():
        told = FEATURES.get(name).report(columns)
        if "battery" in told:
            battery[:] = told["battery"]
        if "charging" in told:
            codes[:, 7] |= told["charging"]
        if "operating_mode" in told:
            np.maximum(codes[:, 1], told["operating_mode"], out=codes[:, 1])
        if "faults" in told:
            faults |= told["faults"].astype(np.int64)
    return faults


# <robot>/plan: the path each robot follows, recorded when it changed.


PLANS_KIND = "nav_msgs/msg/Path"
KEYFRAME_NS = KEYFRAME * 1_000_000_000
NEW, NO_TOPIC = 0, -1


@lru_cache(maxsize=64)
def path_template(frame: str, count: int) -> cdr.ByteTemplate:
    """Return the template of a path of `count` poses in `frame`."""
    poses = [make("geometry_msgs/msg/PoseStamped", header=stamped(frame)) for _ in range(count)]
    numbers = {"pose": ("f8", cdr.under("pose", (*cdr.POSITION, *cdr.ORIENTATION)))}
    return template(PLANS_KIND, [make(PLANS_KIND, header=stamped(frame), poses=poses)], numbers, "poses")


class RecordedPlans(RecordedTopic):
    """Records paths in the map frame, from the robot to the last waypoint, and an empty path at the end of one.

    Viewers draw nothing for a path of one pose, so where the robot is comes first.
    """

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._names: tuple[str, ...] = ()
        self._channels: Ints = np.zeros(0, np.int64)
        """Of each entity: NEW before its first path, NO_TOPIC where its name cannot be part of a topic."""
        self._recorded = _Paths.none(0)
        self._written_at: Ints = np.zeros(0, np.int64)
        """When the path of each was last written, in ns."""
        self._looked = -PATH_PERIOD

    def on_bodies_changed(self, sample: Sample) -> None:
        """Look at all paths again at the next sample, and end the paths of robots that are gone."""
        self._looked = -PATH_PERIOD
        names, before = sample.snapshot.names, {name: index for index, name in enumerate(self._names)}
        self._end_paths_of([before[name] for name in before.keys() - set(names)], sample.now)
        chosen = np.array([before.get(name, -1) for name in names], np.int64)
        self._recorded = self._recorded.of(chosen)
        # The last one is for those that are new: nothing of them was written.
        self._written_at = np.append(self._written_at, 0)[chosen]
        known = self._channels.tolist()
        channels = [known[before[name]] if name in before else NEW if is_ros_name(name) else NO_TOPIC for name in names]
        self._channels = np.array(channels, np.int64)
        self._names = names

    def _end_paths_of(self, gone: list[int], now: int) -> None:
        """Write an empty path where there was one: players keep the last path of a name."""
        for index in sorted(gone):
            if self._recorded.counts[index] and self._channels[index] != NO_TOPIC:
                empty = path_template(self.frames.map, 0)
                empty.write_stamp(now)
                self.file.write(int(self._channels[index]), now, empty.views()[0])

    def write(self, sample: Sample) -> None:
        """Write the path of each robot whose path has changed, an empty one where it has ended, others at times."""
        now, snapshot = sample.now, sample.snapshot
        if now - self._looked < PATH_PERIOD:
            return
        self._looked = now
        paths = _Paths.of_all(snapshot)
        written_mask = paths.differ_from(self._recorded)
        # For players that begin later.
        written_mask |= (paths.counts > 0) & (now - self._written_at >= KEYFRAME_NS)
        written_mask &= self._channels != NO_TOPIC
        self._recorded = paths
        self._written_at[written_mask] = now
        for index in np.flatnonzero(written_mask & (self._channels == NEW)).tolist():
            self._channels[index] = self.file.channel(f"/{self._names[index]}/plan", PLANS_KIND, LATCHED)
        here = np.concatenate([snapshot.positions, snapshot.orientations], axis=1)
        # All of one length at once: in the traffic, they are a thousand a second.
        for count in np.unique(paths.counts[written_mask]).tolist():
            robots = np.flatnonzero(written_mask & (paths.counts == count))
            poses = paths.poses[paths.places_of(robots)].reshape(len(robots), count, 7)
            # An empty path has no beginning either.
            poses = np.concatenate([here[robots, None], poses], axis=1) if count else poses
            path = path_template(self.frames.map, poses.shape[1])
            path.write_stamp(now)
            self.file.write_all(self._channels[robots], now, path.repeated("pose", poses))


@dataclass(frozen=True, eq=False)
class _Paths:
    """Paths of entities, one after the other: their `poses` (P, 7), how many each has, and where they begin."""

    poses: Floats
    counts: Ints
    begins: Ints

    @classmethod
    def of_all(cls, snapshot: Snapshot) -> _Paths:
        """Return the paths of all entities of `snapshot`."""
        poses = np.concatenate([snapshot.path_positions, snapshot.path_orientations], axis=1)
        return cls(poses, np.diff(snapshot.path_starts), snapshot.path_starts[:-1])

    @classmethod
    def none(cls, count: int) -> _Paths:
        """Return the paths of `count` entities without waypoints."""
        return cls(np.empty((0, 7)), np.zeros(count, np.int64), np.zeros(count, np.int64))

    def of(self, chosen: Ints) -> _Paths:
        """Return the paths of `chosen` (K,), where -1 stands for one without a path."""
        there_mask, paths = chosen >= 0, _Paths.none(len(chosen))
        paths.counts[there_mask] = self.counts[chosen[there_mask]]
        paths.begins[there_mask] = self.begins[chosen[there_mask]]
        return replace(paths, poses=self.poses)

    def places_of(self, chosen: Ints) -> Ints:
        """Return where the poses of `chosen` (K,) are, one path after the other."""
        return ranges(self.begins[chosen], self.counts[chosen])

    def differ_from(self, others: _Paths) -> Bools:
        """Return whose path differs, bit by bit, from the one that `others` has of the same entity."""
        differ_mask = self.counts != others.counts
        same = np.flatnonzero(~differ_mask & (self.counts > 0))
        if len(same):
            poses = self.poses[self.places_of(same)], others.poses[others.places_of(same)]
            others_mask = np.not_equal(*(pose.view(np.int64) for pose in poses)).any(axis=1)
            counts = self.counts[same]
            differ_mask[same] = np.logical_or.reduceat(others_mask, np.cumsum(counts) - counts)
        return differ_mask


# What is recorded, in the order in which it is written. A topic names its message type
# and writes from samples, not from the world, as it runs in the process that writes.


TOPICS: tuple[type[RecordedTopic], ...] = (
    RecordedClock,
    RecordedBodies,
    RecordedFrames,
    RecordedMarkers,
    RecordedStates,
    RecordedJoints,
    RecordedPlans,
    RecordedCollisions,
    RecordedOrders,
)
