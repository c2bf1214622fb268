"""/fleet/markers: all robots and objects as markers for RViz, Foxglove and others.

Markers stand in the frames of what they show and move with them: they are recorded when something is spawned, removed
or painted, and not while it drives.
"""

from __future__ import annotations

from typing import Any

from fleet_sim.arrays import Floats
from fleet_sim.core.look import Rgba
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.snapshot import EntityBodies, Snapshot
from fleet_sim.core.visible import TRANSPARENT, VisiblePart, has_own_materials, marker_shape, visible_parts
from fleet_sim.kinematics.tf_tree import link_frame
from fleet_sim.record.mcap_file import LATCHED, McapFile
from fleet_sim.record.message_types import make, serializer, stamped
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample
from fleet_sim.record.topics.frames import object_frame

KIND, MARKER = "visualization_msgs/msg/MarkerArray", "visualization_msgs/msg/Marker"
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
        self._channel = RecordedChannel(file, "/fleet/markers", KIND, LATCHED)
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
            self._data = serializer(KIND)(make(KIND, markers=self._markers(snapshot)))
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
