"""/fleet/markers: all robots and objects as markers for RViz."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from fleet_sim.arrays import NO_ROWS, Floats, Ints
from fleet_sim.cdr import ALIGNMENT, ORIENTATION, POSITION, STAMP, MessagePart, under
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.visible import TRANSPARENT, has_own_materials, marker_shape, visible_parts
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import MessageTemplate
from fleet_sim.spatial import poses

COMPLETE_EVERY = 5_000_000_000
"""Time in ns after which all markers are sent again, for viewers that missed one."""


def markers_template(markers: list[Marker]) -> MessageTemplate:
    """Return the template of one MarkerArray; groups sec, nanosec, position (N, 3), orientation (N, 4).

    Some of its markers can be sent alone: `elements` of "sec". Their texts, which nobody sees, are filled up for that.
    """
    _fill_up(markers)
    return _template(markers)


def _fill_up(markers: list[Marker]) -> None:
    """Lengthen texts so that each marker takes a multiple of ALIGNMENT bytes, wherever it begins."""
    alike: dict[tuple[int, ...], list[Marker]] = {}
    for marker in markers:
        names = marker.header.frame_id, marker.ns, marker.text, marker.mesh_resource
        alike.setdefault(tuple([len(name.encode()) for name in names]), []).append(marker)
    # Only one of each length is laid out, with one more at the end: where the next one begins tells it.
    ends = _template([*[group[0] for group in alike.values()], Marker()]).offsets("sec")[1:]
    for group, end in zip(alike.values(), ends.tolist(), strict=True):
        if end % ALIGNMENT:
            for marker in group:
                # All that follows a text takes a multiple of 4 bytes, and so do these spaces.
                marker.text += " " * (ALIGNMENT // 2)


def _template(markers: list[Marker]) -> MessageTemplate:
    numbers = {
        **STAMP,
        "position": ("f8", under("pose", POSITION)),
        "orientation": ("f8", under("pose", ORIENTATION)),
    }
    return MessageTemplate([MarkerArray(markers=markers)], [MessagePart(numbers, lambda message: message.markers)])


class MarkersTopic(Interface):
    """Publishes a marker for each shape of the visible entities and their links, in the map frame.

    Boxes, spheres, cylinders, and meshes by the URIs of their files, which RViz has to be able to read: package:// for
    meshes of installed packages, file:// for others.

    A message has the markers that have moved since the last one, as viewers keep the others: drawing a fleet of
    thousands of shapes again and again takes RViz half of its time. All of them are sent when somebody subscribes, when
    something looks different, and every COMPLETE_EVERY. After a removal, one message with DELETEALL is published before
    the next markers.
    """

    rate = "markers"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(MarkerArray, "fleet/markers", qos.STATE)
        self._rows = NO_ROWS
        self._behind = True
        self._look = 0
        self._subscribers = 0
        self._completed: int | None = None
        """When all markers were sent last, in ns."""
        self._shown: tuple[Floats, Floats] = np.empty((0, 3)), np.empty((0, 4))
        """The poses that were sent last."""

    def on_fleet_changed(self, roster: Roster) -> None:
        """Send all markers again, as names and shapes may be others."""
        # The template is built only when there are subscribers.
        self._behind = True

    def publish(self, now: int) -> None:
        """Publish what has moved while somebody is subscribed; laid out anew where something looks different."""
        subscribers, known = self._publisher.get_subscription_count(), self._subscribers
        self._subscribers = subscribers
        if not subscribers:
            return
        world = self.bridge.sim.world
        if self._behind or self._look != world.look.version:
            self._rebuild()
        if not len(self._rows):
            return
        shown = poses.compose(*world.link_poses(self._rows, self._links), self._offsets, self._turns)
        chosen = None if subscribers != known or self._is_due(now) else self._moved(shown)
        if chosen is not None and not len(chosen):
            return
        self._shown = shown
        self._template.write_stamp(now)
        self._template.write("position", shown[0])
        self._template.write("orientation", shown[1])
        if chosen is None:
            self._completed = now
            self._publisher.publish(self._template.pieces()[0])
        else:
            self._publisher.publish(self._template.elements("sec", chosen))

    def _is_due(self, now: int) -> bool:
        """Return whether all markers are to be sent; also after a reset, when time begins again."""
        return self._completed is None or not 0 <= now - self._completed < COMPLETE_EVERY

    def _moved(self, shown: tuple[Floats, Floats]) -> Ints:
        """Return which markers (K,) are elsewhere than they were sent last."""
        (positions, turns), (before, before_turns) = shown, self._shown
        return np.flatnonzero((positions != before).any(axis=1) | (turns != before_turns).any(axis=1))

    def _rebuild(self) -> None:
        """Lay out a marker for each visible shape, and let viewers remove those they have."""
        self._behind = False
        world = self.bridge.sim.world
        self._look = world.look.version
        rows, links, markers, offsets, turns = [], [], [], [], []
        for row in world.rows.tolist():
            group = "robots" if world.kind[row] == KIND_AGENT else "objects"
            for number, (link, geometry, own) in enumerate(_visible(world, row)):
                # Markers of one group have different ids; further shapes of an entity get a group of their own.
                object_id, name = int(world.object_id[row]), group if number == 0 else f"{group}/{number}"
                rows.append(row)
                links.append(link)
                markers.append(_marker(self.bridge.frames.map, name, object_id, geometry, own))
                offsets.append(geometry.position)
                turns.append(geometry.orientation)
        self._rows, self._links = np.array(rows, np.int64), np.array(links, np.int64)
        self._offsets = np.array(offsets, np.float64).reshape(-1, 3)
        self._turns = np.array(turns, np.float64).reshape(-1, 4)
        self._template = markers_template(markers)
        self._completed = None
        # RViz keeps markers that later messages do not mention.
        clear = Marker(action=Marker.DELETEALL)
        clear.header.frame_id = self.bridge.frames.map
        self._publisher.publish(MarkerArray(markers=[clear]))


def _visible(world: World, row: int) -> list[tuple[int, Geometry, bool]]:
    """Return what the markers of the entity in `row` show, each in the frame of a link: its shapes or its links'.

    With each, whether it is a mesh in the materials of its file. A box of its size stands for a robot whose description
    has nothing to see.
    """
    shape_id = int(world.shape_id[row])
    shape = world.shapes[shape_id] if shape_id >= 0 else None
    half_extents, centre = tuple(world.half_extents[row].tolist()), tuple(world.shape_position[row].tolist())
    shown = visible_parts(world.model_of(row), shape, half_extents, centre)
    given = world.look.colors(np.full(len(shown), row), np.array([link for link, _ in shown], np.int64))
    return [
        (link, geometry, has_own_materials(geometry))
        if color[0] < 0.0
        else (link, replace(geometry, rgba=tuple(color)), False)
        for (link, geometry), color in zip(shown, given.tolist(), strict=True)
    ]


def _marker(map_frame: str, group: str, number: int, geometry: Geometry, own: bool) -> Marker:
    kind, size, mesh = marker_shape(geometry)
    red, green, blue, alpha = TRANSPARENT if own else geometry.rgba
    marker = Marker(ns=group, id=number, action=Marker.ADD, color=ColorRGBA(r=red, g=green, b=blue, a=alpha))
    marker.header.frame_id = map_frame
    marker.type, marker.mesh_resource, marker.mesh_use_embedded_materials = kind, mesh, own
    marker.scale = Vector3(x=float(size[0]), y=float(size[1]), z=float(size[2]))
    return marker
