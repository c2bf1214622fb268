"""Binary sensors: whether another agent is in a field of view or on the line of sight."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, as_floats
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agents import AgentDraws, Group, Sensor
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.neighbours import (
    LINE,
    NO_DISCS,
    NOTHING,
    Discs,
    Hiding,
    Sector,
    Views,
    in_frame,
    ray_segment_distances,
    see_discs,
)
from fleet_sim.swarm.parameters import Configured, configured, seed_setting, team_setting, unbounded_setting
from fleet_sim.swarm.separation import look
from fleet_sim.world.columns import numbers_of

HISTORY = 1000
"""How many readings `store_history` keeps."""


@configured(kw_only=True)
class BinarySensor(Configured, Sensor):
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
class BinaryFOVSensor(BinarySensor):
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
    occlusion: bool = setting(False, doc="Walls, and with a `target_team` other agents, hide what is behind them.")
    draw: bool | None = setting(None, doc="Another name of `show`; null: as that says.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._sector: Sector | None = None

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody, or a wall, in their sector."""
        walls, world = self._detectable_walls(group), group.world
        frames, others = self._frames(group), others_of(group, self.target_team)
        hiding = NOTHING
        if self.occlusion:
            of_a_team = world.team_code(self.target_team) >= 0
            hiding = Hiding(world.walls, discs_of(world.everyone) if of_a_team else NO_DISCS)
        views = self._views(group, self._sector_now(), frames)
        seen_mask = see_discs(views, others, hiding, compiled=group.columns.compiled)
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
        return see_discs(views, places, NOTHING, compiled=group.columns.compiled)

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
class BinaryLOSSensor(BinarySensor):
    """Reads 1 while the line ahead meets the disc of another agent; 0 otherwise.

    Agents whose centre is behind are not detected. The last `history_length` readings are in `history`.
    """

    follows = (*BinarySensor.follows, "history")

    angle: float | None = setting(
        None, unit="rad", doc="Angle of the line to the left of the heading; null: straight ahead."
    )
    draw: bool = setting(True, doc="Draw the sensor.")
    history_length: int = setting(50, low=1, high=10**9, doc="Number of readings to keep.")
    width: int = setting(1, low=1, unit="pixels", doc="Width of the drawn line.")
    distance: float = unbounded_setting(float("inf"), "Range, measured to the centre of the detected agent.", unit="m")
    occlusion: bool = setting(False, doc="Walls end the line.")

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
        if self.occlusion:
            # A disc whose middle is behind a wall is hidden, even where its rim stands out.
            reaches = np.minimum(reaches, self._wall_distances(group, origins, cosines, sines))
        views = Views(half_angles, reaches, half_angles, half_angles, sines, cosines, x, y, group.rows)
        discs = others_of(group, self.target_team)
        return see_discs(views, discs, NOTHING, compiled=group.columns.compiled)

    def outlines(self, group: Group) -> Floats | None:
        """Return the lines (N, 2, 2) in the world frame; None where they are not to be drawn."""
        if not self.show:
            return None
        looks = group.headings + (self.angle or 0.0)
        length = min(self.distance, float(trig.hypot(*group.world.size)))
        ends = group.positions + length * np.stack(trig.sin_cos(looks)[::-1], axis=1)
        return np.stack((group.positions, ends), axis=1)

    def _wall_distances(self, group: Group, origins: Floats, cosines: Floats, sines: Floats) -> Floats:
        """Return how far (N,) each line goes before it meets a wall."""
        limits = np.full(len(origins), np.inf)
        for x1, y1, x2, y2 in group.world.walls.tolist():
            begin = np.stack(in_frame(x1 - origins[:, 0], y1 - origins[:, 1], cosines, sines))
            end = np.stack(in_frame(x2 - origins[:, 0], y2 - origins[:, 1], cosines, sines))
            limits = np.minimum(limits, ray_segment_distances(1.0, 0.0, begin, end))
        return limits
