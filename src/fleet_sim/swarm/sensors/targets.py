"""Sensors of positions: a chosen agent, agents in range, a point, a region, and a reading that never changes."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agents import AgentDraws, Group, Sensor
from fleet_sim.swarm.neighbours import NOTHING, Views, counts, near_in_crowd, see_discs
from fleet_sim.swarm.parameters import (
    Configured,
    choice_setting,
    configured,
    seed_setting,
    team_setting,
    unbounded_setting,
)
from fleet_sim.swarm.sensors.binary import BinarySensor, others_of, repeated
from fleet_sim.swarm.swarm_state import Region

MODES = ("closest", "furthest")
HOLDS = ("alwaysretarget", "retargetonloss", "holdlost", "holdfirst")
ATTRIBUTES = ("position", "velocity", "angle", "distance", "id")
_NOBODY = -1


@configured
class Targeter(Configured, Sensor):
    """Reads something about one other agent or object: where it is, unless `attribute` says otherwise.

    Where there is no target the reading is NaN (-1 for an id).
    """

    follows = ("_draws",)

    distance: float = unbounded_setting(float("inf"), "How far it sees.", unit="m")
    false_negative: float = setting(0.0, low=0, high=1, doc="Probability that the target is missed.")
    time_step_between_sensing: int = setting(1, low=1, unit="steps", doc="Time between two updates.")
    target_mode: str | None = choice_setting(
        None, (*MODES, None), "Which target; null: the first in the world's order."
    )
    hold: str = choice_setting(
        "retargetonloss",
        HOLDS,
        "alwaysretarget chooses anew each time; retargetonloss keeps the target while it is within the distance;"
        " holdlost does so and goes on reading a lost target until there is another; holdfirst keeps its first target"
        " for ever.",
    )
    attribute: str = choice_setting("position", ATTRIBUTES, "What is read; position and velocity are two numbers.")
    seed: int | None = seed_setting("the misses")
    target_team: int | str | None = team_setting("Look for this team only")
    target_name: str | None = setting(None, doc="Detect this one only; null: all.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._draws = AgentDraws(self.seed)

    def blank(self, count: int) -> AnyArray:
        """Return the readings of agents that have not looked yet: no target."""
        if self.attribute == "id":
            return np.full(count, _NOBODY, np.int64)
        # NaN as position: a controller that steers to it knows that there is nothing.
        return np.full((count, 2) if self.attribute in ("position", "velocity") else count, np.nan)

    def sense(self, group: Group) -> AnyArray:
        """Return the readings (N, 2) or (N,)."""
        target = self.column(group, "target", dtype=np.int64, default=_NOBODY)
        shown = self.column(group, "shown", dtype=np.int64, default=_NOBODY)
        age = self.column(group, "age", dtype=np.int64)
        age += 1
        due_mask = age % self.time_step_between_sensing == 0
        if due_mask.any():
            chosen, seen = self._look(group, target, shown)
            target[due_mask] = chosen[due_mask]
            shown[due_mask] = seen[due_mask]
        return self._readings(group, shown)

    def _look(self, group: Group, target: Ints, shown: Ints) -> tuple[Ints, Ints]:
        """Return the ids (N,) of the targets, and of what is shown: the target unless it is missed."""
        rows = self._candidates(group)
        columns = group.columns
        ids = columns.object_id[rows]
        x = columns.position[rows, 0][None, :] - group.positions[:, 0, None]
        y = columns.position[rows, 1][None, :] - group.positions[:, 1, None]
        squares = x * x + y * y
        # Squares are compared: the root is not needed to find the nearest.
        allowed = (squares <= self.distance * self.distance) & (rows[None, :] != group.rows[:, None])
        best = self._best(ids, squares, allowed)
        if self.hold == "holdfirst":
            # A target that was removed can be held no longer; the best one takes its place.
            alive_mask = np.isin(target, columns.object_id[columns.rows])
            chosen = np.where(alive_mask, target, best)
            return chosen, chosen
        # Targets are remembered by id: rows change hands.
        kept_mask = ((ids[None, :] == target[:, None]) & allowed).any(axis=1)
        chosen = best if self.hold == "alwaysretarget" else np.where(kept_mask, target, best)
        looks = self.column(group, "looks", dtype=np.int64)
        missed_mask = self._draws.uniforms(group, self.slot, looks) < self.false_negative
        looks += 1
        seen = np.where(missed_mask, _NOBODY, chosen)
        if self.hold == "holdlost":
            # While nobody is seen, what was shown last goes on being shown.
            seen = np.where(seen == _NOBODY, shown, seen)
        return chosen, seen

    def _candidates(self, group: Group) -> Rows:
        """Return the rows (M,) of what may be a target: agents, then objects, in the world's order."""
        world, columns = group.world, group.columns
        rows = np.concatenate((world.everyone.rows, world.things.rows))
        if self.target_name is not None:
            # A name nobody has yet is no mistake: its agent may be spawned later.
            named = columns.index.row_named(self.target_name) if columns.index.has_name(self.target_name) else _NOBODY
            rows = rows[rows == named]
        if self.target_team is not None:
            rows = rows[world.swarm.team[rows] == world.team_code(self.target_team)]
        return rows

    def _best(self, ids: Ints, squares: Floats, allowed: Bools) -> Ints:
        """Return the id (N,) of the best allowed candidate for each agent."""
        if not len(ids):
            return np.full(len(squares), _NOBODY)
        if self.target_mode == "furthest":
            index = np.where(allowed, squares, -1.0).argmax(axis=1)
        elif self.target_mode == "closest":
            index = np.where(allowed, squares, np.inf).argmin(axis=1)
        else:
            # The first True; where there is none this is 0, which the mask below takes out.
            index = allowed.argmax(axis=1)
        return np.where(allowed.any(axis=1), ids[index], _NOBODY)

    def _readings(self, group: Group, shown: Ints) -> AnyArray:
        """Return the attribute of the agents with ids `shown` (N,); NaN for those that are gone."""
        if self.attribute == "id":
            return shown.copy()
        columns = group.columns
        living = columns.rows  # in order of their ids
        ids = columns.object_id[living]
        # Ids of the dead, and -1, find a wrong neighbour; the next line tells.
        index = np.minimum(np.searchsorted(ids, shown), max(len(ids) - 1, 0))
        found_mask = ids[index] == shown
        rows = living[index]
        values: AnyArray
        if self.attribute == "position":
            values = columns.position[rows, :2].copy()
        elif self.attribute == "velocity":
            values = columns.velocity[rows, :2].copy()
        elif self.attribute == "angle":
            values = quaternions.yaws(columns.orientation[rows]).copy()
        else:
            way = columns.position[rows, :2] - group.positions
            values = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
        values[~found_mask] = np.nan
        return values


# A sensor that counts the agents within a range.


_ARC = 24


@configured
class NeighboursInRangeSensor(Configured, Sensor):
    """Reads how many other agents have their middle within `distance` m."""

    distance: float = unbounded_setting(1.0, "How far it sees.", unit="m")
    target_team: int | str | None = team_setting("Count agents of this team only")
    show: bool = setting(False, doc="Draw the range.")

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        agent, _ = near_in_crowd(group, self.distance, group.world.team_code(self.target_team))
        return counts(agent, len(group))

    def outlines(self, group: Group) -> Floats | None:
        """Return the ranges (N, K, 2); None where they are not to be drawn."""
        if not self.show or not np.isfinite(self.distance):
            return None
        angles = np.linspace(0.0, 2.0 * np.pi, _ARC, endpoint=False)
        ring = self.distance * np.stack(trig.sin_cos(angles)[::-1], axis=1)
        return np.asarray(group.positions[:, None, :] + ring)


# A sensor for one point at a fixed offset from the agent: is it inside another agent?


@configured
class PointCollisionSensor(BinarySensor):
    """Reads 1 while the point `distance` m away, `bias` rad to the left of the heading, is in another agent's disc."""

    distance: float = setting(100.0, low=0, unit="m", doc="Distance of the point from the agent's centre.")
    bias: float = setting(0.0, unit="rad", doc="Angle of the point to the left of the heading.")
    store_history: bool = setting(False, doc="Keep the last readings in `history`.")
    show: bool = setting(True, doc="Draw the sensor.")
    draw: bool | None = setting(None, doc="Another name of `show`; null: as that says.")

    def points(self, group: Group) -> Floats:
        """Return the points (N, 2) in the world frame."""
        looks = group.headings + self.bias
        return np.asarray(group.positions + np.multiply(self.distance, trig.sin_cos(looks)[::-1]).T)

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have their point inside another agent."""
        points = self.points(group)
        around, none, ahead = repeated(len(points), math.pi, 0.0, 1.0)
        # From the point, all around and no further: whose disc begins there has the point inside.
        views = Views(around, none, none, none, none, ahead, points[:, 0].copy(), points[:, 1].copy(), group.rows)
        discs = others_of(group, self.target_team)
        return see_discs(views, discs, NOTHING, compiled=group.columns.compiled)

    def outlines(self, group: Group) -> Floats | None:
        """Return lines (N, 2, 2) to the points; None where they are not to be drawn."""
        return np.stack((group.positions, self.points(group)), axis=1) if self.show else None


# A sensor for being inside a region.


_WHAT = "RegionalSensor"


@configured
class RegionalSensor(Configured, Sensor):
    """Reads 1 while the agent's middle is inside an object of the world, such as a DetectionRegion; 0 otherwise."""

    follows = ("show", "history")

    world_object_index: int = setting(low=0, doc="Index of the world's object, from 0.")
    draw: bool = setting(True, doc="Draw the sensor.")
    history_length: int = setting(50, low=1, high=10**9, doc="Number of readings to keep in `history`.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.show = self.draw
        self.history: deque[AnyArray] = deque(maxlen=self.history_length)

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,); raises InvalidValueError where the world has no such object."""
        readings = self.inside(group).astype(np.int64)
        self.history.append(readings)
        return readings

    def inside(self, group: Group) -> Bools:
        """Return which agents (N,) are inside."""
        objects = group.world.objects
        if self.world_object_index >= len(objects):
            raise InvalidValueError(
                f"{_WHAT}: world_object_index {self.world_object_index} does not exist; the world has {len(objects)}"
                " objects, which count from 0"
            )
        # Looked at anew in each step: objects may move, and the list may change.
        thing = objects[self.world_object_index]
        outline = thing.outline
        region = Region(center=thing.position, radius=thing.radius) if outline is None else Region(outline)
        return region.contains(group.positions)


# A reading that never changes.


@configured
class StaticSensor(Configured, Sensor):
    """Reads `state` for ever: a placeholder for a sensor, or a switch that a configuration sets."""

    state: int = setting(0, low=0, doc="The reading.")

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        return np.full(len(group), self.state, np.int64)
