"""A binary field of view: whether another agent is in a sector of a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.arrays import Bools, Floats, as_floats
from fleet_sim.core.columns import numbers_of
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.parameters import documented, unbounded_setting
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor
from fleet_sim.swarm.unicycle import look
from fleet_sim.swarm.vision import (
    NO_DISCS,
    NOTHING,
    Discs,
    Hiding,
    Sector,
    Views,
    in_frame,
    least,
    see_discs,
)

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


@documented
@dataclass(eq=False, repr=False)
class BinaryFOVSensor(BinarySensor):
    """Reads 1 while the disc of another agent, or a wall, reaches into a sector ahead; 0 otherwise.

    The sector opens `theta` rad to both sides of the heading turned by `bias`, and is `distance` m deep.
    """

    per_square = ("theta", "distance", "bias", "wall_sensing_range", "goal_sensing_range")

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

    @property
    def serves_squares(self) -> bool:
        """Whether one object like this can serve several worlds: where nothing hides what is behind it."""
        return super().serves_squares and not self.occlusion

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody, or a wall, in their sector."""
        walls, world = self._detectable_walls(group), group.world
        team, everyone = world.team_code(self.target_team), discs_of(world.everyone)
        frames = self._frames(group)
        others = everyone
        if team >= 0:
            chosen = np.flatnonzero(world.everyone.teams == team)
            rows, x, y, radii = everyone
            others = Discs(rows.take(chosen), x.take(chosen), y.take(chosen), radii.take(chosen))
        hiding = Hiding(world.walls, everyone if team >= 0 else NO_DISCS) if self.occlusion else NOTHING
        views = self._views(group, self._sector_now(), frames)
        seen_mask = see_discs(views, others, world.squares, hiding, compiled=group.columns.compiled)
        return seen_mask | self._see_walls(frames, walls) if len(walls) else seen_mask

    def _see_walls(self, frames: tuple[Floats, Floats, Floats], walls: Floats) -> Bools:
        """Return which agents (N,) have one of `walls` (W, 4) in their sector."""
        sector = Sector(self.theta, least(self.wall_sensing_range, self.distance))
        return _walls_seen(sector, *frames, walls)

    def added_state(self, group: Group) -> Bools | None:
        """Return which agents (N,) have a goal in their sector; None unless goals are an added state."""
        if not self.detect_goal_with_added_state:
            return None
        goals = group.world.goals
        x, y, radii = np.array([(*goal.centre, goal.radius) for goal in goals]).reshape(-1, 3).T.copy()
        # Goals are in every square at the same place, and are no agents.
        places = Discs(np.full(len(goals), -1), x, y, radii)
        views = self._views(group, Sector(self.theta, self.goal_sensing_range), self._frames(group))
        return see_discs(views, places, 1, NOTHING, compiled=group.columns.compiled)

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
        """Return the sector: of many worlds, its edges are computed once for all steps."""
        known = self._sector
        # By identity: settings are replaced, not changed in place.
        if known is None or known.half_angle is not self.theta or known.reach is not self.distance:
            known = self._sector = Sector(self.theta, self.distance)
        return known

    def _views(self, group: Group, sector: Sector, frames: tuple[Floats, Floats, Floats]) -> Views:
        """Return the sectors of the agents as kernels take them."""
        known, count = _FIELDS.get(self), len(group.rows)
        if known is None or known[0] is not sector or len(known[1][0]) != count:
            known = sector, _repeated(count, sector.half_angle, sector.reach, *sector.edge)
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


def _repeated(count: int, *values: float | Floats) -> list[Floats]:
    return [np.array(np.broadcast_to(value, count), np.float64) for value in values]


def discs_of(crowd: Crowd) -> Discs:
    """Return the discs of agents."""
    positions = crowd.positions
    return Discs(crowd.rows, positions[:, 0].copy(), positions[:, 1].copy(), crowd.radii.copy())


def _walls_seen(sector: Sector, origins: Floats, cosines: Floats, sines: Floats, walls: Floats) -> Bools:
    seen_mask = np.zeros(len(origins), bool)
    for x1, y1, x2, y2 in walls.tolist():
        begin = np.stack(in_frame(x1 - origins[:, 0], y1 - origins[:, 1], cosines, sines))
        end = np.stack(in_frame(x2 - origins[:, 0], y2 - origins[:, 1], cosines, sines))
        # A distance to a wall outside of the sector is infinite.
        seen_mask |= np.isfinite(sector.segment_distances(begin, end))
    return seen_mask
