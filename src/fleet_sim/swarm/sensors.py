"""Sensors of swarm agents: whether somebody is in a field of view, on the line of sight or near, or where one is."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agent_columns import Crowd
from fleet_sim.swarm.agents import AgentDraws, Group, Sensor
from fleet_sim.swarm.neighbours import LINE, Discs, Sector, Views, counts, in_frame, near_in_crowd, see_discs
from fleet_sim.swarm.parameters import (
    OWNERS,
    Configured,
    PartRegistry,
    built_in_names,
    choice_setting,
    configured,
    seed_setting,
    team_setting,
    unbounded_setting,
)
from fleet_sim.swarm.separation import look
from fleet_sim.swarm.swarm_state import Region
from fleet_sim.world.columns import numbers_of

HISTORY = 1000
"""How many readings `store_history` keeps."""


@configured(kw_only=True)
class _BinarySensor(Configured, Sensor):
    """Reads 1 where `detect` says so and 0 elsewhere, with mistakes.

    Of what is there, a share of `false_negative` is missed; where nothing is, a share of `false_positive` is reported.
    `invert` swaps 0 and 1. It looks at every `time_step_between_sensing`-th step of an agent's life and keeps what it
    read in between. Mistakes are drawn per agent from `seed` (None: the world's).
    """

    follows: ClassVar[tuple[str, ...]] = ("show", "_draws")

    store_history = False
    show = True
    """Whether readings are kept, and whether the sensor is drawn; parameters where a subclass makes them so."""

    false_positive: float = setting(0.0, low=0, high=1, doc="Probability of reading 1 when there is nothing.")
    false_negative: float = setting(0.0, low=0, high=1, doc="Probability of reading 0 when there is something.")
    time_step_between_sensing: int = setting(1, low=1, unit="steps", doc="Time between two updates.")
    invert: bool = setting(False, doc="Swap 0 and 1.")
    seed: int | None = seed_setting("the wrong readings")
    target_team: int | str | None = team_setting("Detect agents of this team only")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        # Another name of `show`, of sensors that have it as a parameter.
        draw: bool | None = getattr(self, "draw", None)
        self.show = self.show if draw is None else draw
        self.history: deque[AnyArray] = deque(maxlen=HISTORY)
        """With `store_history`: the last readings, one array per step, the newest last."""
        self._draws = AgentDraws(self.seed)

    def values_beside(self, name: str) -> dict[str, Any]:
        """Return the parameters as they are now; `draw` says nothing any more where `show` is set."""
        values = super().values_beside(name)
        if name == "show" and "draw" in values:
            values["draw"] = None
        return values

    @abstractmethod
    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) of `group` have something to detect."""

    def added_state(self, group: Group) -> Bools | None:
        """Return which agents (N,) read 2 whatever else there is, or None for no such state."""
        return None

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,): 0, 1, or 2 for an added state."""
        due_mask = self._due(group)
        last = self.column(group, "last", dtype=np.int64)
        # Nobody is due: looking is the expensive part.
        if due_mask is None or due_mask.any():
            fresh = self._observe(group)
            last[:] = fresh if due_mask is None else np.where(due_mask, fresh, last)
        if self.store_history:
            self.history.append(last.copy())
        # `last` is written in place in the next step; readings must not change.
        return last.copy()

    def _due(self, group: Group) -> Bools | None:
        """Return which agents (N,) look in this step; None for all of them."""
        if self.time_step_between_sensing == 1:
            return None
        age = self.column(group, "age", dtype=np.int64)
        age += 1
        return np.asarray(age % self.time_step_between_sensing == 0)

    def _observe(self, group: Group) -> Ints:
        """Return 0 or 1 for each agent, with mistakes and inverted as it is set; 2 for the third state, if any."""
        detected = self.detect(group)
        if self.false_positive or self.false_negative:
            # Counted per agent, so that its mistakes do not depend on how others are stepped.
            looks = self.column(group, "looks", dtype=np.int64)
            luck = self._draws.uniforms(group, self.slot, looks)
            looks += 1
            detected = np.where(detected, luck >= self.false_negative, luck < self.false_positive)
        if self.invert:
            # Mistakes come first, so that inverting a sensor swaps the two kinds of them, too.
            detected = ~detected
        added_mask = self.added_state(group)
        state = detected.astype(np.int64)
        return state if added_mask is None else np.where(added_mask, 2, state)


# A binary field of view: whether another agent is in a sector of a circle.


_ARC = 12

_FIELDS: WeakKeyDictionary[BinaryFOVSensor, tuple[Sector, list[Floats]]] = WeakKeyDictionary()
"""Sectors as kernels take them, with what they were made from; not in the sensors, which are saved."""


def read_walls(value: object) -> Floats | bool | None:
    """Return what was given, two opposite corners as the sides (4, 4) of their rectangle; raises ValueError."""
    # An array of this shape are sides already: settings are read again when an agent is copied.
    if value is None or isinstance(value, bool) or (isinstance(value, np.ndarray) and value.shape == (4, 4)):
        return value
    return _sides(value)


def _sides(corners: object) -> Floats:
    (x1, y1), (x2, y2) = as_floats(corners, (2, 2), "corners").tolist()
    return np.array([(x1, y1, x2, y1), (x2, y1, x2, y2), (x2, y2, x1, y2), (x1, y2, x1, y1)])


@configured
class BinaryFOVSensor(_BinarySensor):
    """Reads 1 while the disc of another agent, or a wall, reaches into a sector ahead; 0 otherwise.

    The sector opens `theta` rad to both sides of the heading turned by `bias`, and is `distance` m deep.
    """

    theta: float = setting(
        10.0, low=0, unit="rad", doc="Half of the opening angle; pi and more, as by default, covers all directions."
    )
    distance: float = unbounded_setting(100.0, "How deep the sector is.", unit="m")
    bias: float = setting(0.0, unit="rad", doc="Angle of the sector's axis to the left of the heading.")
    walls: Floats | bool | None = setting(
        None,
        reader=read_walls,
        schema={"type": ["boolean", "array", "null"]},
        doc="Null: those the world makes detectable; true: all; false: none; two corners: sides of a rectangle.",
    )
    goal_sensing_range: float = unbounded_setting(10.0, "How far goals are seen.", unit="m")
    wall_sensing_range: float = unbounded_setting(10.0, "How far walls are seen, and not beyond `distance`.", unit="m")
    detect_goal_with_added_state: bool = setting(False, doc="Read 2 while a goal in range is in the sector.")
    store_history: bool = setting(False, doc="Keep the last readings in `history`.")
    show: bool = setting(True, doc="Draw the sensor.")
    draw: bool | None = setting(None, doc="Another name of `show`; null: as that says.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._sector: Sector | None = None

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody, or a wall, in their sector."""
        walls, frames = self._detectable_walls(group), self._frames(group)
        views, others = self._views(group, self._sector_now(), frames), others_of(group, self.target_team)
        seen_mask = see_discs(views, others, compiled=group.columns.compiled)
        return seen_mask | self._see_walls(frames, walls) if len(walls) else seen_mask

    def _see_walls(self, frames: tuple[Floats, Floats, Floats], walls: Floats) -> Bools:
        """Return which agents (N,) have one of `walls` (W, 4) in their sector."""
        sector = Sector(self.theta, min(self.wall_sensing_range, self.distance))
        return _walls_seen(sector, *frames, walls)

    def added_state(self, group: Group) -> Bools | None:
        """Return which agents (N,) have a goal in their sector; None unless goals are an added state."""
        if not self.detect_goal_with_added_state:
            return None
        goals = group.world.goals
        x, y, radii = np.array([(*goal.centre, goal.radius) for goal in goals]).reshape(-1, 3).T.copy()
        # Goals are no agents.
        places = Discs(np.full(len(goals), -1), x, y, radii)
        views = self._views(group, Sector(self.theta, self.goal_sensing_range), self._frames(group))
        return see_discs(views, places, compiled=group.columns.compiled)

    def outlines(self, group: Group) -> Floats | None:
        """Return the sectors (N, K, 2) in the world frame; None where they are not to be drawn.

        A sector deeper than the world is drawn as deep as that.
        """
        if not self.show:
            return None
        half = min(self.theta, math.pi)
        angles = group.headings[:, None] + self.bias + np.linspace(-half, half, _ARC)
        # Deeper than the world's diagonal there is nothing, and infinity cannot be drawn.
        depth = min(self.distance, float(trig.hypot(*group.world.size)))
        arcs = group.positions[:, None, :] + depth * np.stack(trig.sin_cos(angles)[::-1], axis=2)
        # A full circle has no corner at the agent.
        if half >= math.pi:
            return np.asarray(arcs)
        return np.concatenate((group.positions[:, None, :], arcs), axis=1)

    def _sector_now(self) -> Sector:
        """Return the sector, whose edges are computed once for all steps."""
        known = self._sector
        # By identity: settings are replaced, not changed in place.
        if known is None or known.half_angle is not self.theta or known.reach is not self.distance:
            known = self._sector = Sector(self.theta, self.distance)
        return known

    def _views(self, group: Group, sector: Sector, frames: tuple[Floats, Floats, Floats]) -> Views:
        """Return the sectors of the agents as kernels take them."""
        known, count = _FIELDS.get(self), len(group.rows)
        if known is None or known[0] is not sector or len(known[1][0]) != count:
            known = sector, repeated(count, sector.half_angle, sector.reach, *sector.edge)
            if sector is self._sector:
                _FIELDS[self] = known
        positions, cosines, sines = frames
        x, y = positions[:, 0].copy(), positions[:, 1].copy()
        half_angles, reaches, edge_sines, edge_cosines = known[1]
        return Views(half_angles, reaches, edge_sines, edge_cosines, sines, cosines, x, y, group.rows)

    def _frames(self, group: Group) -> tuple[Floats, Floats, Floats]:
        """Return positions (N, 2), and cosines and sines (N,) of where the agents look."""
        angles, sines = np.full(len(group.rows), self.bias, np.float64), np.empty(len(group.rows))
        if group.columns.compiled:
            look(group.rows, group.columns.orientation, angles, sines)
        else:
            rows: Any = group.rows.tolist()
            look.in_python(rows, *map(numbers_of, (group.columns.orientation, angles, sines)))
        # The angles have become their cosines.
        return group.positions, angles, sines

    def _detectable_walls(self, group: Group) -> Floats:
        if self.walls is None:
            return group.world.detectable_walls
        if isinstance(self.walls, bool):
            return group.world.walls if self.walls else np.empty((0, 4))
        return self.walls


def repeated(count: int, *values: float | Floats) -> list[Floats]:
    """Return each value, of all or one for each, as an array (`count`,) of its own."""
    return [np.array(np.broadcast_to(value, count), np.float64) for value in values]


def discs_of(crowd: Crowd) -> Discs:
    """Return the discs of agents."""
    positions = crowd.positions
    return Discs(crowd.rows, positions[:, 0].copy(), positions[:, 1].copy(), crowd.radii.copy())


def others_of(group: Group, target: int | str | None) -> Discs:
    """Return the discs of all agents that a group may see: of everybody, or of the team `target`."""
    everyone, team = group.world.everyone, group.world.team_code(target)
    discs = discs_of(everyone)
    if team < 0:
        return discs
    chosen = np.flatnonzero(everyone.teams == team)
    return Discs(discs.rows.take(chosen), discs.x.take(chosen), discs.y.take(chosen), discs.radii.take(chosen))


def _walls_seen(sector: Sector, origins: Floats, cosines: Floats, sines: Floats, walls: Floats) -> Bools:
    seen_mask = np.zeros(len(origins), bool)
    for x1, y1, x2, y2 in walls.tolist():
        begin = np.stack(in_frame(x1 - origins[:, 0], y1 - origins[:, 1], cosines, sines))
        end = np.stack(in_frame(x2 - origins[:, 0], y2 - origins[:, 1], cosines, sines))
        # A distance to a wall outside of the sector is infinite.
        seen_mask |= np.isfinite(sector.segment_distances(begin, end))
    return seen_mask


# A binary line of sight: whether another agent is straight ahead.


@configured
class BinaryLOSSensor(_BinarySensor):
    """Reads 1 while the line ahead meets the disc of another agent; 0 otherwise.

    Agents whose centre is behind are not detected. The last `history_length` readings are in `history`.
    """

    follows = (*_BinarySensor.follows, "history")

    angle: float | None = setting(
        None, unit="rad", doc="Angle of the line to the left of the heading; null: straight ahead."
    )
    draw: bool = setting(True, doc="Draw the sensor.")
    history_length: int = setting(50, low=1, high=10**9, doc="Number of readings to keep.")
    width: int = setting(1, low=1, unit="pixels", doc="Width of the drawn line.")
    distance: float = unbounded_setting(float("inf"), "Range, measured to the centre of the detected agent.", unit="m")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.store_history = True
        self.history = deque(maxlen=self.history_length)

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody on their line."""
        # None for RobotSwarmSimulator's files, where it means straight ahead.
        looks = group.headings + (0.0 if self.angle is None else self.angle)
        sines, cosines = map(np.ascontiguousarray, trig.sin_cos(looks))
        origins = group.positions
        x, y = origins[:, 0].copy(), origins[:, 1].copy()
        half_angles, reaches = repeated(len(x), LINE, self.distance)
        views = Views(half_angles, reaches, half_angles, half_angles, sines, cosines, x, y, group.rows)
        discs = others_of(group, self.target_team)
        return see_discs(views, discs, compiled=group.columns.compiled)

    def outlines(self, group: Group) -> Floats | None:
        """Return the lines (N, 2, 2) in the world frame; None where they are not to be drawn."""
        if not self.show:
            return None
        looks = group.headings + (self.angle or 0.0)
        length = min(self.distance, float(trig.hypot(*group.world.size)))
        ends = group.positions + length * np.stack(trig.sin_cos(looks)[::-1], axis=1)
        return np.stack((group.positions, ends), axis=1)


# Targets, neighbours in range, points ahead, regions, constant values.


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


_CIRCLE = 24


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
        angles = np.linspace(0.0, 2.0 * np.pi, _CIRCLE, endpoint=False)
        ring = self.distance * np.stack(trig.sin_cos(angles)[::-1], axis=1)
        return np.asarray(group.positions[:, None, :] + ring)


# A sensor for one point at a fixed offset from the agent: is it inside another agent?


@configured
class PointCollisionSensor(_BinarySensor):
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
        return see_discs(views, discs, compiled=group.columns.compiled)

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


SENSORS = PartRegistry("sensor", Sensor, built_in_names(globals(), Sensor, suffix="Sensor"), OWNERS)
