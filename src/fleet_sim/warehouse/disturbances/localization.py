"""Localization: robots that are wrong about where they are, or do not know it.

A robot drives to where it believes its goal is. So while it is wrong by an error, its true pose is off what was
planned by the opposite: laws of motion, actions and the traffic work on planned poses, and for the rest of the step the
columns are moved to the true ones. Errors are bounded by `most`: the true place is never further than that from the
planned one, and what a robot tells never further than that from the true place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.base.params import ActionCause
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.kind import NO_EFFECT, DisturbanceKind, Disturbed, Effect, Event
from fleet_sim.world.clock import normals, uniforms
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.conditions import RobotError
from fleet_sim.world.pipeline import Phase, System, each_step
from fleet_sim.world.ports import PoseQuality
from fleet_sim.world.schema import NO_ROW

NAME = "localization"
BIAS, JUMP, NOISE, TURN, WALK = 10, 11, 12, 13, 14
"""Sequences of random numbers, one for each question."""


class LocalizationColumns(FeatureColumns):
    """How wrong each robot is. Vectors are in the plane of the world."""

    causes: Ints = column(np.int64, writer="localization", doc="how many disturbances make it wrong")
    lost: Ints = column(np.int64, writer="localization", doc="how many of them make it not know where it is")
    noise: Floats = column(float, writer="localization", doc="variance of the noise along an axis, m2")
    heading_noise: Floats = column(float, writer="localization", doc="the same of its heading, rad2")
    per_second: Floats = column(float, writer="localization", doc="variance of the drift along an axis in 1 s, m2")
    per_metre: Floats = column(float, writer="localization", doc="variance of the drift along an axis in 1 m, m2")
    most: Floats = column(float, writer="localization", doc="the largest error, m")
    correction: Floats = column(float, writer="localization", doc="how fast it drives back to its way, m/s")
    fixed: Floats = column(float, (2,), writer="localization", doc="error by biases and jumps, m")
    walk: Floats = column(float, (2,), writer="localization", doc="error by drift, m")
    variance: Floats = column(float, writer="localization", doc="of the drift so far along an axis, m2")
    error: Floats = column(float, (3,), writer="localization", doc="believed less true: x, y, heading, m and rad")
    offset: Floats = column(float, (2,), writer="localization", doc="true less planned, m")
    planned: Floats = column(float, (3,), writer="localization", doc="where it would be without errors, m")
    written: Floats = column(float, (3,), writer="localization", doc="where it was left in the last step, m")


@dataclass
class LocalizationTrouble(DisturbanceKind):
    """Robots are wrong about where they are, or do not know it."""

    follows_area: ClassVar[bool] = True

    noise: float = setting(
        0.0, low=0.0, high=100.0, unit="m", doc="Standard deviation of what they tell, anew in each step, per axis."
    )
    heading_noise: float = setting(0.0, low=0.0, high=3.0, unit="rad", doc="The same of their headings.")
    bias: float = setting(0.0, low=0.0, high=100.0, unit="m", doc="A constant error, in a direction that is drawn.")
    drift: float = setting(0.0, low=0.0, high=100.0, unit="m", doc="Deviation per axis of a random walk in 1 s.")
    drift_per_metre: float = setting(0.0, low=0.0, high=100.0, unit="m", doc="The same in 1 m of way.")
    jump: float = setting(
        0.0, low=0.0, high=100.0, unit="m", doc="A jump when it begins, in a direction that is drawn."
    )
    lost: bool = setting(False, doc="Whether they do not know where they are, and tell so.")
    stops: bool = setting(True, doc="Whether a lost robot stands.")
    most: float = setting(
        0.5, above=0.0, high=100.0, unit="m", doc="The largest error; give sites so much more room around robots."
    )
    correction: float = setting(
        0.2, low=0.0, high=10.0, unit="m/s", doc="How fast a robot that drives goes to where it believes its way is."
    )

    def check(self, sim: MultiRobotSimulationCore) -> None:
        localization_of(sim)

    def effect(self, event: Event) -> Effect:
        if not self.lost:
            return NO_EFFECT
        error = RobotError("localization_lost", "fatal", "it does not know where it is", (("disturbance", event.id),))
        return Effect(
            "it does not know where it is" if self.stops else "",
            ActionCause.LOCALIZATION_LOST,
            faults=("localization_lost",),
            errors=(error,),
        )

    def begin(self, at: Disturbed) -> None:
        localization_of(at.sim).add(at, self, 1)

    def end(self, at: Disturbed) -> None:
        if at.row >= 0:
            localization_of(at.sim).add(at, self, -1)


class Localization:
    """The errors of all robots of one simulation: its `world.pose_errors`. All of its state is in columns."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._world = sim.world
        self._table = sim.world.add_table(NAME, LocalizationColumns)
        self._apart = False
        """Whether the columns have planned poses at present."""
        self._rows = NO_ROWS

    def add(self, at: Disturbed, trouble: LocalizationTrouble, sign: int) -> None:
        """Begin (1) or end (-1) what a disturbance does to a robot."""
        table, row = self._table, at.row
        if not table.present[row]:
            table.present[row] = True
            table.planned[row] = table.written[row] = self._world.position[row]
        if not table.causes[row]:
            # Of those before it keeps where it is.
            table.most[row] = table.correction[row] = 0.0
        table.causes[row] += sign
        table.lost[row] += sign * trouble.lost
        table.per_second[row] += sign * trouble.drift**2
        table.per_metre[row] += sign * trouble.drift_per_metre**2
        table.noise[row] += sign * trouble.noise**2
        table.heading_noise[row] += sign * trouble.heading_noise**2
        table.most[row] = max(table.most[row], trouble.most)
        table.correction[row] = max(table.correction[row], trouble.correction)
        for size, lane in ((trouble.bias, BIAS), (trouble.jump, JUMP)):
            turn = 2.0 * np.pi * float(uniforms(at.key, np.array([at.event.robot]), at.event.count, lane)[0])
            sine, cosine = trig.sin_cos_of(turn)
            table.fixed[row] += sign * size * np.array([cosine, sine])
        if not table.causes[row]:
            # It knows where it is again, to the last bit; it is still beside its way.
            for name in ("noise", "heading_noise", "per_second", "per_metre", "fixed", "walk", "variance"):
                getattr(table, name)[row] = 0.0

    # ---- what robots tell --------------------------------------------------------------------------------------------

    def believed(self, rows: Rows, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Return the poses that `rows` believe to have, given those of the columns."""
        error = self._table.error[rows]
        positions = positions.copy()
        positions[:, :2] += error[:, :2] + (self._table.offset[rows] if self._apart else 0.0)
        if error[:, 2].any():
            turned = quaternions.multiply(quaternions.from_yaws(error[:, 2]), orientations)
            orientations = np.where((error[:, 2] != 0.0)[:, None], turned, orientations)
        return positions, orientations

    def quality(self, row: int) -> PoseQuality:
        """Return what a robot knows of its own error: twice the deviation, which noise and drift make, of `most`."""
        table = self._table
        if table.lost[row]:
            return PoseQuality(False, 0.0, float(table.most[row]))
        deviation = 2.0 * float(np.sqrt(table.noise[row] + table.variance[row]))
        most = float(table.most[row])
        return PoseQuality(True, 1.0 - min(deviation / most, 1.0) if most else 1.0, min(deviation, most))

    # ---- in the step -------------------------------------------------------------------------------------------------

    def _wrong(self) -> Rows:
        """Return the robots that are wrong, or beside their ways; an engine and a carrier move bodies by themselves."""
        table, world = self._table, self._world
        rows = table.among(world.rows)
        wrong_mask = (table.causes[rows] > 0) | table.offset[rows].any(axis=1) | table.error[rows].any(axis=1)
        return rows[wrong_mask]

    def plan(self) -> None:
        """Before robots are driven: put planned poses into the columns."""
        world, table = self._world, self._table
        self._rows = rows = self._wrong()
        if not len(rows):
            return
        self._apart = True
        position = world.position[rows]
        moved_mask = (position != table.written[rows]).any(axis=1)
        # Whoever was put elsewhere is as far beside its way as before.
        planned = position[moved_mask]
        planned[:, :2] -= table.offset[rows[moved_mask]]
        table.planned[rows[moved_mask]] = planned
        world.position[rows] = table.planned[rows]

    def move(self, dt: float) -> None:
        """After robots have moved: draw their errors, and put true poses into the columns."""
        world, table, rows = self._world, self._table, self._rows
        if not len(rows):
            return
        self._apart = False
        rows = rows[world.alive[rows]]
        position = world.position[rows]
        way = position[:, :2] - table.planned[rows, :2]
        length = np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1])
        slow = self._draw(rows, length, dt)
        # Only one that drives comes nearer to where it believes its way is.
        drives_mask = (length > 0.0) & ~world.dynamic[rows] & (world.parent[rows] == NO_ROW)
        missing = -slow - table.offset[rows]
        left = np.sqrt(missing[:, 0] * missing[:, 0] + missing[:, 1] * missing[:, 1])
        reach = table.correction[rows] * dt * drives_mask
        share = np.divide(reach, left, out=np.ones_like(left), where=left > reach)
        table.offset[rows] += np.where((left > 0.0)[:, None], missing * share[:, None], 0.0)
        table.planned[rows] = position
        position[:, :2] += table.offset[rows]
        world.position[rows] = position
        changed_mask = (position != table.written[rows]).any(axis=1)
        table.written[rows] = position
        world.touch(rows[changed_mask])

    def _draw(self, rows: Rows, length: Floats, dt: float) -> Floats:
        """Draw the errors of this step, of robots that drove so far; return those without noise (N, 2)."""
        world, table = self._world, self._table
        ids: Ints = world.object_id[rows]
        key, tick = world.random.key(NAME), world.clock.tick
        # What was added and taken away again may be off by rounding.
        variance = np.maximum(table.per_second[rows] * dt + table.per_metre[rows] * length, 0.0)
        if variance.any():
            table.walk[rows] += np.sqrt(variance)[:, None] * _pairs(key, ids, tick, WALK)
            table.variance[rows] += variance
        most = table.most[rows]
        # The walk alone, so that it comes back from the bound as soon as it turns.
        table.walk[rows] = _within(table.walk[rows], most)
        slow = _within(table.fixed[rows] + table.walk[rows], most)
        noise = np.sqrt(np.maximum(table.noise[rows], 0.0))
        fast = noise[:, None] * _pairs(key, ids, tick, NOISE) if noise.any() else 0.0
        table.error[rows, :2] = _within(slow + fast, most)
        table.error[rows, 2] = np.sqrt(np.maximum(table.heading_noise[rows], 0.0)) * normals(key, ids, tick, TURN)
        return slow


def _pairs(key: int, ids: Ints, tick: int, lane: int) -> Floats:
    """Return two standard normal numbers for each of `ids`, (N, 2)."""
    return np.stack((normals(key, ids, 2 * tick, lane), normals(key, ids, 2 * tick + 1, lane)), axis=1)


def _within(vectors: Floats, most: Floats) -> Floats:
    """Return vectors (N, 2), those that are longer than `most` (N,) cut to it."""
    length = np.sqrt(vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1])
    shares = np.divide(most, length, out=np.ones_like(length), where=length > most)
    return vectors * shares[:, None]


def localization_of(sim: MultiRobotSimulationCore) -> Localization:
    """Return the errors of the robots of a simulation; they are made at the first call."""
    world = sim.world
    if world.pose_errors is None:
        world.pose_errors = errors = Localization(sim)
        # Actions, orders and the traffic see what was planned; events and sensors what is true.
        sim.pipeline.add(System("poses_planned", Phase.UPDATE, each_step(errors.plan)), after="pre_update")
        sim.pipeline.add(System("poses_true", Phase.UPDATE, errors.move), after="motion")
    return cast(Localization, world.pose_errors)
