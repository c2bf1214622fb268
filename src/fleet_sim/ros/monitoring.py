"""/diagnostics, /fleet/markers and /map: for people who watch a run."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Vector3
from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg
from rclpy.clock import Clock, ClockType
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints
from fleet_sim.base.cdr import ALIGNMENT, ORIENTATION, POSITION, STAMP, MessagePart, under
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Diagnosis, Interface, speaks_rmf
from fleet_sim.ros.messages import MessageTemplate, Roster, take_roster, time_to_msg
from fleet_sim.sensing.sensors import OccupancyGrid, occupancy_grid
from fleet_sim.sensing.sensors.occupancy import immovable_rows
from fleet_sim.world.pipeline import SLOW_STEP
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.shapes import TRANSPARENT, Geometry, has_own_materials, marker_shape, visible_parts
from fleet_sim.world.world import World, energy_columns_with

WATCH_PERIOD = 0.5
"""Wall time in s between looks at what holds a step."""
SIMULATION_THREAD = "simulation"
SHOWN_CALLS = 4
"""Calls that are shown of a step that is held."""
SLOW = 0.95
"""Share of the target real-time factor below which the status is a warning."""


MOST_NAMED = 20
"""Faulty parts and reasons of refusals that are named, the most frequent first."""


class DiagnosticsTopic(Interface):
    """Publishes real-time factor, step time, late steps, entities, collisions, faults and rejected commands.

    With the setting `robot_diagnostics` each robot has a status, too: a warning where it stands before something or
    has an empty battery. What raised exceptions is named with their number, and what was switched off because of it.
    Then come the parts of `Bridge.diagnostics`.

    `late_steps` counts steps that began more than one step length later than `target_rtf` requires, `worst_delay_ms` is
    the longest such delay, both since the run began.
    """

    rate = "diagnostics"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self._since: tuple[float, int] | None = None
        self._told: tuple[int, str] | None = None
        # By the executor, which goes on while a step is held; and by wall time, which does, too.
        bridge.node.create_timer(
            WATCH_PERIOD, self.watch, callback_group=bridge.group, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def watch(self) -> None:
        """Log, and publish, what holds a step for longer than SLOW_STEP; once for each system that does."""
        running, tick = self.bridge.sim.pipeline.running, self.bridge.sim.world.clock.tick
        if running is None or running[1] < SLOW_STEP:
            return
        system, taken = running
        held = f"a step has taken {taken:.1f} s; it is in {system.name} ({system.phase.value}){_place_of_step()}"
        if self._told != (tick, system.name):
            self._told = tick, system.name
            self.bridge.node.get_logger().warning(held)
        self._send([_status("simulation", (held, {}))], self.bridge.time.last)

    def publish(self, now: int) -> None:
        """Publish the state of the simulation, of each robot, and of other parts."""
        parts = ((part, diagnose()) for part, diagnose in self.bridge.diagnostics.items())
        others = [_status(part, found) for part, found in parts if found is not None]
        self._send([_status("simulation", self._diagnose(now)), *self._robots(), *others], now)

    def _send(self, statuses: list[DiagnosticStatus], now: int) -> None:
        message = DiagnosticArray(status=statuses)
        message.header.stamp = time_to_msg(now)
        self._publisher.publish(message)

    def _diagnose(self, now: int) -> Diagnosis:
        """Return the state of the simulation; something is wrong where it falls behind or parts are switched off."""
        sim, wall = self.bridge.sim, time.perf_counter()
        since, self._since = self._since, (wall, now)
        wanted = sim.params.target_rtf
        # In published time, which does not jump back at a reset.
        # The first time there is nothing to compare with; a factor of 0 is no warning then.
        factor = (now - since[1]) * 1e-9 / (wall - since[0]) if since and wall > since[0] else 0.0
        # A target of 0 means as fast as possible, which cannot be missed.
        late = since is not None and 0.0 < factor < SLOW * wanted
        off = sim.guard.switched_off
        reasons = [f"falls behind: {factor:.2f} of {wanted:g} times real time"] * late
        reasons += [f"{off.total()} parts failed too often and are switched off"] * bool(off)
        return "; ".join(reasons), {
            "real_time_factor": f"{factor:.3f}",
            "target_rtf": f"{wanted:g}",
            "step_ms": f"{sim.pipeline.total * 1e3:.3f}",
            # With the one that ends now, whose time is in the stamp.
            "steps": sim.step_count + sim.world.in_step,
            "late_steps": sim.pacer.late_steps,
            "slow_steps": sim.pipeline.slow_steps.total(),
            "longest_step_ms": f"{sim.pipeline.longest_step * 1e3:.0f}",
            **{f"slow steps by {what}": number for what, number in sim.pipeline.slow_steps.most_common(3)},
            "worst_delay_ms": f"{sim.pacer.worst_delay * 1e3:.3f}",
            "entities": len(sim.world),
            "collisions": sim.collision_count,
            "faults": sim.guard.total,
            "goals_without_client": self.bridge.gateway.unattended_goals,
            "refused_commands": self.bridge.refusals.count,
            **{f"refused: {why}": number for why, number in self.bridge.gateway.refused.most_common(MOST_NAMED)},
            **{f"faults of {what}": number for what, number in sim.guard.counts.most_common(MOST_NAMED)},
            **{f"switched off: {what}": number for what, number in off.most_common(MOST_NAMED)},
        }

    def _robots(self) -> list[DiagnosticStatus]:
        """Return a status of each robot, with its name as the hardware, where that is asked for."""
        if not self.bridge.params.robot_diagnostics:
            return []
        world = self.bridge.sim.world
        roster = take_roster(world)
        return [
            _status(name, _diagnose_robot(world, row), "ok", name)
            for name, row in zip(roster.names, roster.rows.tolist(), strict=True)
        ]


def _status(part: str, found: Diagnosis, well: str = "running", hardware: str = "fleet_sim") -> DiagnosticStatus:
    """Return the status of a part: a warning with what is wrong, else that all is `well`."""
    wrong, figures = found
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if wrong else DiagnosticStatus.OK,
        name=f"fleet_sim: {part}",
        message=wrong or well,
        hardware_id=hardware,
        values=[KeyValue(key=key, value=str(value)) for key, value in figures.items()],
    )


def _place_of_step() -> str:
    """Return where the simulation's thread is, inwards: which sensor, planner or user code a system has called."""
    threads = [thread.ident for thread in threading.enumerate() if thread.name == SIMULATION_THREAD]
    frame = sys._current_frames().get(threads[0] or 0) if threads else None
    calls = traceback.extract_stack(frame)[-SHOWN_CALLS:] if frame is not None else []
    shown = " > ".join(f"{call.name} ({Path(call.filename).name}:{call.lineno})" for call in calls)
    return f": {shown}" if shown else ""


def _diagnose_robot(world: World, row: int) -> Diagnosis:
    """Return the state of a robot; something is wrong where it is blocked or its battery is empty."""
    blocker, action = int(world.motion.blocked_by[row]), world.actions.current(row)
    reason = f"stands before {world.label(blocker)}" if blocker != NO_ROW else ""
    battery = energy_columns_with(world, row)
    figures = {
        "mode": ControllerMode.from_code(int(world.motion.control[row])).value,
        "action": "" if action is None else type(action).__name__,
        "speed": f"{float((world.velocity[row] ** 2).sum()) ** 0.5:.3f}",
    }
    if battery is not None:
        charge = float(battery.energy[row] / battery.full_energy[row])
        figures["battery"] = f"{charge:.3f}"
        reason = reason or ("its battery is empty" if charge <= 0.0 else "")
    return reason, figures


# /fleet/markers: all robots and objects as markers for RViz.


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
    numbers = {**STAMP, "position": ("f8", under("pose", POSITION)), "orientation": ("f8", under("pose", ORIENTATION))}
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
        self._publisher = bridge.node.create_publisher(MarkerArray, "fleet/markers", qos.STATE)
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
        shown = quaternions.compose(*world.link_poses(self._rows, self._links), self._offsets, self._turns)
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


# /map: an occupancy grid of static entities, at the height of the lidars.


HEIGHT = 0.2
"""Height of the map in m if there is no lidar."""


def grid_to_msg(grid: OccupancyGrid, frame: str, now: int) -> OccupancyGridMsg:
    """Return a grid as a message."""
    message = OccupancyGridMsg()
    message.header.frame_id = frame
    message.header.stamp = message.info.map_load_time = time_to_msg(now)
    message.info.resolution = grid.resolution
    message.info.height, message.info.width = grid.cells.shape
    message.info.origin.position.x, message.info.origin.position.y = grid.origin
    # As an array: of other sequences rclpy checks every single cell in Python.
    message.data = array("b", grid.cells.tobytes())
    return message


class MapTopic(Interface):
    """Publishes the map when it gets a subscriber, and again when it has changed; latched. Not beside Open-RMF's.

    On map, an OccupancyGrid of what does not move, with cells of `ros.map_resolution` m, cut at `ros.map_height` or at
    the height of the first lidar. Cells get larger, with a warning, where they would be too many.
    """

    rate = "map"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        # There /map is a map of the building; a topic has one type.
        self._is_offered = not speaks_rmf(bridge)
        if self._is_offered:
            self._publisher = bridge.node.create_publisher(OccupancyGridMsg, "map", qos.LATCHED)
        self._shown: tuple[object, ...] = ()
        self._told = False

    def publish(self, now: int) -> None:
        """Publish the map while somebody is subscribed, when what does not move has changed."""
        if not self._is_offered or not self._publisher.get_subscription_count():
            return
        world, params = self.bridge.sim.world, self.bridge.params
        rows = immovable_rows(world)
        height = map_height(self.bridge)
        # As bytes, which are compared in one go.
        poses = world.position[rows].tobytes() + world.orientation[rows].tobytes()
        # Compared instead of the grid itself, which takes long to compute.
        content = (world.object_id[rows].tobytes(), poses, height)
        if content != self._shown:
            self._shown = content
            grid = occupancy_grid(world, resolution=params.map_resolution, z=height, coarsen=True)
            if grid.resolution > params.map_resolution and not self._told:
                self._told = True
                self.bridge.node.get_logger().warning(
                    f"map: cells of {params.map_resolution:g} m would be too many here; they are {grid.resolution:g} m"
                )
            self._publisher.publish(grid_to_msg(grid, self.bridge.frames.map, now))


def map_height(bridge: Bridge) -> float:
    """Return the height in m at which the map is cut."""
    if bridge.params.map_height is not None:
        return float(bridge.params.map_height)
    lidars = [sensor for sensor in bridge.sim.sensors.all if sensor.type == "lidar"]
    # The first lidar: maps for lidars of several heights would be several maps.
    return float(lidars[0].get_pose().position[2]) if lidars else HEIGHT
