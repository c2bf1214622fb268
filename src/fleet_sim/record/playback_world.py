"""PlaybackWorld: a simulation that shows a recording, without running."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.snapshot import EntityBodies, Snapshot
from fleet_sim.core.visible import visible_parts
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.geometry import Pose
from fleet_sim.record.recording import Recording
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial.shapes import ShapeKind


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
