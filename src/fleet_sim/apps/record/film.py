"""Films of runs and of recordings: what is seen at each moment, by which camera, written as an MP4 or a GIF.

Moments come from a simulation that runs, or from a recording. A camera is a function of the simulation and of the time
of the film.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.apps.record.recording import Recording
from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.window import CameraView
from fleet_sim.facade.view import scene_bounds
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.sensing.sensors.render.scene import FlatMarks, joined, squares, strips
from fleet_sim.sensing.sensors.render.shot import FilmFile
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.drawing import (
    DOOR_COLOR,
    PATH_ON_FILM,
    STATION_COLORS,
    FloorPlan,
    floor_plans_of,
    station_half,
    zone_color,
)
from fleet_sim.world.shapes import Geometry, visible_parts
from fleet_sim.world.snapshot import EntityBodies, PathsAhead, Snapshot, paths_ahead, recorded_paths_ahead

# What films show on the floor: stations, zones and doors of a site, and paths ahead.


ZONE_HEIGHT, STATION_HEIGHT, PATH_LIFT, THICKNESS = 0.008, 0.016, 0.03, 0.008
"""In m above the floor, one above the other, so that neither flickers through the other."""
ZONE_EDGE, DOOR_WIDTH = 0.08, 0.1
NARROWEST_PATH, PATH_SHARE = 0.05, 0.003
"""The width of paths: in m, and of the distance from the camera, so that they are seen from afar."""


def marks_of_plans(plans: Sequence[FloorPlan]) -> FlatMarks:
    """Return what is on the floors of all storeys."""
    return joined([mark for plan in plans for mark in _marks_of(plan)])


def marks_of_paths(paths: PathsAhead, distance: float) -> FlatMarks:
    """Return the paths ahead, as strips that are seen from a camera at `distance` m."""
    lines = paths.lines + np.array((0.0, 0.0, PATH_LIFT))
    return strips(lines, max(NARROWEST_PATH, PATH_SHARE * distance), THICKNESS, PATH_ON_FILM)


def _marks_of(plan: FloorPlan) -> list[FlatMarks]:
    """Return the zones, stations and doors of a floor as flat marks just above it."""
    marks = []
    for zone in plan.zones:
        corners = _at_height(zone.corners, plan.height + ZONE_HEIGHT)
        edges = np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)
        marks.append(strips(edges, ZONE_EDGE, THICKNESS, zone_color(zone.kind)))
    for kind, color in STATION_COLORS.items():
        stations = [station for station in plan.stations if station.kind is kind]
        places = np.array([(station.x, station.y) for station in stations]).reshape(-1, 2)
        yaws = np.array([station.yaw for station in stations])
        places = _at_height(places, plan.height + STATION_HEIGHT)
        marks.append(squares(places, yaws, station_half(plan.cell), THICKNESS, color))
    ends = np.array([(door.begin, door.end) for door in plan.doors]).reshape(-1, 2)
    doors = _at_height(ends, plan.height + ZONE_HEIGHT).reshape(-1, 2, 3)
    return [*marks, strips(doors, DOOR_WIDTH, THICKNESS, DOOR_COLOR)]


def _at_height(places: Floats, height: float) -> Floats:
    return np.column_stack((places, np.full(len(places), height)))


# PlaybackWorld: a simulation that shows a recording, without running.


class PlaybackWorld:
    """Shows `recording` at any time in the columns of a simulation that is never stepped. To be closed.

    Another simulation takes its place when entities were spawned or removed.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._sim: MultiRobotSimulationCore | None = None
        self._bodies: EntityBodies | None = None

    def show(self, time: float) -> MultiRobotSimulationCore:
        """Return the simulation with everything as it was at `time` in s; between samples on a straight line."""
        before, share = self._around(time)
        snapshot = self._recording.snapshot_at(before[0])
        after = self._recording.snapshot_at(before[1]) if share else snapshot
        # Of entities that were spawned or removed since, another simulation has to be made.
        if self._sim is None or snapshot.bodies is not self._bodies:
            self._build(snapshot)
        assert self._sim is not None
        # Entities have come or gone in between: nothing to go to on a straight line.
        if after.names != snapshot.names:
            after, share = snapshot, 0.0
        world = self._sim.world
        rows = np.array([world.index.row_named(name) for name in snapshot.names], np.int64)
        positions = _between(snapshot.positions, after.positions, share)
        orientations = _between(snapshot.orientations, _near(after.orientations, snapshot.orientations), share)
        # A mean of two unit quaternions is shorter than one.
        orientations /= np.linalg.norm(orientations, axis=1, keepdims=True)
        world.place(rows, positions, orientations)
        slots = world.joints.slots(world.robots, rows)
        counts = np.diff(snapshot.joint_starts)
        # Those shown as boxes have none.
        own = np.repeat(world.robots.joint_count[rows] == counts, counts)
        world.joints.position[slots] = _between(snapshot.joint_positions, after.joint_positions, share)[own]
        world.touch_joints(rows)
        self._paint(snapshot, rows)
        return self._sim

    def close(self) -> None:
        """Free the resources."""
        if self._sim is not None:
            self._sim.close()
            self._sim = None

    def __enter__(self) -> PlaybackWorld:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _around(self, time: float) -> tuple[tuple[float, float], float]:
        """Return the times of the samples before and after `time`, and how far it is from the one to the other."""
        times = self._recording.times
        index = max(int(np.searchsorted(times, time, side="right")) - 1, 0)
        following = min(index + 1, len(times) - 1)
        begin, end = float(times[index]), float(times[following])
        # Before the first sample and after the last one nothing moves.
        share = min(max((time - begin) / (end - begin), 0.0), 1.0) if end > begin else 0.0
        return (begin, end), share

    def _build(self, snapshot: Snapshot) -> None:
        """Make a simulation with the bodies of a snapshot, which nothing but the recording moves."""
        self.close()
        self._bodies = snapshot.bodies
        self._sim = sim = MultiRobotSimulationCore(SimulationParams(gui=False, target_rtf=0))
        for index, name in enumerate(snapshot.names):
            shape, model = snapshot.bodies.shapes[index], snapshot.bodies.models[index]
            if model is not None and shape is not None and shape.model_path:
                sim.spawn(
                    AgentSpawnParams(
                        name=name, urdf_path=model.path, use_fixed_base=True, global_scaling=shape.scale, mass=0.0
                    )
                )
                continue
            half, centre = snapshot.bodies.half_extents[index].tolist(), snapshot.bodies.centres[index].tolist()
            # What is not known any more is shown as the box around it.
            parts = [params_of(part.geometry) for part in visible_parts(model, shape, tuple(half), tuple(centre))]
            # What it takes up, for cameras that frame it.
            body = box_around(snapshot.bodies.half_extents[index], snapshot.bodies.centres[index])
            sim.spawn(SimObjectSpawnParams(name=name, visual_shape=parts or None, collision_shape=body))
        self._painted = np.full((len(snapshot.names), 4), -1.0)

    def _paint(self, snapshot: Snapshot, rows: Rows) -> None:
        assert self._sim is not None
        # Only those whose color has changed.
        for index in np.flatnonzero((snapshot.colors != self._painted).any(axis=1)).tolist():
            red, green, blue, alpha = snapshot.colors[index].tolist()
            # Below 0: it has no color of its own.
            rgba = None if red < 0.0 else (red, green, blue, alpha)
            self._sim.world.look.paint(int(rows[index]), rgba, None)
        self._painted = snapshot.colors


def box_around(half_extents: Floats, centre: Floats) -> ShapeParams | None:
    """Return the settings of a box; None where it is of no size, or, as a plane, has no end."""
    if not (np.isfinite(half_extents).all() and (half_extents > 0.0).all()):
        return None
    (x, y, z), (a, b, c) = centre.tolist(), half_extents.tolist()
    return ShapeParams("box", half_extents=(a, b, c), frame_pose=Pose((x, y, z)))


def params_of(geometry: Geometry) -> ShapeParams:
    """Return the settings of a shape that looks as `geometry` does."""
    x, y, z = geometry.position
    kind = ShapeKind(geometry.kind)
    return ShapeParams(
        shape_type=kind.name.lower(),  # type: ignore[arg-type]  # named alike
        mesh_path=geometry.mesh_path or None,
        mesh_scale=geometry.mesh_scale,
        half_extents=geometry.half_extents,
        radius=geometry.radius,
        height=geometry.height,
        rgba_color=geometry.rgba,
        frame_pose=Pose((x, y, z), geometry.orientation),
        concave=geometry.concave and kind is ShapeKind.MESH,
    )


def _between(one: Floats, other: Floats, share: float) -> Floats:
    return one + share * (other - one)


def _near(turns: Floats, others: Floats) -> Floats:
    """Return `turns` (N, 4) with the signs that are nearer to `others`: both are the same rotation."""
    return np.where((turns * others).sum(axis=1, keepdims=True) < 0.0, -turns, turns)


# Cameras, and the film that they make.


SMOOTH = 2
"""Pictures are drawn larger by this factor and averaged."""
ORBIT = 12.0
"""Of an orbiting camera, in degrees per second of the film."""
FOLLOW_PITCH, FOLLOW_DISTANCE = -28.0, 9.0
"""Of a camera that follows a robot: degrees, and times the robot's size."""
LEAST_DISTANCE = 3.0
"""In m."""
ROOM = 0.25
"""Of what a camera frames: how much more it frames, where somebody left that."""
MOST_PICTURES = 1_000_000
"""Of a film: nine hours."""


class Moment(NamedTuple):
    """A simulation that shows a moment, what is on its floors, and the paths ahead, where they are to be seen."""

    sim: MultiRobotSimulationCore
    floor: FlatMarks
    paths: PathsAhead = PathsAhead()


Aim = Callable[[MultiRobotSimulationCore, float], CameraView]
"""Returns the view of a simulation at a time of the film in s."""


def moments_of_run(sim: MultiRobotSimulationCore, times: list[float], *, paths: bool = False) -> Iterator[Moment]:
    """Run `sim` from time to time; `paths` says whether paths ahead are shown."""
    floor = marks_of_plans(floor_plans_of(sim))
    for time in times:
        # By ticks: sums of time steps are off by rounding.
        while sim.clock.tick < sim.clock.ticks(time):
            sim.step_once()
        yield Moment(sim, floor, paths_ahead(sim.world) if paths else PathsAhead())


def moments_of_recording(recording: Recording, times: list[float], *, paths: bool = False) -> Iterator[Moment]:
    """Show what was recorded; between two samples everything goes on a straight line."""
    floor = marks_of_plans(recording.floor_plans)
    with PlaybackWorld(recording) as stage:
        for time in times:
            sim = stage.show(time)
            yield Moment(sim, floor, recorded_paths_ahead(recording.snapshot_at(time)) if paths else PathsAhead())


def times_of(start: float, seconds: float, speed: float, fps: float) -> list[float]:
    """Return the simulated times in s of the pictures of a film, `seconds` of simulated time long.

    Raises InvalidValueError for a film of more than MOST_PICTURES.
    """
    pictures = seconds / speed * fps
    if pictures > MOST_PICTURES:
        raise InvalidValueError(f"the film would have {pictures:.3g} pictures, of {MOST_PICTURES:,} at most")
    # A picture at the beginning, also of a film of no length.
    count = max(int(pictures + 1e-9), 1)
    return [start + number * speed / fps for number in range(count)]


def aim_of(camera: str, width: int, height: int, places: Floats | None = None) -> Aim:
    """Return the camera called `camera`: auto, top, side, orbit or follow:<robot>; raises InvalidValueError.

    Those that stand still frame `places` (K, 3), besides all bodies.
    """
    if camera == "auto":
        return _standing(width, height, places)
    if camera in ("top", "side"):
        return _standing(width, height, places, "top_down" if camera == "top" else "perspective")
    if camera == "orbit":
        still = _standing(width, height, places, "perspective", all_around=True)
        return lambda sim, now: _turned(still(sim, now), ORBIT * now)
    kind, colon, name = camera.partition(":")
    if kind == "follow" and colon and name:
        return lambda sim, now: _following(sim, name)
    raise InvalidValueError(f"camera: expected auto, top, side, orbit or follow:<robot>, got {camera!r}")


def _standing(width: int, height: int, places: Floats | None, view_type: str = "", *, all_around: bool = False) -> Aim:
    """Return a camera that frames what is there, and stays, as a moving frame makes seasick, until somebody leaves it.

    It frames `places` (K, 3) too, and with `all_around` also when it is turned. Without a `view_type` it is that of the
    scenario.
    """
    given = {"camera_mode": "auto", "camera_view_type": view_type} if view_type else None
    view: CameraView | None = None
    lower = upper = np.zeros(3)

    def aim(sim: MultiRobotSimulationCore, now: float) -> CameraView:
        nonlocal view, lower, upper
        here = scene_bounds(sim.world)
        # What falls is not followed.
        out = ((here[0] < lower)[:2], (here[1] > upper)[:2])
        if view is not None and not np.any(out):
            return view
        corners = places
        if view is None:
            lower, upper = here
        else:
            # With room, so that it is not soon moved again.
            room = ROOM * (upper - lower)[:2]
            lower[:2] = np.where(out[0], here[0][:2] - room, lower[:2])
            upper[:2] = np.where(out[1], here[1][:2] + room, upper[:2])
            corners = np.array(list(product(*zip(lower, upper, strict=True))))
            corners = corners if places is None else np.concatenate((corners, places))
        view = sim.view.framed(width, height, given, corners, all_around=all_around)
        return view

    return aim


def _turned(view: CameraView, degrees: float) -> CameraView:
    return replace(view, yaw=(view.yaw + degrees) % 360.0)


def _following(sim: MultiRobotSimulationCore, name: str) -> CameraView:
    entity = sim.get_object(name)
    lower, upper = sim.get_aabbs()[entity.object_id]
    # So far away that a robot of any size fills as much of the picture.
    distance = max(FOLLOW_DISTANCE * math.dist(lower, upper), LEAST_DISTANCE)
    x, y, z = (0.5 * (low + high) for low, high in zip(lower, upper, strict=True))
    return CameraView(distance, 30.0, FOLLOW_PITCH, (float(x), float(y), float(z)))


def film(
    moments: Iterator[Moment],
    count: int,
    path: str | Path,
    camera: str | Aim,
    size: tuple[int, int],
    fps: float,
    progress: Callable[[int, int], object] = lambda done, count: None,
) -> None:
    """Write a film of `count` moments, seen by a camera that `aim_of` knows or by one's own.

    `progress(done, count)` is called after each picture. Raises InvalidValueError for a camera, a size or a file that
    cannot be; UnknownNameError for a robot that is not.
    """
    width, height = size
    # Before the file is begun, as there may be no such camera.
    aim = aim_of(camera, width, height) if isinstance(camera, str) else camera
    with FilmFile(path, width, height, fps) as file:
        painter, shown = None, None
        try:
            for number, (sim, floor, paths) in enumerate(moments):
                # Another simulation shows it once something was spawned in a recording.
                if painter is None or shown is not sim:
                    if painter is not None:
                        painter.close()
                    painter, shown = sim.view.painter(width, height, SMOOTH), sim
                if number == 0 and isinstance(camera, str):
                    aim = aim_of(camera, width, height, floor.positions)
                view = aim(sim, number / fps)
                file.add(painter.draw(view, joined([floor, marks_of_paths(paths, view.distance)])))
                progress(number + 1, count)
        finally:
            if painter is not None:
                painter.close()
